package s3

import (
	"context"
	"errors"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

const lockPath = "a/.lock"

// loses lets the server do the n-th write and breaks the connection instead of
// answering.
func (f *fake) loses(n int64) {
	var puts atomic.Int64
	f.behave(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPut || puts.Add(1) != n {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

// The answer to any one write may be lost: it was done all the same.
func TestLockOutlivesLostAnswers(t *testing.T) {
	for n := range int64(8) {
		f := newFake(t)
		w, rival := f.open(t, ""), f.open(t, "")
		f.loses(n + 1)
		l, err := w.Lock(t.Context(), lockPath)
		if err != nil {
			t.Fatalf("answer %d lost: %v", n+1, err)
		}
		for range 2 {
			if err := l.Beat(t.Context()); err != nil {
				t.Fatalf("answer %d lost: beat: %v", n+1, err)
			}
		}
		var held *blob.LockedError
		if _, err := rival.Lock(t.Context(), lockPath); !errors.As(err, &held) {
			t.Errorf("answer %d lost: the rival got %v", n+1, err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("answer %d lost: release: %v", n+1, err)
		}
		if _, err := w.Stat(t.Context(), lockPath); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("answer %d lost: the file stays: %v", n+1, err)
		}
	}
}

// A beat that could not be sent is an error and no loss; the next one goes on,
// whether the server did the write or not.
func TestBeatThatFailed(t *testing.T) {
	for _, done := range []bool{false, true} {
		f := newFake(t)
		w := f.open(t, "")
		l, err := w.Lock(t.Context(), lockPath)
		if err != nil {
			t.Fatal(err)
		}
		f.behave(func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
			if done {
				next.ServeHTTP(httptest.NewRecorder(), r)
			}
			panic(http.ErrAbortHandler)
		})
		if err := l.Beat(t.Context()); err == nil || errors.Is(err, blob.ErrLockLost) {
			t.Errorf("beat into the void: %v", err)
		}
		f.behave(nil)
		if err := l.Beat(t.Context()); err != nil {
			t.Errorf("the next beat: %v", err)
		}
	}
}

// Servers that do not know a condition are found out before anybody counts on
// it, and nothing is left.
func TestLockNeedsConditions(t *testing.T) {
	ignores := func(header string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del(header)
			next.ServeHTTP(w, r)
		}
	}
	refuses := func(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut && (r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "") {
				answer(w, status, refusal(code, "x"))
				return
			}
			next.ServeHTTP(w, r)
		}
	}
	for reason, front := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"ignores If-None-Match": ignores("If-None-Match"),
		"ignores If-Match":      ignores("If-Match"),
		"not implemented":       refuses(http.StatusNotImplemented, "NotImplemented"),
		"a bad request":         refuses(http.StatusBadRequest, "InvalidArgument"),
	} {
		f := newFake(t)
		f.behave(front)
		w := f.open(t, "")
		if _, err := w.Lock(t.Context(), lockPath); !errors.Is(err, ErrNoConditions) {
			t.Errorf("%s: %v, want ErrNoConditions", reason, err)
		}
		if _, err := w.Stat(t.Context(), lockPath); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: something is left: %v", reason, err)
		}
	}
}

// shifted tells the time of the server as it will be.
func shifted(by time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	}
}

// Only ten minutes of silence by the server's clock mean that a holder is gone.
func TestTakeover(t *testing.T) {
	for _, test := range []struct {
		silent time.Duration
		taken  bool
	}{{holderSilence - time.Minute, false}, {holderSilence + time.Minute, true}} {
		f := newFake(t)
		w, rival := f.open(t, ""), f.open(t, "")
		held, err := w.Lock(t.Context(), lockPath)
		if err != nil {
			t.Fatal(err)
		}
		f.behave(shifted(test.silent))
		l, err := rival.Lock(t.Context(), lockPath)
		var locked *blob.LockedError
		if taken := err == nil; taken != test.taken || !taken && !errors.As(err, &locked) {
			t.Errorf("after %s: %v, want it taken: %t", test.silent, err, test.taken)
		}
		f.behave(nil)
		if err := held.Beat(t.Context()); errors.Is(err, blob.ErrLockLost) != test.taken {
			t.Errorf("after %s: the first holder's beat: %v", test.silent, err)
		}
		if l != nil {
			if err := l.Beat(t.Context()); err != nil {
				t.Errorf("after %s: the next holder's beat: %v", test.silent, err)
			}
		}
	}
}

