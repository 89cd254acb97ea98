package s3

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

// says is a listing as a server writes it.
func says(truncated, token string, keys ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0"?><ListBucketResult><KeyCount>%d</KeyCount>%s`, len(keys), truncated)
	if token != "" {
		fmt.Fprintf(&b, "<NextContinuationToken>%s</NextContinuationToken>", token)
	}
	for _, key := range keys {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>2024-02-29T23:59:58.000Z</LastModified><Size>1</Size></Contents>", key)
	}
	return b.String() + "</ListBucketResult>"
}

const (
	more = "<IsTruncated>true</IsTruncated>"
	all  = "<IsTruncated>false</IsTruncated>"
)

// script answers with one body after the other, and the last one for ever.
func script(t *testing.T, bodies ...string) *Writable {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, bodies[min(int(n.Add(1)), len(bodies))-1])
	}))
	t.Cleanup(server.Close)
	return open(t, options(server.URL))
}

// A listing that contradicts itself is never taken for the whole.
func TestListingsAreNotBelieved(t *testing.T) {
	end := says(all, "")
	nothing := slices.Repeat([]string{""}, emptyPages+2)
	for i := range nothing {
		nothing[i] = says(more, fmt.Sprint("t", i))
	}
	tests := []struct {
		reason string
		bodies []string
		want   string
	}{
		{"a page goes back", []string{says(more, "1", "a/b"), says(all, "", "a/a"), end}, "it shows"},
		{"a page repeats", []string{says(more, "1", "a/b"), says(all, "", "a/b"), end}, "it shows"},
		{"keys do not ascend in a page", []string{says(all, "", "a/b", "a/a"), end}, "it shows"},
		{"a key twice in a page", []string{says(all, "", "a/b", "a/b"), end}, "it shows"},
		{"more, but no way to go on", []string{says(more, "", "a/b"), end}, "does not say how to go on"},
		{"the way on leads to the same place", []string{says(more, "1", "a/b"), says(more, "1", "a/c"), end}, "it goes on where it was"},
		{"nothing on whether there is more", []string{says("", "", "a/b"), end}, "does not say whether"},
		{"a count that is none", []string{strings.Replace(says(all, "", "a/b", "a/c"), "<KeyCount>2<", "<KeyCount>3<", 1), end}, "it counts 3 keys and shows 2"},
		{"nothing, page after page", append(nothing, end), "shows nothing, page after page"},
		{"a key elsewhere", []string{says(all, "", "b/a"), end}, "below"},
		{"an end that is none", []string{says(all, "", "a/b"), says(all, "", "a/c")}, "ended early"},
		{"an end without a key that is none", []string{says(all, "", "a/b"), says(more, "x")}, "shows nothing"},
	}
	for _, test := range tests {
		w := script(t, test.bodies...)
		seen, err := blobtest.Walk(t.Context(), w, "a", nil)
		if err != nil || len(seen.Failed) != 1 || seen.Failed[0] != "a" {
			t.Errorf("%s: %v, failed %q, want the walk's root", test.reason, err, seen.Failed)
			continue
		}
		if got := seen.Errors["a"]; !strings.Contains(got.Error(), test.want) || errors.Is(got, iofs.ErrNotExist) {
			t.Errorf("%s: %v, want %q", test.reason, got, test.want)
		}
	}
}

// What contradicts itself will not get better; what was cut may.
func TestCutListingsAreReadAgain(t *testing.T) {
	whole := says(all, "", "a/b", "a/c")
	for _, cut := range []string{"", whole[:40], whole[:len(whole)-10], strings.Replace(whole, "</Key>", "</Kye>", 1), "<html></html>", strings.Replace(whole, "<Size>1</Size>", "", 1)} {
		w := script(t, cut, cut, whole, says(all, ""))
		seen, err := blobtest.Walk(t.Context(), w, "a", nil)
		if err != nil || len(seen.Files) != 2 || len(seen.Failed) > 0 || w.Requests() != 4 {
			t.Errorf("cut to %q: %v, %q, failed %v after %d requests", cut, err, seen.Files, seen.Errors, w.Requests())
		}
		w = script(t, cut)
		seen, err = blobtest.Walk(t.Context(), w, "a", nil)
		if err != nil || len(seen.Failed) != 1 || w.Requests() != attempts {
			t.Errorf("cut to %q for ever: %v, failed %q after %d requests", cut, err, seen.Failed, w.Requests())
		}
	}
}

func TestEndThatNamesWhatFollowsIsNone(t *testing.T) {
	w := script(t, says(all, "1", "a/b"), says(all, "", "a/c"), says(all, ""))
	if seen, err := blobtest.Walk(t.Context(), w, "a", nil); err != nil || len(seen.Files) != 2 || len(seen.Failed) > 0 {
		t.Errorf("%v, %q, %v", err, seen.Files, seen.Errors)
	}
}

