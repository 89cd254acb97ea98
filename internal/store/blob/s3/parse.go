package s3

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// rawPage is an answer to ListObjectsV2 as it was sent.
type rawPage struct {
	items         []rawItem
	prefixes      []string
	truncated     bool
	saysTruncated bool
	count         int // -1 where it was not said
	token         string
	date          time.Time

	keys, dirs [][]byte // as they were sent, in the body
}

type rawItem struct {
	key     string
	size    int64
	modTime time.Time
}

// parse reads a body. Keys are decoded at the end, for only then it is known how
// they are written.
func (r *rawPage) parse(body []byte) error {
	*r = rawPage{items: r.items[:0], prefixes: r.prefixes[:0], keys: r.keys[:0], dirs: r.dirs[:0], count: -1}
	p := parser{scanner: scanner{data: body}, page: r}
	if err := p.document(); err != nil {
		return err
	}
	return p.decodeKeys()
}

// parser knows the elements of a listing.
type parser struct {
	scanner
	page     *rawPage
	encoding string
}

func (p *parser) document() error {
	root, err := p.next()
	if err != nil {
		return err
	}
	if string(root.name) != "ListBucketResult" || root.end {
		return &garbled{fmt.Sprintf("a listing was expected, not %.40q", root.name)}
	}
	if root.empty {
		return nil
	}
	return p.children(root.name, p.member)
}

// children calls each for every element up to the end of the one around them.
func (p *parser) children(of []byte, each func(tag) error) error {
	for {
		t, err := p.next()
		if err != nil {
			return err
		}
		if t.end {
			if !bytes.Equal(t.name, of) {
				return &garbled{fmt.Sprintf("%.40q is closed by %.40q", of, t.name)}
			}
			return nil
		}
		if err := each(t); err != nil {
			return err
		}
	}
}

func (p *parser) member(t tag) (err error) {
	var text []byte
	switch string(t.name) {
	case "Contents":
		return p.item(t)
	case "CommonPrefixes":
		return p.dir(t)
	case "IsTruncated", "KeyCount", "NextContinuationToken", "EncodingType":
		if text, err = p.value(t); err != nil {
			return err
		}
	default:
		return p.skip(t)
	}
	switch string(t.name) {
	case "IsTruncated":
		p.page.truncated, err = strconv.ParseBool(string(text))
		p.page.saysTruncated = err == nil
	case "KeyCount":
		p.page.count, err = strconv.Atoi(string(text))
	case "NextContinuationToken":
		p.page.token = string(text)
	case "EncodingType":
		p.encoding = string(text)
	}
	if err != nil {
		return &garbled{fmt.Sprintf("%s is %.40q", t.name, text)}
	}
	return nil
}

func (p *parser) item(of tag) error {
	var i rawItem
	var key []byte
	var sized bool
	if of.empty {
		return &garbled{"a file without a key"}
	}
	err := p.children(of.name, func(t tag) error {
		switch string(t.name) {
		case "Key", "Size", "LastModified":
		default:
			return p.skip(t)
		}
		text, err := p.value(t)
		if err != nil {
			return err
		}
		switch string(t.name) {
		case "Key":
			key = text
		case "Size":
			i.size, err = strconv.ParseInt(string(text), 10, 64)
			sized = err == nil && i.size >= 0
		default: // what cannot be read is a time that is not known
			if at, err := time.Parse(time.RFC3339, string(text)); err == nil {
				i.modTime = at.UTC()
			}
		}
		return nil
	})
	if err == nil && (len(key) == 0 || !sized) {
		err = &garbled{fmt.Sprintf("a file %.40q without key or size", key)}
	}
	p.page.items = append(p.page.items, i)
	p.page.keys = append(p.page.keys, key)
	return err
}

func (p *parser) dir(of tag) error {
	if of.empty {
		return &garbled{"a directory without a name"}
	}
	return p.children(of.name, func(t tag) error {
		if string(t.name) != "Prefix" {
			return p.skip(t)
		}
		text, err := p.value(t)
		p.page.dirs = append(p.page.dirs, text)
		return err
	})
}

