package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// deletions answers to requests to delete many by what says tells of each key.
func deletions(t *testing.T, says func(request int64, key string) string) (*Writable, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		var asked struct {
			Object []struct{ Key string }
		}
		if err := xml.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Content-Md5") == "" || !r.URL.Query().Has("delete") {
			t.Errorf("request %s with checksum %q: %v", r.URL, r.Header.Get("Content-Md5"), err)
		}
		if len(asked.Object) > batchSize {
			t.Errorf("%d keys in one request", len(asked.Object))
		}
		body := "<DeleteResult>"
		for _, o := range asked.Object {
			body += says(n, o.Key)
		}
		answer(w, http.StatusOK, body+"</DeleteResult>")
	}))
	t.Cleanup(server.Close)
	o := options(server.URL)
	o.Prefix = "p"
	return open(t, o), &requests
}

func failure(key, code string) string {
	return "<Error><Key>" + key + "</Key><Code>" + code + "</Code><Message>m</Message></Error>"
}

func removed(key string) string { return "<Deleted><Key>" + key + "</Key></Deleted>" }

// Each file's error comes back in its place.
func TestDeleteTellsEachError(t *testing.T) {
	w, requests := deletions(t, func(n int64, key string) string {
		switch {
		case strings.HasSuffix(key, "closed"):
			return failure(key, "AccessDenied")
		case strings.HasSuffix(key, "absent"):
			return failure(key, "NoSuchKey")
		case strings.HasSuffix(key, "slow") && n < 3:
			return failure(key, "SlowDown")
		case strings.HasSuffix(key, "broken"):
			return failure(key, "InternalError")
		}
		return removed(key)
	})
	errs := w.Delete(t.Context(), []string{"closed", "a/one", "absent", "slow", "broken", "closed", "a/"})
	if len(errs) != 7 {
		t.Fatalf("%d errors, want 7", len(errs))
	}
	for i, err := range errs {
		switch i {
		case 0, 5:
			if !errors.Is(err, iofs.ErrPermission) || !strings.Contains(err.Error(), "closed: ") || !strings.Contains(err.Error(), "s3:DeleteObject on bucket/p/*") {
				t.Errorf("closed: %v", err)
			}
		case 4:
			if err == nil || !strings.Contains(err.Error(), "InternalError") {
				t.Errorf("broken: %v", err)
			}
		default:
			if err != nil {
				t.Errorf("path %d: %v", i, err)
			}
		}
	}
	if n := requests.Load(); n != attempts {
		t.Errorf("%d requests, want %d: one file is broken for good", n, attempts)
	}
}

// An answer about files that nobody asked for says nothing about the others.
func TestDeleteDistrusts(t *testing.T) {
	for reason, body := range map[string]string{
		"another's error":   failure("p/b", "AccessDenied"),
		"outside":           failure("a", "AccessDenied"),
		"error of nothing":  "<Error><Code>AccessDenied</Code></Error>",
		"another's success": "<Deleted><Key>p/b</Key></Deleted>",
	} {
		w, _ := deletions(t, func(int64, string) string { return body })
		if errs := w.Delete(t.Context(), []string{"a", "c"}); len(errs) != 2 || errs[0] == nil || errs[1] == nil {
			t.Errorf("%s: %v, want an error for each", reason, errs)
		}
	}
}

func TestDeleteByTheThousand(t *testing.T) {
	w, requests := deletions(t, func(_ int64, key string) string { return removed(key) })
	var paths []string
	for i := range 2*batchSize + 1 {
		paths = append(paths, fmt.Sprint("f", i), fmt.Sprint("d", i, "/"))
	}
	if errs := w.Delete(t.Context(), paths); errs != nil || requests.Load() != 3 {
		t.Errorf("%v after %d requests, want 3", errs, requests.Load())
	}
	if errs := w.Delete(t.Context(), []string{"a/", "b/c/"}); errs != nil || requests.Load() != 3 {
		t.Errorf("directories: %v, %d requests more", errs, requests.Load()-3)
	}
}

// A batch that was begun is finished, whatever happens to its context.
func TestDeleteFinishesItsBatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, requests := deletions(t, func(n int64, key string) string {
		cancel()
		if n == 1 {
			return failure(key, "SlowDown")
		}
		return removed(key)
	})
	if errs := w.Delete(ctx, []string{"a"}); errs != nil || requests.Load() != 2 {
		t.Errorf("%v after %d requests", errs, requests.Load())
	}
}

// What XML cannot hold goes by a request of its own.
func TestDeleteOfOddNames(t *testing.T) {
	f := newFake(t)
	x := f.fixture(t, "p")
	odd := []string{"a\x01b", "a\x1fb", "a\uFFFEb", "plain"}
	for _, path := range odd {
		x.Put(path, nil, time.Time{})
	}
	if errs := x.Deleter.Delete(t.Context(), odd); errs != nil {
		t.Error(errs)
	}
	for _, path := range odd {
		if x.Exists(path) {
			t.Errorf("%q is still there", path)
		}
	}
}

