package s3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"

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
	if err == nil {
		s.reached.Store(true)
	}
	return response, err
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
