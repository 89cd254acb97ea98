// Package heap tells tests how much memory Go's objects take, now and at most
// while something is done.
//
// It does not know what else a process takes, and refuses to be used outside
// tests.
package heap

import (
	"runtime/metrics"
	"time"
)

// InUse is what all objects take, in bytes, those that wait for the collector
// included.
func InUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Peak is the most that was in use while f ran, in bytes.
func Peak(f func()) uint64 {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			select {
			case <-done:
				peak <- max(most, InUse())
				return
			default:
				most = max(most, InUse())
				time.Sleep(time.Millisecond)
			}
		}
	}()
	f()
	close(done)
	return <-peak
}