// Only a sign of life in the last minutes keeps a lock from being removed.
func TestUnlockSilent(t *testing.T) {
	untold := func(name string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			whole := httptest.NewRecorder()
			next.ServeHTTP(whole, r)
			for header, values := range whole.Header() {
				w.Header()[header] = values
			}
			w.Header()[name] = nil
			w.WriteHeader(whole.Code)
			_, _ = w.Write(whole.Body.Bytes())
		}
	}
	for reason, test := range map[string]struct {
		front   func(http.ResponseWriter, *http.Request, http.Handler)
		removed bool
	}{
		"it beat just now":            {shifted(0), false},
		"its beats are due":           {shifted(beatSilence - 30*time.Second), false},
		"it does not beat any more":   {shifted(beatSilence + 30*time.Second), true},
		"it is long gone":             {shifted(holderSilence + time.Minute), true},
		"its last beat is not told":   {untold("Last-Modified"), true},
		"the server tells no time":    {untold("Date"), true},
		"the server's clock ran back": {shifted(-time.Hour), false},
	} {
		f := newFake(t)
		w := f.open(t, "")
		l, err := w.Lock(t.Context(), lockPath)
		if err != nil {
			t.Fatal(err)
		}
		f.behave(test.front)
		err = w.Unlock(t.Context(), lockPath)
		var held *blob.LockedError
		if test.removed != (err == nil) || err != nil && !errors.As(err, &held) {
			t.Errorf("%s: %v, want it removed: %t", reason, err, test.removed)
		}
		f.behave(nil)
		if _, err := w.Stat(t.Context(), lockPath); errors.Is(err, iofs.ErrNotExist) != test.removed {
			t.Errorf("%s: the file: %v", reason, err)
		}
		if err := l.Beat(t.Context()); errors.Is(err, blob.ErrLockLost) != test.removed {
			t.Errorf("%s: beat: %v", reason, err)
		}
	}
}

// A lock that may be removed by hand is not yet taken over by itself.
func TestNoTakeoverOfALockThatMayBeRemoved(t *testing.T) {
	f := newFake(t)
	w := f.open(t, "")
	if _, err := w.Lock(t.Context(), lockPath); err != nil {
		t.Fatal(err)
	}
	f.behave(shifted(beatSilence + time.Minute))
	var held *blob.LockedError
	if _, err := f.open(t, "").Lock(t.Context(), lockPath); !errors.As(err, &held) {
		t.Errorf("%v, want it held", err)
	}
}

// No queue of other requests may hold up the beats.
func TestLockDoesNotWaitForTheRate(t *testing.T) {
	o := options(newFake(t).URL)
	o.MaxRequestsPerSecond = 0.001
	w := open(t, o)
	if err := w.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := w.Lock(ctx, lockPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Beat(ctx); err != nil {
		t.Errorf("beat: %v", err)
	}
	var held *blob.LockedError
	if err := w.Unlock(ctx, lockPath); !errors.As(err, &held) {
		t.Errorf("unlock: %v", err)
	}
	if err := l.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	if want := int64(1 + 3 + 1 + 1 + 2); w.Requests() != want {
		t.Errorf("%d requests are counted, want %d", w.Requests(), want)
	}
	if err := w.Probe(ctx); err == nil {
		t.Error("another request did not wait")
	}
}

// A holder that was taken for silent and beats in that very moment keeps it.
func TestBeatAgainstTakeover(t *testing.T) {
	f := newFake(t)
	w, rival := f.open(t, ""), f.open(t, "")
	held, err := w.Lock(t.Context(), lockPath)
	if err != nil {
		t.Fatal(err)
	}
	var once atomic.Bool
	f.behave(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && once.CompareAndSwap(false, true) {
			if err := held.Beat(context.Background()); err != nil {
				t.Errorf("beat: %v", err)
			}
		}
		silent := holderSilence + time.Minute
		if once.Load() {
			silent = 0
		}
		shifted(silent)(rw, r, next)
	})
	var locked *blob.LockedError
	if _, err := rival.Lock(t.Context(), lockPath); !errors.As(err, &locked) {
		t.Errorf("the rival got %v", err)
	}
	if err := held.Beat(t.Context()); err != nil {
		t.Errorf("beat: %v", err)
	}
}

// AWS answers 409 to writers that meet: that is no verdict.
func TestLockMeetsOthers(t *testing.T) {
	f := newFake(t)
	var left atomic.Int64
	left.Store(2)
	f.behave(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && left.Add(-1) >= 0 {
			answer(w, http.StatusConflict, refusal("ConditionalRequestConflict", "x"))
			return
		}
		next.ServeHTTP(w, r)
	})
	l, err := f.open(t, "").Lock(t.Context(), lockPath)
	if err != nil {
		t.Fatal(err)
	}
	left.Store(2)
	if err := l.Beat(t.Context()); err != nil {
		t.Errorf("beat: %v", err)
	}
}

func TestLockPermission(t *testing.T) {
	f := newFake(t)
	f.behave(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			answer(w, http.StatusForbidden, refusal("AccessDenied", "x"))
			return
		}
		next.ServeHTTP(w, r)
	})
	_, err := f.open(t, "p").Lock(t.Context(), lockPath)
	if !errors.Is(err, iofs.ErrPermission) || !strings.Contains(err.Error(), "s3:PutObject on bucket/p/*") {
		t.Errorf("%v", err)
	}
}

// A dry run gets a driver for which writing does not compile.
func TestReaderCannotWrite(t *testing.T) {
	var reader any = newFake(t).open(t, "").Driver
	_, deletes := reader.(blob.Deleter)
	_, locks := reader.(blob.Locker)
	_, puts := reader.(blob.Writer)
	_, aborts := reader.(blob.Aborter)
	if slices.Contains([]bool{deletes, locks, puts, aborts}, true) {
		t.Errorf("the reading driver deletes %t, locks %t, puts %t, aborts %t", deletes, locks, puts, aborts)
	}
}
