package objects

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// pageSize is how many keys and common prefixes a page of S3 holds at most.
const pageSize = 1000

// Page is an answer to ListObjectsV2.
type Page struct {
	XMLName               xml.Name  `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name                  string    // of the bucket
	Prefix                string    //
	Delimiter             string    `xml:",omitempty"`
	StartAfter            string    `xml:",omitempty"`
	ContinuationToken     string    `xml:",omitempty"`
	NextContinuationToken string    `xml:",omitempty"`
	EncodingType          string    `xml:",omitempty"`
	KeyCount              int       //
	MaxKeys               int       //
	IsTruncated           *bool     `xml:",omitempty"` // S3 always says it; a fault may leave it out
	Contents              []Content //
	CommonPrefixes        []Prefix  //
}

// Content is one object of a page.
type Content struct {
	Key          string
	LastModified string `xml:",omitempty"` // RFC 3339 with milliseconds
	ETag         string
	Size         int64
	StorageClass string
}

// Prefix is one folder of a page.
type Prefix struct{ Prefix string }

// ListPage answers ListObjectsV2, which query asks for, as S3 does: keys in the
// order of their bytes, a delimiter that rolls up, tokens that lead on. An
// error says that the query is not valid.
func ListPage(bucket string, query url.Values, keys Keys) (*Page, error) {
	size, err := maxKeys(query)
	if err != nil {
		return nil, err
	}
	from, err := begin(query)
	if err != nil {
		return nil, err
	}
	page := &Page{
		Name: bucket, Prefix: query.Get("prefix"), Delimiter: query.Get("delimiter"), MaxKeys: size,
		StartAfter: query.Get("start-after"), ContinuationToken: query.Get("continuation-token"),
		IsTruncated: new(false),
	}
	if size > 0 {
		page.fill(max(from, page.Prefix), keys)
	}
	page.KeyCount = len(page.Contents) + len(page.CommonPrefixes)
	if query.Get("encoding-type") == "url" {
		page.encode()
	}
	return page, nil
}

func maxKeys(query url.Values) (int, error) {
	if !query.Has("max-keys") {
		return pageSize, nil
	}
	size, err := strconv.Atoi(query.Get("max-keys"))
	if err != nil || size < 0 {
		return 0, errors.New("max-keys is not a number that can be")
	}
	return min(size, pageSize), nil
}

// begin is the first key that a page may show. A token is that key.
func begin(query url.Values) (string, error) {
	if query.Has("continuation-token") {
		from, err := base64.URLEncoding.DecodeString(query.Get("continuation-token"))
		if err != nil || len(from) == 0 {
			return "", errors.New("the continuation token provided is incorrect")
		}
		return string(from), nil
	}
	if after := query.Get("start-after"); after != "" {
		return after + "\x00", nil
	}
	return "", nil
}

// fill goes through the keys, and jumps where a folder is rolled up.
func (p *Page) fill(from string, keys Keys) {
	for next := p.run(keys.From(from)); next != ""; {
		next = p.run(keys.From(next))
	}
}

// run adds objects up to the first that is rolled up, and returns from where to
// go on: nowhere if empty.
func (p *Page) run(objects iter.Seq[Object]) string {
	for o := range objects {
		if !strings.HasPrefix(o.Key, p.Prefix) {
			return ""
		}
		if len(p.Contents)+len(p.CommonPrefixes) == p.MaxKeys {
			p.IsTruncated, p.NextContinuationToken = new(true), token(o.Key)
			return ""
		}
		if folder := p.folder(o.Key); folder != "" {
			p.CommonPrefixes = append(p.CommonPrefixes, Prefix{folder})
			return beyond(folder)
		}
		p.Contents = append(p.Contents, content(o))
	}
	return ""
}

func (p *Page) folder(key string) string {
	if p.Delimiter == "" {
		return ""
	}
	rest := key[len(p.Prefix):]
	if i := strings.Index(rest, p.Delimiter); i >= 0 {
		return key[:len(p.Prefix)+i+len(p.Delimiter)]
	}
	return ""
}

// beyond is the first key after all that begin with prefix.
func beyond(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

func token(from string) string { return base64.URLEncoding.EncodeToString([]byte(from)) }

func content(o Object) Content {
	c := Content{Key: o.Key, ETag: `"` + o.ETag + `"`, Size: o.Size, StorageClass: "STANDARD"}
	if !o.Modified.IsZero() {
		c.LastModified = o.Modified.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return c
}

// encode writes names as encoding-type=url asks: all but tokens.
func (p *Page) encode() {
	p.EncodingType = "url"
	for _, name := range []*string{&p.Prefix, &p.Delimiter, &p.StartAfter} {
		*name = escape(*name)
	}
	for i := range p.Contents {
		p.Contents[i].Key = escape(p.Contents[i].Key)
	}
	for i := range p.CommonPrefixes {
		p.CommonPrefixes[i].Prefix = escape(p.CommonPrefixes[i].Prefix)
	}
}

// escape leaves slashes alone and makes a space a plus, as S3 does.
func escape(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "%2F", "/") }

// Write sends the page.
func (p *Page) Write(w http.ResponseWriter) { writeXML(w, http.StatusOK, p) }

// WriteError sends an error as S3 does.
func WriteError(w http.ResponseWriter, status int, code, message string) {
	writeXML(w, status, struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
}

func writeXML(w http.ResponseWriter, status int, document any) {
	raw, err := xml.Marshal(document)
	if err != nil {
		panic(err) // only strings and numbers
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), raw...)) // the client may be gone
}
