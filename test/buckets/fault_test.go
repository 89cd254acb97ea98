package buckets

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// requestsOfARun is how many requests a run on a town takes where all goes well.
func requestsOfARun(t *testing.T) int {
	t.Helper()
	w := newTown(t)
	if said := verdict(w.run(t)); said != "" {
		t.Fatal(said)
	}
	if lost, left := w.lost(), w.left(); len(lost)+len(left) > 0 {
		t.Fatalf("lost %q, left %q", lost, left)
	}
	n := len(w.fake.Calls())
	t.Logf("a run takes %d requests: %v", n, w.fake.Counts())
	return n
}

// eachRequest does something to a run at its first request, at its second and
// so on, several runs at once.
func eachRequest(t *testing.T, do func(n int)) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(4)
	for n := range requestsOfARun(t) {
		group.Go(func() error { do(n + 1); return nil })
	}
	_ = group.Wait() // errors are the test's
}

// TestTransientFault has one thing go wrong at each request of a run, which
// must heal it: all is done, and nothing else.
func TestTransientFault(t *testing.T) {
	faults := map[string]objects.Fault{
		"an internal error":                objects.Answer(http.StatusInternalServerError, "InternalError"),
		"a plea to slow down":              objects.Answer(http.StatusServiceUnavailable, "SlowDown"),
		"a cut connection":                 objects.Cut(),
		"an answer that is cut":            objects.CutBody(),
		"an answer that is lost, and done": objects.Lose(),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			eachRequest(t, func(n int) {
				w := newTown(t)
				w.fake.Inject(objects.NthOf(n, objects.Always()), fault)
				if said := verdict(w.run(t)); said != "" {
					t.Errorf("request %d: %s", n, said)
				}
				if lost, left := w.lost(), w.left(); len(lost)+len(left) > 0 {
					t.Errorf("request %d: lost %q, left %q", n, lost, left)
				}
			})
		})
	}
}

// TestServerGoes has the server go at each request of a run, for good. What is
// kept stays whole, the run says so, and the next one finishes the work.
func TestServerGoes(t *testing.T) {
	for name, fault := range map[string]objects.Fault{
		"it does nothing any more":     objects.Cut(),
		"it does all and says nothing": objects.Lose(),
	} {
		t.Run(name, func(t *testing.T) {
			eachRequest(t, func(n int) {
				w := newTown(t)
				w.fake.Inject(objects.Span(n, 1<<30, objects.Always()), fault)
				if verdict(w.run(t)) == "" {
					t.Errorf("request %d and all after it fail, and nothing is said", n)
				}
				if lost := w.lost(); len(lost) > 0 {
					t.Errorf("from request %d on: lost %q", n, lost)
				}
				w.finishes(t, fmt.Sprintf("gone from request %d on", n))
			})
		})
	}
}

// TestNobodyElseSpeaks: what a library thinks of a server is not for the
// process's standard error, which is Ebb's.
func TestNobodyElseSpeaks(t *testing.T) {
	heard, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = heard
	w := newTown(t)
	w.fake.Inject(objects.Span(1, 5, objects.Operation(objects.Put, objects.DeleteMany, objects.Delete)), objects.CutBody())
	said := verdict(w.run(t))
	os.Stderr = before
	text, err := os.ReadFile(heard.Name())
	if err != nil || said != "" || len(text) > 0 {
		t.Errorf("run: %q, %v; on standard error: %s", said, err, text)
	}
}
