package s3

import (
	"context"
	"errors"
	iofs "io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func refusal(code, message string) string {
	return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message + "</Message><RequestId>1</RequestId></Error>"
}

// Whatever is wrong with a storage, the first request says it in one sentence,
// and what cannot pass is not tried twice.
func TestProbe(t *testing.T) {
	tests := []struct {
		reason   string
		status   int
		header   string // name: value
		body     string
		want     string
		is       error
		requests int64
	}{
		{"no bucket", 404, "", refusal("NoSuchBucket", "x"), "there is no such bucket", errNoBucket, 1},
		{"may not list", 403, "", refusal("AccessDenied", "x"), "s3:ListBucket on bucket bucket for prefix pre/", iofs.ErrPermission, 1},
		{"may not, and not said in S3's words", 403, "Content-Type: text/html", "<html>", "s3:ListBucket", iofs.ErrPermission, 1},
		{"key unknown", 403, "", refusal("InvalidAccessKeyId", "x"), "credentials are refused", errRefused, 1},
		{"key unknown to versitygw", 404, "", refusal("XAdminUserNotFound", "x"), "credentials are refused", errRefused, 1},
		{"secret wrong", 403, "", refusal("SignatureDoesNotMatch", "x"), "credentials are refused", errRefused, 1},
		{"token old", 400, "", refusal("ExpiredToken", "x"), "credentials are refused", errRefused, 1},
		{"clock", 403, "", refusal("RequestTimeTooSkewed", "x"), "set the clock", errClock, 1},
		{"moved", 301, "X-Amz-Bucket-Region: eu-west-3", refusal("PermanentRedirect", "x"), "in region eu-west-3, not us-east-1", nil, 1},
		{"signed for another region", 400, "", refusal("AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-north-1'"), "in region eu-north-1", nil, 1},
		{"a web server", 200, "Content-Type: text/html; charset=utf-8", "<html></html>", "does not speak S3", errNotS3, 1},
		{"another API", 200, "Content-Type: application/json", "{}", "does not speak S3", errNotS3, 1},
		{"another API that refuses", 404, "Content-Type: application/json", `{"errors":[]}`, "does not speak S3", errNotS3, 1},
		{"TLS without TLS", 400, "Content-Type: text/plain", "Client sent an HTTP request to an HTTPS server.\n", "does not speak S3", errNotS3, 1},
		{"unknown code", 418, "", refusal("Teapot", "short and stout"), "Teapot: short and stout", nil, 1},
		{"unable for long", 503, "", refusal("SlowDown", "x"), "SlowDown", nil, attempts},
		{"a proxy that is unable", 502, "Content-Type: text/html", "<html>", "502", nil, attempts},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			if name, value, ok := strings.Cut(test.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		o := options(server.URL)
		o.Prefix = "/pre/"
		w := open(t, o)
		err := w.Probe(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "store s3://bucket/pre: ") || strings.Contains(err.Error(), "RequestID")) {
			t.Errorf("%s: %v", test.reason, err)
		}
		if errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %v says that something is absent", test.reason, err)
		}
		if w.Requests() != test.requests {
			t.Errorf("%s: %d requests, want %d", test.reason, w.Requests(), test.requests)
		}
		server.Close()
	}
}

func TestProbeUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	tests := []struct {
		reason, endpoint, want string
		requests               int64
	}{
		{"nobody listens", "http://" + address, "cannot be reached", firstAttempts},
		{"TLS to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), "http and not https", 1},
		{"a certificate of nobody's", secure.URL, "certificate is not trusted", 1},
	}
	for _, test := range tests {
		w := open(t, options(test.endpoint))
		err := w.Probe(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
		if w.Requests() != test.requests {
			t.Errorf("%s: %d requests, want %d", test.reason, w.Requests(), test.requests)
		}
	}
}

// A firewall that swallows everything is told as one, though Go's time-out
// passes for the context's.
func TestDialTimeout(t *testing.T) {
	w := open(t, options("http://127.0.0.1:1"))
	w.send.inner = clientFunc(func(*http.Request) (*http.Response, error) {
		_, err := (&net.Dialer{Timeout: time.Nanosecond}).Dial("tcp", "127.0.0.1:1")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v", err)
		}
		return nil, err
	})
	err := w.Probe(t.Context())
	if !errors.Is(err, errUnreachable) || !strings.HasPrefix(err.Error(), "store s3://bucket: ") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, errUnreachable)
	}
}

// What passes is not the end of anything.
func TestRetries(t *testing.T) {
	fakes := newFake(t)
	w := fakes.open(t, "")
	if err := w.Put(t.Context(), "a/one", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		reason string
		fail   func(w http.ResponseWriter)
	}{
		{"429", func(w http.ResponseWriter) { answer(w, http.StatusTooManyRequests, "") }},
		{"500", func(w http.ResponseWriter) { answer(w, http.StatusInternalServerError, refusal("InternalError", "x")) }},
		{"503", func(w http.ResponseWriter) { answer(w, http.StatusServiceUnavailable, refusal("SlowDown", "x")) }},
		{"504 without a body", func(w http.ResponseWriter) { answer(w, http.StatusGatewayTimeout, "") }},
		{"400 that means later", func(w http.ResponseWriter) { answer(w, http.StatusBadRequest, refusal("RequestTimeout", "x")) }},
		{"connection broken", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	}
	for _, test := range tests {
		var left atomic.Int64
		fakes.behave(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if left.Add(-1) >= 0 {
				test.fail(rw)
				return
			}
			next.ServeHTTP(rw, r)
		})
		calls := map[string]func() error{
			"list": func() error { return w.Probe(t.Context()) },
			"stat": func() error { _, err := w.Stat(t.Context(), "a/one"); return err },
			"read": func() error { _, err := w.Read(t.Context(), "a/one", &strings.Builder{}); return err },
			"put":  func() error { return w.Put(t.Context(), "a/two", nil) },
			"delete": func() error {
				return errors.Join(w.Delete(t.Context(), []string{"a/two", "a/three"})...)
			},
		}
		for name, call := range calls {
			left.Store(attempts - 1)
			before := w.Requests()
			// The transport may resend a request whose connection broke before any answer.
			if err := call(); err != nil || w.Requests()-before > attempts {
				t.Errorf("%s, %s: %v after %d requests", test.reason, name, err, w.Requests()-before)
			}
			left.Store(1000)
			before = w.Requests()
			if err := call(); err == nil || errors.Is(err, iofs.ErrNotExist) || w.Requests()-before != attempts {
				t.Errorf("%s for ever, %s: %v after %d requests", test.reason, name, err, w.Requests()-before)
			}
			left.Store(0)
		}
	}
}

func TestNoCredentials(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	_, err := Open(t.Context(), Options{Bucket: "b", Endpoint: "http://127.0.0.1:1"})
	if !errors.Is(err, errNoCredentials) {
		t.Errorf("%v, want %v", err, errNoCredentials)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	for _, o := range []Options{
		{Bucket: "b", Endpoint: "http://user:hush@127.0.0.1:1"},
		{Bucket: "b", Endpoint: "hush://127.0.0.1:1"},
		{Bucket: "b", Endpoint: "http://127.0.0.1:1/%zzhush"},
		{Bucket: "b", SecretKey: "hush"},
	} {
		if _, err := Open(t.Context(), o); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	}
}
