package buckets

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// runAll is a run on a town that nothing stands in the way of.
func (w *town) runAll(t *testing.T, sh *shell, args ...string) said {
	t.Helper()
	sh.now = w.Now
	return sh.ebb(t, "run", append([]string{"--owners", ownersFile(t), "--delete-untagged", "--max-delete-share", "100", "--offline", "--yes"}, args...)...)
}

// told is what must be said of a bucket that can not be used.
type told struct {
	code     int
	words    []string
	requests int // at most
}

// oneSentence holds what was said to one line of a readable length.
func oneSentence(t *testing.T, got said, want told) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(got.err, "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "ebb: warning: ") })
	if got.code != want.code || len(lines) != 1 {
		t.Errorf("exit code %d, want %d; said %q", got.code, want.code, lines)
	}
	for _, word := range want.words {
		if !strings.Contains(lines[len(lines)-1], word) {
			t.Errorf("it does not say %q: %s", word, lines)
		}
	}
	for _, noise := range []string{"https response error", "RequestID", "operation error", "HostID", "api error"} {
		if strings.Contains(got.err, noise) {
			t.Errorf("the library of AWS speaks: %s", got.err)
		}
	}
	words := strings.FieldsFunc(got.err, func(r rune) bool { return r == ' ' || r == ':' || r == '\n' })
	for _, word := range words {
		if strings.HasSuffix(word, "/link") && strings.Count(got.err, word) > 1 {
			t.Errorf("it names %s more than once", word)
		}
	}
	t.Logf("exit code %d: %s", got.code, strings.Join(lines, "\n"))
}

// TestRefusals has a server refuse what a run needs, each thing alone.
func TestRefusals(t *testing.T) {
	denied := objects.Answer(http.StatusForbidden, "AccessDenied")
	below := objects.Below(root + "/")
	cases := []struct {
		reason string
		when   objects.When
		fault  objects.Fault
		told
	}{
		{
			"no such bucket", objects.Always(), objects.Answer(http.StatusNotFound, "NoSuchBucket"),
			told{1, []string{"s3://images/reg", "no such bucket"}, 1},
		},
		{
			"no list", objects.Operation(objects.List), denied,
			told{1, []string{"s3:ListBucket", "images", "reg/"}, 1},
		},
		{
			"no get", objects.Operation(objects.Get), denied,
			told{10, []string{"the view is incomplete", "s3:GetObject on images/reg/*"}, 60},
		},
		{
			"no put, of the lock", objects.Operation(objects.Put), denied,
			told{1, []string{"s3:PutObject on images/reg/*", ".ebb-lock"}, 6},
		},
		{
			"no delete", objects.Both(objects.Operation(objects.DeleteMany), below), objects.KeyErrors("AccessDenied", func(string) bool { return true }),
			told{3, []string{"s3:DeleteObject on images/reg/*"}, 80},
		},
		{
			"another region", objects.Always(), elsewhere,
			told{1, []string{"in region eu-west-9", "eu-test-1"}, 1},
		},
		{
			"clocks apart", objects.Always(), objects.Answer(http.StatusForbidden, "RequestTimeTooSkewed"),
			told{1, []string{"clock"}, 1},
		},
		{
			"an unknown key", objects.Always(), objects.Answer(http.StatusForbidden, "InvalidAccessKeyId"),
			told{1, []string{"credentials are refused"}, 1},
		},
		{
			"no conditional writes", objects.Operation(objects.Put), objects.Answer(http.StatusNotImplemented, "NotImplemented"),
			told{1, []string{"conditional writes", "--no-lock"}, 8},
		},
		{
			"conditions that are ignored", objects.Operation(objects.Put), unconditionally,
			told{1, []string{"conditional writes", "--no-lock"}, 8},
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			w := newTown(t)
			sh := newShell(t, w.fake.Bucket, root)
			w.fake.Inject(c.when, c.fault)
			before := len(w.fake.Objects())
			got := w.runAll(t, sh)
			oneSentence(t, got, c.told)
			if n := len(w.fake.Calls()); n > c.requests {
				t.Errorf("%d requests, want at most %d: %v", n, c.requests, w.fake.Counts())
			}
			if left := len(w.fake.Objects()); left != before {
				t.Errorf("%d objects of %d are left", left, before)
			}
		})
	}
}

// elsewhere is what S3 answers for a bucket of another region.
func elsewhere(_ objects.Call, _ http.Handler, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("X-Amz-Bucket-Region", "eu-west-9")
	objects.WriteError(w, http.StatusMovedPermanently, "PermanentRedirect", "the bucket must be addressed elsewhere")
}

// unconditionally is a server of old: it knows no condition of a write.
func unconditionally(_ objects.Call, right http.Handler, w http.ResponseWriter, r *http.Request) {
	r.Header.Del("If-None-Match")
	r.Header.Del("If-Match")
	right.ServeHTTP(w, r)
}

