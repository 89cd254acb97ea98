package s3

import (
	"context"
	"errors"
	"sync"
)

// errSilent says that a request was not sent, because none before it helped.
var errSilent = errors.New("the server does not answer any more")

// outage is how many calls in a row must have been in vain, whatever they tried,
// for the server to be taken for gone: one for each that may be on its way.
const outage = inFlight

// breaker ends an outage soon: without it each of many thousand files would be
// waited for as long as one.
type breaker struct {
	mu      sync.Mutex
	failed  int  // calls in a row
	probing bool // one call finds out whether the server is back
}

// enter returns errSilent where the server is taken for gone. The one call that
// is let through all the same is to try once.
func (b *breaker) enter() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < outage {
		return false, nil
	}
	if b.probing {
		return false, errSilent
	}
	b.probing = true
	return true, nil
}

// leave takes note of what came of a call. Any answer closes the breaker, a
// refusal too; what the caller broke off says nothing.
func (b *breaker) leave(ctx context.Context, probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	var some *leftover
	switch {
	case err == nil || !passing(err) && ctx.Err() == nil || errors.As(err, &some):
		b.failed = 0
	case ctx.Err() == nil:
		b.failed++
	}
}
