package s3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/time/rate"
)

// sender counts every HTTP request and keeps to the rate.
type sender struct {
	inner   aws.HTTPClient
	limit   *rate.Limiter
	sent    atomic.Int64
	reached atomic.Bool // a server has answered
}

func newSender(inner aws.HTTPClient, perSecond float64) *sender {
	limit := rate.NewLimiter(rate.Inf, 0)
	if perSecond > 0 {
		limit = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
	}
	return &sender{inner: inner, limit: limit}
}

// urgent marks the context of requests that do not wait for the rate.
type urgent struct{}

// urgently is for the lock file: behind a queue of other requests a beat could
// come so late that others take the lock for left behind.
func urgently(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgent{}, true)
}

// Do sends one request.
func (s *sender) Do(r *http.Request) (*http.Response, error) {
	if r.Context().Value(urgent{}) == nil {
		if err := s.limit.Wait(r.Context()); err != nil {
			return nil, err
		}
	}
	r, err := detached(r)
	if err != nil {
		return nil, err
	}
	s.sent.Add(1)
	response, err := s.inner.Do(r)
	if err != nil {
		return nil, err
	}
	s.reached.Store(true)
	response.Body = bound(r, response)
	return response, nil
}

// bound is the body of an answer with its bounds.
func bound(r *http.Request, response *http.Response) io.ReadCloser {
	b := &bounded{ReadCloser: response.Body, left: longestAnswer, until: time.Now().Add(slowestAnswer)}
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		b.left = longestRefusal
	case r.Context().Value(content{}) != nil:
		return response.Body
	}
	return b
}

// What is no file's content is short, and comes soon.
const (
	longestAnswer  = 8 << 20 // bytes: some times the largest page of a listing
	longestRefusal = 64 << 10
	slowestAnswer  = 2 * time.Minute
)

// content marks the context of requests for a file's content, which may be of
// any length.
type content struct{}

func forContent(ctx context.Context) context.Context {
	return context.WithValue(ctx, content{}, true)
}

// bounded is the body of an answer that must end, and soon.
type bounded struct {
	io.ReadCloser
	left  int64
	until time.Time
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.left <= 0:
		return 0, &garbled{"its answer is too long"}
	case time.Now().After(b.until):
		return 0, &garbled{"its answer takes too long"}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// detached is a request whose body the SDK can not close, which it does as soon
// as an answer begins. The transport may not have seen its end by then, and
// would break the connection with the answer on it.
func detached(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	own := r.WithContext(r.Context())
	own.Body = io.NopCloser(bytes.NewReader(data))
	return own, nil
}
