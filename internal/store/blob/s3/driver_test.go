package s3

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	iofs "io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Whether a bucket keeps old versions, or that it cannot be told.
func TestVersioned(t *testing.T) {
	tests := []struct {
		reason string
		status int
		body   string
		want   bool
		is     error
	}{
		{"never asked for", 200, "<VersioningConfiguration/>", false, nil},
		{"on", 200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>", true, nil},
		{"off again", 200, "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>", true, nil},
		{"may not be asked", 403, refusal("AccessDenied", "x"), false, iofs.ErrPermission},
		{"not known", 501, refusal("NotImplemented", "x"), false, errors.ErrUnsupported},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, test.status, test.body) }))
		got, err := open(t, options(server.URL)).Versioned(t.Context())
		if got != test.want || (err == nil) != (test.is == nil) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %t, %v, want %t, %v", test.reason, got, err, test.want, test.is)
		}
		server.Close()
	}
}

func TestVersioningNotImplementedIsNotTriedAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotImplemented, refusal("NotImplemented", "x"))
	}))
	defer server.Close()
	w := open(t, options(server.URL))
	if _, err := w.Versioned(t.Context()); err == nil || w.Requests() != 1 {
		t.Errorf("%v after %d requests", err, w.Requests())
	}
}

// On AWS the bucket itself knows its region, and says it to anybody.
func TestRegionOf(t *testing.T) {
	for _, status := range []int{200, 301, 400, 403} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-3")
			w.WriteHeader(status)
		}))
		d := open(t, options(server.URL)).Driver
		if region, err := d.regionOf(t.Context(), d.api); err != nil || region != "eu-west-3" {
			t.Errorf("status %d: %q, %v", status, region, err)
		}
		server.Close()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer server.Close()
	d := open(t, options(server.URL)).Driver
	if region, err := d.regionOf(t.Context(), d.api); err == nil {
		t.Errorf("of a bucket that is not there: %q", region)
	}
}

// What was set for other tools holds, and what was given holds more.
func TestSettings(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		reason    string
		env       map[string]string
		options   Options
		region    string
		pathStyle bool
	}{
		{"a server of one's own", nil, Options{Endpoint: "http://127.0.0.1:1"}, defaultRegion, true},
		{"its region was set", map[string]string{"AWS_REGION": "here"}, Options{Endpoint: "http://127.0.0.1:1"}, "here", true},
		{"its region is given", map[string]string{"AWS_REGION": "here"}, Options{Endpoint: "http://127.0.0.1:1", Region: "there"}, "there", true},
		{"not by path", nil, Options{Endpoint: "http://127.0.0.1:1", PathStyle: &no}, defaultRegion, false},
		{"the server was set", map[string]string{"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, Options{}, defaultRegion, true},
		{"AWS", nil, Options{Region: "eu-west-3"}, "eu-west-3", false},
		{"AWS by path", nil, Options{Region: "eu-west-3", PathStyle: &yes}, "eu-west-3", true},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
				t.Setenv(name, test.env[name])
			}
			o := test.options
			o.Bucket, o.AccessKey, o.SecretKey = "b", "access", "secret"
			d, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.api.Options(); got.Region != test.region || got.UsePathStyle != test.pathStyle {
				t.Errorf("region %q, by path %t, want %q, %t", got.Region, got.UsePathStyle, test.region, test.pathStyle)
			}
			if d.Requests() != 0 {
				t.Errorf("%d requests", d.Requests())
			}
		})
	}
}

func TestTrust(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, says(all, "")) }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	skipped := options(server.URL)
	skipped.SkipVerify = true
	if err := open(t, skipped).Probe(t.Context()); err != nil {
		t.Errorf("without a check: %v", err)
	}
	t.Setenv("AWS_CA_BUNDLE", file)
	if err := open(t, options(server.URL)).Probe(t.Context()); err != nil {
		t.Errorf("AWS_CA_BUNDLE: %v", err)
	}
}

// Not to look at a bucket's certificate is no leave to hand a token to anybody.
func TestTrustOfCredentials(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_MAX_ATTEMPTS": "1",
		"AWS_ENDPOINT_URL_STS": server.URL, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	_, err := Open(t.Context(), Options{Bucket: "b", Endpoint: server.URL, SkipVerify: true})
	if err == nil || !untrusted(err) || asked.Load() != 0 {
		t.Errorf("%v after %d requests, want none: its certificate is nobody's", err, asked.Load())
	}
}

// A server that takes the request and says nothing does not hold up anybody
// whose context ends.
func TestContextEndsAnyCall(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	w := open(t, options(server.URL))
	for name, call := range map[string]func(context.Context) error{
		"probe":      w.Probe,
		"stat":       func(ctx context.Context) error { _, err := w.Stat(ctx, "a"); return err },
		"read":       func(ctx context.Context) error { _, err := w.Read(ctx, "a", &strings.Builder{}); return err },
		"put":        func(ctx context.Context) error { return w.Put(ctx, "a", nil) },
		"lock":       func(ctx context.Context) error { _, err := w.Lock(ctx, "a"); return err },
		"unfinished": func(ctx context.Context) error { _, err := w.Unfinished(ctx, ""); return err },
		"walk": func(ctx context.Context) error {
			return w.Walk(ctx, "", blob.Visitor{Fail: func(path string, err error) { t.Errorf("%s: %v", path, err) }})
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestRate(t *testing.T) {
	var at atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { at.Add(1); answer(w, http.StatusOK, says(all, "")) }))
	defer server.Close()
	o := options(server.URL)
	o.MaxRequestsPerSecond = 0.001
	w := open(t, o)
	if err := w.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := w.Probe(ctx); err == nil || at.Load() != 1 || w.Requests() != 1 {
		t.Errorf("%v after %d requests, want one in a quarter of an hour", err, at.Load())
	}
}
