package s3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ebb-io/ebb/internal/store/blob/blobtest"
)

const testBucket = "bucket"

// fake is a server in this process that speaks S3.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	front func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

func newFake(t *testing.T) *fake {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(testBucket); err != nil {
		t.Fatal(err)
	}
	inner := mended(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		front := f.front
		f.mu.Unlock()
		if front == nil {
			inner.ServeHTTP(w, r)
			return
		}
		front(w, r, inner)
	}))
	t.Cleanup(f.Close)
	return f
}

// mended answers for the fake where it calls a bucket that never had an upload
// in parts absent.
func mended(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !r.URL.Query().Has("uploads") {
			inner.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		if inner.ServeHTTP(recorder, r); recorder.Code == http.StatusNotFound {
			answer(w, http.StatusOK, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`)
			return
		}
		answer(w, recorder.Code, recorder.Body.String())
	})
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// behave puts something before the server.
func (f *fake) behave(front func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.front = front
}

func options(endpoint string) Options {
	return Options{Bucket: testBucket, Endpoint: endpoint, AccessKey: "access", SecretKey: "secret"}
}

// open is a driver that does not really wait.
func open(t *testing.T, o Options) *Writable {
	t.Helper()
	w, err := OpenWritable(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w.Hurry()
	return w
}

func (f *fake) open(t *testing.T, prefix string) *Writable {
	t.Helper()
	o := options(f.URL)
	o.Prefix = prefix
	return open(t, o)
}

// fixture looks at the storage through the SDK alone.
func (f *fake) fixture(t *testing.T, prefix string) blobtest.Fixture {
	w, rival := f.open(t, prefix), f.open(t, prefix)
	api := rival.api
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	bucket := testBucket
	return blobtest.Fixture{
		Reader: w, Deleter: w, Locker: w, Rival: rival, Writer: w, Multipart: w, Aborter: w,
		Stamped: true, Patient: true, Later: func(by time.Duration) { f.behave(shifted(by)) },
		Put: func(path string, data []byte, _ time.Time) {
			_, err := api.PutObject(context.Background(), &sdk.PutObjectInput{Bucket: &bucket, Key: w.key(path), Body: bytes.NewReader(data)})
			must(err)
		},
		Remove: func(path string) {
			_, err := api.DeleteObject(context.Background(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: w.key(path)})
			must(err)
		},
		Exists: func(path string) bool {
			_, err := api.HeadObject(context.Background(), &sdk.HeadObjectInput{Bucket: &bucket, Key: w.key(path)})
			if err != nil && statusOf(err) != http.StatusNotFound {
				must(err)
			}
			return err == nil
		},
		Begin: func(path string, data []byte) {
			out, err := api.CreateMultipartUpload(context.Background(), &sdk.CreateMultipartUploadInput{Bucket: &bucket, Key: w.key(path)})
			must(err)
			one := int32(1)
			_, err = api.UploadPart(context.Background(), &sdk.UploadPartInput{
				Bucket: &bucket, Key: w.key(path), UploadId: out.UploadId, PartNumber: &one, Body: bytes.NewReader(data),
			})
			must(err)
		},
	}
}

func TestConformance(t *testing.T) {
	for name, prefix := range map[string]string{"whole bucket": "", "prefix": "some/root dir"} {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, func(t *testing.T) blobtest.Fixture { return newFake(t).fixture(t, prefix) })
		})
	}
}
