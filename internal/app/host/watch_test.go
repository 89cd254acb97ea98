package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/app/host"
)

func TestWatch(t *testing.T) {
	const every, soon = 6 * time.Hour, 5 * time.Minute
	for _, tt := range []struct {
		name    string
		retries int
		again   []bool // what each pass says
		want    []time.Duration
		reason  string
	}{
		{"at its period", 12, []bool{false, false}, []time.Duration{every, every}, "a pass that is done waits for the next"},
		{"busy", 12, []bool{true, true, false}, []time.Duration{soon, soon, every}, "a busy host is tried again soon"},
		{"for ever busy", 2, []bool{true, true, true, true}, []time.Duration{soon, soon, every, soon}, "so many times, then at its period, and then so many times again"},
		{"no retries", 0, []bool{true}, []time.Duration{every}, "nothing is tried again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var waited []time.Duration
			passes := 0
			schedule := host.Schedule{Every: every, RetryEvery: soon, Retries: tt.retries}
			host.Watch(ctx,
				func(_ context.Context, d time.Duration) { waited = append(waited, d) },
				func(context.Context) time.Duration {
					passes++
					if passes == len(tt.again) {
						cancel()
					}
					return schedule.Next(tt.again[passes-1])
				})
			if diff := cmp.Diff(tt.want, waited); diff != "" {
				t.Errorf("%s:\n%s", tt.reason, diff)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	host.Wait(ctx, time.Hour) // would outlive the test
}