// Files that come while a walk is on prove nothing about its end.
func TestFilesThatComeMeanwhile(t *testing.T) {
	late := strings.Replace(says(all, "", "a/c"), "2024-02-29", "2999-01-01", 1)
	w := script(t, says(all, "", "a/b"), late, late, says(all, ""))
	seen, err := blobtest.Walk(t.Context(), w, "a", nil)
	if err != nil || len(seen.Failed) > 0 || !slices.Equal(seen.Files, []string{"a/b", "a/c"}) {
		t.Errorf("%v, %q, %v", err, seen.Files, seen.Errors)
	}
}

// One span is told that nothing follows, and another one shows what does.
func TestSpansAreCompared(t *testing.T) {
	space := &keySpace{keys: contents(60_000), size: pageSize}
	slices.Sort(space.keys)
	var lied atomic.Bool
	var failed []string
	w := newWalk(t.Context(), func(ctx context.Context, l listing, p *page) error {
		err := space.list(ctx, l, p)
		if len(p.items) > 0 && strings.HasPrefix(p.items[0].path, "v2/blobs/sha256/40") && p.truncated {
			p.truncated, p.next = false, ""
			lied.Store(true)
		}
		return err
	}, "v2", blob.Visitor{
		Enter: func(string) blob.Step { return blob.List() },
		File:  func(blob.Entry) {},
		Fail: func(path string, err error) {
			if !strings.Contains(err.Error(), "ended early") {
				t.Error(err)
			}
			failed = append(failed, path)
		},
	})
	w.run()
	if !lied.Load() || !slices.Equal(failed, []string{"v2"}) {
		t.Errorf("lied %t, failed %q, want the root", lied.Load(), failed)
	}
}

// A part of a large listing fails: the deepest directory around it is told,
// and the rest is shown.
func TestLostSpan(t *testing.T) {
	space := &keySpace{keys: append(contents(60_000), "v2/a", "v2/z"), size: pageSize}
	slices.Sort(space.keys)
	broken := errors.New("broken")
	shown := 0
	failed := map[string]error{}
	w := newWalk(t.Context(), func(ctx context.Context, l listing, p *page) error {
		if strings.HasPrefix(l.after, "v2/blobs/sha256/8") {
			return broken
		}
		return space.list(ctx, l, p)
	}, "", blob.Visitor{
		Enter: func(string) blob.Step { return blob.List() },
		File: func(e blob.Entry) {
			if e.Path == "v2/a" || e.Path == "v2/z" {
				shown++
			}
		},
		Fail: func(path string, err error) { failed[path] = err },
	})
	w.run()
	if len(failed) != 1 || !errors.Is(failed["v2/blobs/sha256"], broken) || shown != 2 {
		t.Errorf("failed %v, want v2/blobs/sha256; %d of 2 files around it were shown", failed, shown)
	}
}

// A page that ends in a skipped directory is the last one of it.
func TestSkippedDirectoriesAreJumpedOver(t *testing.T) {
	space := &keySpace{keys: append(contents(30_000), "v2/a", "v2/blobs/sha256-x", "v2/blobs/sha2560", "v2/blobs0", "v2/z"), size: pageSize}
	slices.Sort(space.keys)
	files := []string{"v2/a", "v2/blobs/sha256-x", "v2/blobs/sha2560", "v2/blobs0", "v2/z"}
	tests := []struct {
		reason string
		step   blob.Step
		files  []string
	}{
		{"nothing is wanted", blob.Skip(), files},
		{"one file is wanted, which comes first", blob.Only("00"), files},
		{"one file is wanted, which comes last", blob.Only("zz"), append([]string{"v2/blobs/sha256/zz"}, files...)},
	}
	space.keys = append(space.keys, "v2/blobs/sha256/zz")
	slices.Sort(space.keys)
	for _, test := range tests {
		space.requests = 0
		seen, err := blobtest.Walk(t.Context(), keyReader{space: space}, "", func(dir string) blob.Step {
			if dir == "v2/blobs/sha256" {
				return test.step
			}
			return blob.List()
		})
		slices.Sort(test.files)
		if err != nil || !slices.Equal(seen.Files, test.files) || len(seen.Failed) > 0 {
			t.Errorf("%s: %v, files %q, failed %q", test.reason, err, seen.Files, seen.Failed)
		}
		if space.requests > 4 {
			t.Errorf("%s: %d requests, want the first page, one behind, perhaps one between, and the proof", test.reason, space.requests)
		}
	}
}
