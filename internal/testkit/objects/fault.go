package objects

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"
)

// Fault is what becomes of a request; right would answer it as S3 does.
type Fault func(call Call, right http.Handler, w http.ResponseWriter, r *http.Request)

// none answers as S3 does.
func none(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) { right.ServeHTTP(w, r) }

// Answer refuses: 500 "InternalError", 503 "SlowDown", 429 "TooManyRequests",
// 403 "AccessDenied". Nothing is done.
func Answer(status int, code string) Fault {
	return func(_ Call, _ http.Handler, w http.ResponseWriter, r *http.Request) {
		drain(r)
		WriteError(w, status, code, "a test asked for this")
	}
}

// Cut closes the connection instead of an answer. Nothing is done. On a
// connection that was used before, Go's client sends what has no body (a GET, a
// HEAD) once more of itself: that is another call.
func Cut() Fault {
	return func(_ Call, _ http.Handler, _ http.ResponseWriter, r *http.Request) {
		drain(r)
		panic(http.ErrAbortHandler)
	}
}

// Lose does what was asked and closes the connection instead of an answer.
func Lose() Fault {
	return func(_ Call, right http.Handler, _ http.ResponseWriter, r *http.Request) {
		right.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// CutBody does what was asked, sends the answer's headers and half of its body,
// and closes the connection.
func CutBody() Fault {
	return func(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		full := record(right, r)
		body := full.Body.Bytes()
		copyHeader(w, full)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(full.Code)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Hang never answers: until the client goes, or the fake's context ends.
func (f *Fake) Hang() Fault {
	return func(_ Call, _ http.Handler, _ http.ResponseWriter, r *http.Request) {
		drain(r) // so that the server sees the client go
		select {
		case <-r.Context().Done():
		case <-f.ended.Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// Delay answers later.
func (f *Fake) Delay(by time.Duration) Fault {
	return func(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		f.wait(r.Context(), by)
		right.ServeHTTP(w, r)
	}
}

// Drip sends the answer's body in pieces of size bytes, with a pause after each.
func (f *Fake) Drip(size int, pause time.Duration) Fault {
	return func(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		full := record(right, r)
		copyHeader(w, full)
		w.WriteHeader(full.Code)
		for piece := range slices.Chunk(full.Body.Bytes(), size) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
			f.wait(r.Context(), pause)
		}
	}
}

// Replace answers another body than the object's, under its own headers, as a
// store does whose disk rots.
func Replace(body []byte) Fault {
	return func(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		full := record(right, r)
		copyHeader(w, full)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(full.Code)
		_, _ = w.Write(body)
	}
}

// Lie changes the page that answers a ListObjectsV2.
func Lie(change func(*Page)) Fault {
	return func(_ Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		right.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lieKey{}, change)))
	}
}

type lieKey struct{}

// EndEarly says that a page is the last.
func EndEarly(p *Page) { p.IsTruncated, p.NextContinuationToken = new(false), "" }

// DropTruncated leaves out whether a page is the last, and how to go on.
func DropTruncated(p *Page) { p.IsTruncated, p.NextContinuationToken = nil, "" }

// DropToken says that there is more and not how to get there.
func DropToken(p *Page) { p.IsTruncated, p.NextContinuationToken = new(true), "" }

// RepeatToken leads to the page that it stands in again.
func RepeatToken(p *Page) {
	p.IsTruncated, p.NextContinuationToken = new(true), p.ContinuationToken
	if p.ContinuationToken == "" && len(p.Contents) > 0 {
		p.NextContinuationToken = token(p.Contents[0].Key)
	}
}

// Restart leads back to the first page by a token that was not seen before.
func Restart(p *Page) {
	p.IsTruncated, p.NextContinuationToken = new(true), token("\x00"+p.NextContinuationToken)
}

// Backwards shows a page in the wrong order.
func Backwards(p *Page) { slices.Reverse(p.Contents) }

// DropLast leaves out a page's last object, and counts it.
func DropLast(p *Page) { p.Contents = p.Contents[:max(0, len(p.Contents)-1)] }

// Undated leaves out when objects were written.
func Undated(p *Page) {
	for i := range p.Contents {
		p.Contents[i].LastModified = ""
	}
}

// KeyErrors answers a DeleteObjects with an error for each key that match is
// true of, and deletes the others.
func KeyErrors(code string, match func(key string) bool) Fault {
	return func(call Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
		answer := deleted{}
		rest := deletion{}
		for _, key := range call.Keys {
			if match(key) {
				answer.Errors = append(answer.Errors, keyError{key, code, "a test asked for this"})
				continue
			}
			rest.Objects = append(rest.Objects, struct{ Key string }{key})
		}
		if len(rest.Objects) > 0 {
			answer.Deleted = rest.Objects
			right.ServeHTTP(httptest.NewRecorder(), rest.request(r))
		}
		writeXML(w, http.StatusOK, answer)
	}
}

type deleted struct {
	XMLName xml.Name               `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
	Deleted []struct{ Key string } `xml:",omitempty"`
	Errors  []keyError             `xml:"Error"`
}

type keyError struct{ Key, Code, Message string }

// request is r with another body.
func (d deletion) request(r *http.Request) *http.Request {
	raw, err := xml.Marshal(d)
	if err != nil {
		panic(err) // only strings
	}
	other := r.Clone(r.Context())
	other.Body = io.NopCloser(bytes.NewReader(raw))
	return other
}

func record(right http.Handler, r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	right.ServeHTTP(recorder, r)
	return recorder
}

func copyHeader(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for name, values := range from.Header() {
		w.Header()[name] = values
	}
}

func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
