package fs

import (
	"sync"
	"sync/atomic"
)

// handle is an open directory. Several workers may look at its entries while
// another reads on; the last one closes it.
type handle struct {
	fd      int
	users   atomic.Int32
	listing listing
}

func newHandle(fd int, name string) *handle {
	h := &handle{fd: fd}
	h.users.Store(1)
	h.listing.start(fd, name)
	return h
}

func (h *handle) share() *handle {
	h.users.Add(1)
	return h
}

func (h *handle) release() {
	if h.users.Add(-1) == 0 {
		h.listing.close(h.fd)
	}
}

// task is a directory to read, or, when it has a handle, to read on.
type task struct {
	dir    string
	handle *handle
}

// queue hands tasks to workers, the newest first, which keeps few directories
// open and few tasks waiting. Its end is reached when nothing waits and
// nobody works, so depth costs memory but never a goroutine.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	tasks   []task
	working int
	idle    int
}

func newQueue(first task) *queue {
	q := &queue{tasks: []task{first}}
	q.ready.L = &q.mu
	return q
}

func (q *queue) push(t task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, t)
	q.ready.Signal()
}

// take waits for a task. It is false when all is done.
func (q *queue) take() (task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 {
		if q.working == 0 {
			return task{}, false
		}
		q.idle++
		q.ready.Wait()
		q.idle--
	}
	last := len(q.tasks) - 1
	t := q.tasks[last]
	q.tasks = q.tasks[:last]
	q.working++
	return t, true
}

// finish returns a taken task and adds what came of it.
func (q *queue) finish(found []task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.working--
	q.tasks = append(q.tasks, found...)
	if q.working == 0 && len(q.tasks) == 0 {
		q.ready.Broadcast()
		return
	}
	// The caller takes one of them itself.
	for range min(q.idle, len(found)-1) {
		q.ready.Signal()
	}
}
