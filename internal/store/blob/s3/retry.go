package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	attempts = 8
	// firstAttempts bounds them where no server has ever answered.
	firstAttempts = 3
	firstPause    = 200 * time.Millisecond
	longestPause  = 10 * time.Second
	// longestWish is as long as a server may ask to be left alone.
	longestWish = 30 * time.Second
)

// retrier does what failed for the moment again. The SDK's own retries would
// end early in a storm, when a budget that all requests share is used up, and
// would not see an answer that was cut.
type retrier struct {
	send    *sender
	breaker *breaker
	sleep   func(context.Context, time.Duration) error
	now     func() time.Time
}

func newRetrier(send *sender) retrier {
	return retrier{send: send, breaker: &breaker{}, sleep: sleep, now: time.Now}
}

// Hurry leaves out the pauses before a request is sent again. Tests play long
// outages with it.
func (d *Driver) Hurry() {
	d.again.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// try calls do until it goes well, fails for good or has failed often enough,
// and not at all where the server is taken for gone. The context's error is
// returned as it is.
func (r retrier) try(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	probe, err := r.breaker.enter()
	if err != nil {
		return err
	}
	most := r.most
	if probe {
		most = func() int { return 1 }
	}
	err = r.persist(ctx, most, do)
	r.breaker.leave(ctx, probe, err)
	return err
}

func (r retrier) persist(ctx context.Context, most func() int, do func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !passing(err) || attempt >= most() {
			return err
		}
		if err := r.sleep(ctx, r.pause(attempt, err)); err != nil {
			return err
		}
	}
}

func (r retrier) most() int {
	if r.send.reached.Load() {
		return attempts
	}
	return firstAttempts
}

// pause is random up to a bound that doubles, so that those who were refused
// together do not come back together.
func (r retrier) pause(attempt int, err error) time.Duration {
	if wish := r.wish(err); wish > 0 {
		return min(wish, longestWish)
	}
	bound := min(firstPause<<(attempt-1), longestPause)
	return rand.N(bound) + 1
}

// wish is how long the server asked to be left alone.
func (r retrier) wish(err error) time.Duration {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil {
		return 0
	}
	value := response.Response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(r.now())
	}
	return 0
}

// passing tells whether a failure may be over soon.
func passing(err error) bool {
	var refused *distrust
	if errors.As(err, &refused) || untrusted(err) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	if errors.Is(err, errNotS3) {
		return false
	}
	var cut *garbled
	var some *leftover
	if errors.As(err, &cut) || errors.As(err, &some) {
		return true
	}
	if status := statusOf(err); status != 0 {
		return passingCode(codeOf(err)) || passingStatus(status)
	}
	var sent *smithyhttp.RequestSendError
	var network net.Error
	return errors.As(err, &sent) || errors.As(err, &network)
}

// passingStatus also holds those of answers that began well and were cut.
func passingStatus(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status < 300
}

// passingCode is for codes that come with any status, or without one inside an
// answer.
func passingCode(code string) bool {
	switch code {
	case "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling", "ThrottlingException",
		"TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "OperationAborted", "503 SlowDown":
		return true
	}
	return false
}

// untrusted tells that the other side's certificate was not accepted.
func untrusted(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify)
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func statusOf(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