// Whatever says 200 has removed nothing that it does not name.
func TestDeleteCountsOnlyWhatIsNamed(t *testing.T) {
	for reason, body := range map[string]string{
		"nothing at all":  "",
		"a page":          "<html><body>Welcome</body></html>",
		"an empty result": "<DeleteResult/>",
		"another file":    "<DeleteResult>" + removed("named") + "</DeleteResult>",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, body) }))
		w := open(t, options(server.URL))
		errs := w.Delete(t.Context(), []string{"a", "named", "c"})
		if len(errs) != 3 || errs[0] == nil || errs[2] == nil || (errs[1] == nil) != (reason == "another file") {
			t.Errorf("%s: %v, want an error for each that is not named", reason, errs)
			continue
		}
		if !strings.Contains(errs[0].Error(), "a: ") || errors.Is(errs[0], iofs.ErrNotExist) {
			t.Errorf("%s: %v", reason, errs[0])
		}
		if reason != "another file" && w.Requests() != attempts {
			t.Errorf("%s: %d requests, want %d", reason, w.Requests(), attempts)
		}
		server.Close()
	}
}

// What an answer leaves out is asked for again, and nothing else.
func TestDeleteAsksAgainForWhatIsNotNamed(t *testing.T) {
	var asked atomic.Int64
	w, requests := deletions(t, func(n int64, key string) string {
		asked.Add(1)
		if n == 1 && strings.HasSuffix(key, "silent") {
			return ""
		}
		return removed(key)
	})
	if errs := w.Delete(t.Context(), []string{"a", "silent"}); errs != nil || requests.Load() != 2 || asked.Load() != 3 {
		t.Errorf("%v after %d requests for %d files, want 2 for 3", errs, requests.Load(), asked.Load())
	}
}

// Refused requests and refused files count together.
func TestDeleteTriesNoMoreThanOthers(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%2 == 0 {
			answer(w, http.StatusServiceUnavailable, refusal("SlowDown", "x"))
			return
		}
		answer(w, http.StatusOK, "<DeleteResult>"+failure("a", "InternalError")+"</DeleteResult>")
	}))
	defer server.Close()
	errs := open(t, options(server.URL)).Delete(t.Context(), []string{"a"})
	if len(errs) != 1 || requests.Load() != attempts {
		t.Errorf("%v after %d requests, want %d", errs, requests.Load(), attempts)
	}
}

// A request for a thousand deletions is a thousand writes.
func TestDeletesInFlight(t *testing.T) {
	var now, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	w, _ := deletions(t, func(_ int64, key string) string { return removed(key) })
	inner := w.send.inner
	w.send.inner = clientFunc(func(r *http.Request) (*http.Response, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old; old = most.Load() {
			most.CompareAndSwap(old, n)
		}
		if n >= deletesInFlight {
			once.Do(func() { time.AfterFunc(50*time.Millisecond, func() { close(full) }) }) // room for one too many
		}
		<-full
		return inner.Do(r)
	})
	var paths []string
	for i := range 20 * batchSize {
		paths = append(paths, fmt.Sprint("f", i))
	}
	if errs := w.Delete(t.Context(), paths); errs != nil || most.Load() != deletesInFlight {
		t.Errorf("%v, %d requests at once, want %d", errs, most.Load(), deletesInFlight)
	}
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestPutWantsAnETag(t *testing.T) {
	w := script(t, "<html></html>")
	if err := w.Put(t.Context(), "a", nil); err == nil || w.Requests() != attempts {
		t.Errorf("%v after %d requests, want an error after %d", err, w.Requests(), attempts)
	}
}

// What the SDK closes once an answer begins may still be on its way.
func TestBodyOutlivesTheAnswer(t *testing.T) {
	var sent *http.Request
	s := newSender(clientFunc(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}), 0)
	file, err := os.Open(os.Args[0]) // closed, it can not be read
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(io.LimitReader(file, 100)))
	answer, err := s.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_ = file.Close()
	if body, err := io.ReadAll(sent.Body); err != nil || len(body) != 100 {
		t.Errorf("%d bytes, %v, want 100", len(body), err)
	}
}

// What one request removes or gives up is gone by the answer that S3 has for
// that, and by no other: any proxy can say 200.
func TestOnlyS3SaysThatSomethingIsGone(t *testing.T) {
	for _, test := range []struct {
		reason string
		status int
		body   string
		gone   bool
	}{
		{"as S3 answers", http.StatusNoContent, "", true},
		{"as some clones do", http.StatusOK, "", true},
		{"a page for people", http.StatusOK, "<html>We are back soon</html>", false},
		{"another service", http.StatusOK, "{}", false},
		{"work that may be done later", http.StatusAccepted, "", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		w := open(t, options(server.URL))
		w.Hurry()
		// XML can not hold the name, so it is not deleted together with others.
		for call, errs := range map[string][]error{
			"delete": w.Delete(t.Context(), []string{"a\nb"}),
			"abort":  w.Abort(t.Context(), []blob.Unfinished{{Path: "a", ID: "1"}}),
		} {
			if gone := errs == nil; gone != test.gone {
				t.Errorf("%s: %s: %v", test.reason, call, errs)
			}
		}
		server.Close()
	}
}
