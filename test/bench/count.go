package main

import (
	"net/http"
	"sync"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// requests are what a server was asked.
type requests struct {
	Counts   map[string]int // by operation, as the package objects names them
	InFlight int            // how many were on their way at once, at most
}

// total is how many there were.
func (r requests) total() (n int) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// others are those that neither list nor read nor delete.
func (r requests) others() int {
	return r.total() - r.Counts[objects.List] - r.Counts[objects.Get] - r.Counts[objects.Head] - r.deletions()
}

func (r requests) deletions() int {
	return r.Counts[objects.Delete] + r.Counts[objects.DeleteMany]
}

// counter counts the requests to a handler.
type counter struct {
	handler http.Handler

	mutex    sync.Mutex
	counts   map[string]int
	inFlight int
	most     int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.enter(objects.OperationOf(r))
	defer c.leave()
	c.handler.ServeHTTP(w, r)
}

func (c *counter) enter(operation string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[operation]++
	c.inFlight++
	c.most = max(c.most, c.inFlight)
}

func (c *counter) leave() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.inFlight--
}

// take is what was counted since the last time.
func (c *counter) take() requests {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	r := requests{c.counts, c.most}
	c.counts, c.most = nil, c.inFlight
	return r
}
