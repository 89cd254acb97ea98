package manifests

import (
	"bytes"
	"regexp"
)

// failures begin the lines that kubectl writes when it fails, wherever they
// stand: a list behind which the next one failed is as incomplete as none.
func failures() []string {
	return []string{"Error from server", "Unable to connect to the server", "The connection to the server"}
}

// firstLine is how other errors and the log of kubectl begin. Further down they
// could be a part of an object.
var firstLine = regexp.MustCompile(`^(error: |[EF][0-9]{4} [0-9]{2}:[0-9]{2}:)`)

// complaint is the line by which kubectl says that it failed, in a document
// that its errors were written to; empty: there is none.
func complaint(document []byte) string {
	if first := bytes.TrimSpace(document); firstLine.Match(first) {
		return quote(first)
	}
	for _, failure := range failures() {
		if bytes.HasPrefix(document, []byte(failure)) {
			return quote(document)
		}
		if at := bytes.Index(document, []byte("\n"+failure)); at >= 0 {
			return quote(document[at+1:])
		}
	}
	return ""
}

// quote is the first line of a text, long enough to say who may not do what.
func quote(text []byte) string {
	const most = 300
	line, _ := lineAt(text, 0)
	return shortenTo(string(bytes.TrimSpace(line)), most)
}
