package manifests

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// maxFile bounds the memory that a file can ask for, in bytes. A hundred
// thousand objects are about half of it.
const maxFile = 1 << 30

// file is one file as it is read. Its counters say in errors where that is.
type file struct {
	*entry
	path     string
	document int  // from 1
	item     int  // from 1; 0 outside of a list
	isJSON   bool // the document that was read last
	loose    bool // a YAML document is an object and no list
}

// errorf is an error at the place that the file is read at.
func (f *file) errorf(format string, args ...any) error {
	place := fmt.Sprintf("document %d", f.document)
	if f.item > 0 {
		place = fmt.Sprintf("item %d of document %d", f.item, f.document)
	}
	return fmt.Errorf("owners %s: %w: %s: %w", f.path, ErrIncomplete, place, fmt.Errorf(format, args...))
}

func (e *entry) loadFile(path string) error {
	content, err := read(path)
	if err != nil {
		return err
	}
	return e.parse(path, content)
}

func (e *entry) parse(path string, content []byte) error {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(content, 0) >= 0 {
		return incomplete(path, "holds zero bytes, so it is binary or UTF-16: write it again as UTF-8")
	}
	f := &file{entry: e, path: path}
	for document := range documents(content) {
		if err := f.parse(document); err != nil {
			return err
		}
	}
	if f.document == 0 {
		return incomplete(path, "is empty, as after a kubectl that failed: %s; no objects are written as an empty list", again)
	}
	if !f.ends(content) {
		return incomplete(path, "does not end with a line break, so it may be cut off: %s", again)
	}
	if f.loose || f.document > 1 {
		e.warnStream(path)
	}
	return nil
}

// ends tells whether a text has its end: JSON by its last brace, YAML by a line
// break, without which the last line may be a part of one.
func (f *file) ends(content []byte) bool {
	last := content[len(content)-1]
	return last == '\n' || f.isJSON && last == '}'
}

// warnStream says once of an entry that nothing shows where it should end.
func (e *entry) warnStream(path string) {
	if !e.stream {
		e.collector.Warn(fmt.Sprintf("owners %s: a stream of documents can not show that it was cut off: use one list, as kubectl get writes", path))
	}
	e.stream = true
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if mode := info.Mode(); !mode.IsRegular() && mode&os.ModeNamedPipe == 0 {
		return nil, incomplete(path, "is neither a file nor a folder: give what kubectl get -o yaml wrote")
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() { _ = opened.Close() }() // nothing was written
	content, err := readAll(opened, info.Size())
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(content) > maxFile {
		return nil, incomplete(path, "is larger than 1 GiB: split it into several files")
	}
	return content, nil
}

// readAll is io.ReadAll with room for the expected size, and a bound.
func readAll(r io.Reader, size int64) ([]byte, error) {
	var content bytes.Buffer
	content.Grow(int(min(size, maxFile)) + bytes.MinRead)
	_, err := content.ReadFrom(io.LimitReader(r, maxFile+1))
	return content.Bytes(), err
}

// documents splits YAML at its markers, which stand at the start of a line and
// can not stand there inside of anything. Documents without content are left out.
func documents(content []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		start := 0
		for at := 0; at < len(content); {
			line, next := lineAt(content, at)
			if isMarker(line) {
				if document := content[start:at]; !blank(document) && !yield(document) {
					return
				}
				start = at + len("---")
			}
			at = next
		}
		if document := content[start:]; !blank(document) {
			yield(document)
		}
	}
}

// lineAt is the line that starts at an offset, without its end, and where the
// next one starts.
func lineAt(content []byte, at int) (line []byte, next int) {
	length := bytes.IndexByte(content[at:], '\n')
	if length < 0 {
		return content[at:], len(content)
	}
	return bytes.TrimSuffix(content[at:at+length], []byte("\r")), at + length + 1
}

// isMarker tells whether a line starts or ends a document.
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t'
}

// blank tells whether there is nothing but space and comments.
func blank(document []byte) bool {
	for at := 0; at < len(document); {
		line, next := lineAt(document, at)
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
		at = next
	}
	return true
}

func (f *file) parse(document []byte) error {
	if line := complaint(document); line != "" {
		return incomplete(f.path, "holds an error of kubectl, which failed (%s): mend that and %s", line, again)
	}
	trimmed := bytes.TrimSpace(document)
	f.isJSON = trimmed[0] == '{' || trimmed[0] == '['
	if f.isJSON {
		return f.json(trimmed)
	}
	f.document++
	f.item = 0
	return f.yaml(document)
}
