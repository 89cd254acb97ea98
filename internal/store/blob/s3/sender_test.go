package s3

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A redirection is followed nowhere: not to the same server without an end, and
// not to another one.
func TestNoRedirectionIsFollowed(t *testing.T) {
	var here, elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, to := range []string{"", other.URL} {
			here.Store(0)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				here.Add(1)
				w.Header().Set("Location", to+r.URL.Path)
				w.WriteHeader(status)
			}))
			w := open(t, options(server.URL))
			if _, err := w.Read(t.Context(), "a", &strings.Builder{}); err == nil {
				t.Errorf("%d to %q: no error", status, to)
			}
			if here.Load() != 1 || elsewhere.Load() != 0 || w.Requests() != 1 {
				t.Errorf("%d to %q: %d requests, %d elsewhere, %d counted", status, to, here.Load(), elsewhere.Load(), w.Requests())
			}
			server.Close()
		}
	}
}

type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) { e.read += int64(len(p)); return len(p), nil }
func (e *endless) Close() error               { return nil }

// An answer without an end is given up; a file's content may be of any length.
func TestAnswersAreBounded(t *testing.T) {
	for _, test := range []struct {
		reason  string
		status  int
		content bool
		most    int64
	}{
		{"a listing", http.StatusOK, false, longestAnswer},
		{"a refusal", http.StatusBadRequest, false, longestRefusal},
		{"a refusal of a file", http.StatusForbidden, true, longestRefusal},
		{"a file", http.StatusOK, true, 0},
		{"the rest of a file", http.StatusPartialContent, true, 0},
	} {
		body := &endless{}
		ctx := t.Context()
		if test.content {
			ctx = forContent(ctx)
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		b := bound(r, &http.Response{StatusCode: test.status, Body: body})
		n, err := io.CopyN(io.Discard, b, longestAnswer+1)
		if test.most == 0 && err != nil || test.most > 0 && (err == nil || n != test.most) {
			t.Errorf("%s: %d bytes, %v", test.reason, n, err)
		}
	}
}

// A server that says one byte now and then is given up in the end.
func TestSlowAnswersEnd(t *testing.T) {
	b := &bounded{ReadCloser: &endless{}, left: longestAnswer, until: time.Now().Add(-time.Second)}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