// TestWithoutALock: where no lock can be held a person keeps others away.
func TestWithoutALock(t *testing.T) {
	w := newTown(t)
	sh := newShell(t, w.fake.Bucket, root)
	w.fake.Inject(objects.Operation(objects.Put), objects.Answer(http.StatusNotImplemented, "NotImplemented"))
	if got := w.runAll(t, sh, "--no-lock"); got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if lost, left := w.lost(), w.left(); len(lost)+len(left) > 0 {
		t.Errorf("lost %q, left %q", lost, left)
	}
}

// TestNoS3 has an endpoint that is something else, or nothing.
func TestNoS3(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><html><body>Welcome to nginx!</body></html>")
	}))
	defer web.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"NOT_FOUND"}]}`)
	}))
	defer api.Close()
	cases := []struct {
		reason, endpoint string
		told
	}{
		{"a web server", web.URL, told{code: 1, words: []string{"does not speak S3", "check its URL"}}},
		{"another API", api.URL, told{code: 1, words: []string{"does not speak S3", "check its URL"}}},
		{"a server that hangs up", "http://" + babble(t, ""), told{code: 1, words: []string{"cannot be reached"}}},
		{"no HTTP at all", "http://" + babble(t, "220 mail.example.org ESMTP\r\n"), told{code: 1, words: []string{"does not speak S3", "check its URL"}}},
		{"nobody", "http://" + closed(t), told{code: 1, words: []string{"cannot be reached", "connection refused"}}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			b := objects.Bucket{Endpoint: c.endpoint, Name: "images", Region: "eu-test-1", AccessKey: "anyone", SecretKey: "anything"}
			got := newShell(t, b, root).ebb(t, "check")
			oneSentence(t, got, c.told)
		})
	}
}

// babble says something to everybody and hangs up. It is asked three times at
// most.
func babble(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	t.Cleanup(func() {
		_ = listener.Close()
		if n := asked.Load(); n > 3 {
			t.Errorf("it was asked %d times", n)
		}
	})
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_, _ = c.Read(make([]byte, 1<<16)) // or the answer would be lost with the connection
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return listener.Addr().String()
}

func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// TestCredentials has none, and ones that a real server refuses.
func TestCredentials(t *testing.T) {
	gateway := objects.Versity(t)
	good := newShell(t, gateway.Bucket, "")
	if got := good.ebb(t, "check"); got.code != 0 || !strings.Contains(got.err, "is empty") {
		t.Errorf("an empty bucket: exit code %d: %s", got.code, got.err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	oneSentence(t, good.ebb(t, "check"), told{code: 1, words: []string{"credentials are refused", "SignatureDoesNotMatch"}})
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	oneSentence(t, good.ebb(t, "check"), told{code: 1, words: []string{"credentials are refused", "XAdminUserNotFound"}})
	lonely(t)
	oneSentence(t, good.ebb(t, "check"), told{code: 1, words: []string{"no credentials", "AWS_ACCESS_KEY_ID"}})
	t.Setenv("AWS_ACCESS_KEY_ID", gateway.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", gateway.SecretKey)
	absent := gateway.Bucket
	absent.Name = "absent"
	other := *good
	other.storage = absent.URL("")
	oneSentence(t, other.ebb(t, "check"), told{code: 1, words: []string{"s3://absent", "no such bucket"}})
}

// TestHeldLock: one run at a time; a lock whose holder does not beat any more may
// be removed by hand.
func TestHeldLock(t *testing.T) {
	w := newTown(t)
	sh := newShell(t, w.fake.Bucket, root)
	before := len(w.fake.Objects())
	if _, err := open(t, w.fake.Bucket).Lock(t.Context(), world.Root+"/.ebb-lock"); err != nil {
		t.Fatal(err)
	}
	oneSentence(t, w.runAll(t, sh), told{code: 11, words: []string{"s3://images/reg: another run is at work", "ten minutes after that"}})
	oneSentence(t, sh.ebb(t, "unlock"), told{code: 11, words: []string{"is at work", "wait for it", "ten minutes after that", "unlock three minutes after"}})
	if left := len(w.fake.Objects()); left != before+1 {
		t.Errorf("%d objects are left, want %d and the lock", left, before)
	}
	w.fake.SetClock(func() time.Time { return time.Now().Add(4 * time.Minute) })
	if got := sh.must(t, "unlock"); !strings.Contains(got.out, "the lock is removed") {
		t.Errorf("unlock says %q", got.out)
	}
	if got := sh.must(t, "unlock"); !strings.Contains(got.out, "there is no lock") {
		t.Errorf("unlock says %q", got.out)
	}
}

// TestSilentLock is taken over without a word.
func TestSilentLock(t *testing.T) {
	w := newTown(t)
	sh := newShell(t, w.fake.Bucket, root)
	if _, err := open(t, w.fake.Bucket).Lock(t.Context(), world.Root+"/.ebb-lock"); err != nil {
		t.Fatal(err)
	}
	w.fake.SetClock(func() time.Time { return time.Now().Add(11 * time.Minute) })
	if got := w.runAll(t, sh); got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if lost, left := w.lost(), w.left(); len(lost)+len(left) > 0 {
		t.Errorf("lost %q, left %q", lost, left)
	}
}
