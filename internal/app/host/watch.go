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
}

// Watch makes a pass at once and then at its period, until ctx ends, which is
// no error. A pass says whether it is worth trying again soon. Wait returns
// when a time is over or ctx ended.
func Watch(ctx context.Context, s Schedule, wait func(context.Context, time.Duration), pass func(context.Context) (again bool)) {
	tried := 0
	for ctx.Err() == nil {
		again := pass(ctx)
		next := s.Every
		if again && tried < s.Retries {
			tried++
			next = min(s.RetryEvery, s.Every)
		} else {
			tried = 0
		}
		wait(ctx, next)
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