// value is the text of an element that holds nothing else.
func (p *parser) value(of tag) ([]byte, error) {
	if of.empty {
		return nil, nil
	}
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	if !t.end || !bytes.Equal(t.name, of.name) {
		return nil, &garbled{fmt.Sprintf("%.40q holds %.40q", of.name, t.name)}
	}
	return unescape(p.text)
}

func (p *parser) skip(t tag) error {
	if t.empty {
		return nil
	}
	return p.children(t.name, p.skip)
}

func (p *parser) decodeKeys() error {
	for i, key := range p.page.keys {
		text, err := p.decode(key)
		if err != nil {
			return err
		}
		p.page.items[i].key = text
	}
	for _, dir := range p.page.dirs {
		text, err := p.decode(dir)
		if err != nil {
			return err
		}
		p.page.prefixes = append(p.page.prefixes, text)
	}
	return nil
}

// decode undoes what encoding-type=url does, if the server says that it did:
// some know it not.
func (p *parser) decode(key []byte) (string, error) {
	if p.encoding != "url" || bytes.IndexByte(key, '%') < 0 && bytes.IndexByte(key, '+') < 0 {
		return string(key), nil
	}
	text, err := url.QueryUnescape(string(key))
	if err != nil {
		return "", &garbled{fmt.Sprintf("key %.80q: %v", key, err)}
	}
	return text, nil
}

// tag is one piece of markup.
type tag struct {
	name  []byte // without its name space
	end   bool   // </name>
	empty bool   // <name/>
}

// scanner cuts XML into tags and the text before each. It knows as much of XML
// as servers use, and takes all else for garbled.
type scanner struct {
	data []byte
	at   int
	text []byte // before the last tag, as it was sent
}

func (s *scanner) next() (tag, error) {
	for {
		start := bytes.IndexByte(s.data[s.at:], '<')
		if start < 0 {
			return tag{}, &garbled{"it was cut"}
		}
		s.text = s.data[s.at : s.at+start]
		s.at += start + 1
		rest := s.data[s.at:]
		var closing string
		switch {
		case bytes.HasPrefix(rest, []byte("?")):
			closing = "?>"
		case bytes.HasPrefix(rest, []byte("!--")):
			closing = "-->"
		default:
			return s.tag()
		}
		end := bytes.Index(rest, []byte(closing))
		if end < 0 {
			return tag{}, &garbled{"it was cut"}
		}
		s.at += end + len(closing)
	}
}

// tag reads from behind the opening bracket.
func (s *scanner) tag() (tag, error) {
	end := s.closing()
	if end < 0 {
		return tag{}, &garbled{"it was cut"}
	}
	inside := s.data[s.at:end]
	s.at = end + 1
	var t tag
	if inside, t.end = bytes.CutPrefix(inside, []byte("/")); !t.end {
		inside, t.empty = bytes.CutSuffix(inside, []byte("/"))
	}
	if space := bytes.IndexAny(inside, " \t\r\n"); space >= 0 {
		inside = inside[:space]
	}
	if colon := bytes.IndexByte(inside, ':'); colon >= 0 {
		inside = inside[colon+1:]
	}
	if len(inside) == 0 || inside[0] == '!' {
		return tag{}, &garbled{fmt.Sprintf("a tag that no listing has: %.40q", s.data[max(end-40, 0):end])}
	}
	t.name = inside
	return t, nil
}

// closing is where the bracket is closed: one in quotes does not count.
func (s *scanner) closing() int {
	var quote byte
	for i := s.at; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		case c == '<':
			return -1
		}
	}
	return -1
}

// unescape leaves what is rare to the library.
func unescape(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text, nil
	}
	var value struct {
		Text string `xml:",chardata"`
	}
	document := append(append([]byte("<t>"), text...), "</t>"...)
	if err := xml.Unmarshal(document, &value); err != nil {
		return nil, &garbled{fmt.Sprintf("%.80q: %v", text, err)}
	}
	return []byte(value.Text), nil
}
