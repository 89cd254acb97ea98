package s3

import (
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

// Do sends one request.
func (s *sender) Do(r *http.Request) (*http.Response, error) {
	if err := s.limit.Wait(r.Context()); err != nil {
		return nil, err
	}
	s.sent.Add(1)
	response, err := s.inner.Do(r)
	if err == nil {
		s.reached.Store(true)
	}
	return response, err
}
