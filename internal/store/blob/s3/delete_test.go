package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
		return ""
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
	w, requests := deletions(t, func(int64, string) string { return "" })
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
		return ""
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
