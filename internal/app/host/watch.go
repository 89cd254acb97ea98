package host

import (
	"context"
	"time"
)

// Schedule is when a daemon looks.
type Schedule struct {
	Every      time.Duration // from the end of one pass to the next
	RetryEvery time.Duration // while the host is busy or the engine is away
	Retries    int           // then it waits for its period

	tried int
}

// Next is how long to wait after a pass, which says whether it is worth trying
// again soon.
func (s *Schedule) Next(again bool) time.Duration {
	if again && s.tried < s.Retries {
		s.tried++
		return min(s.RetryEvery, s.Every)
	}
	s.tried = 0
	return s.Every
}

// Watch makes a pass at once, and others until ctx ends, which is no error. Each
// says how long to wait for the next. Wait returns when a time is over or ctx
// ended.
func Watch(ctx context.Context, wait func(context.Context, time.Duration), pass func(context.Context) time.Duration) {
	for ctx.Err() == nil {
		wait(ctx, pass(ctx))
	}
}

// Wait is the wait of a real daemon.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
