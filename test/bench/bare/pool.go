package bare

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// workersPerCPU is enough to keep a disk busy; more does not help once the tree is cached.
const workersPerCPU = 8

// chunk is how many entries a worker takes at a time.
const chunk = 128

// pool runs tasks that may start further tasks, a bounded number at once.
type pool struct {
	group errgroup.Group

	mu   sync.Mutex
	errs []error
}

func (p *pool) start() { p.group.SetLimit(workersPerCPU * runtime.GOMAXPROCS(0)) }

func (p *pool) wait() error {
	_ = p.group.Wait() // tasks note their errors themselves
	return errors.Join(p.errs...)
}

// do runs f in a worker, or at once when all are taken: so no task ever waits for a free worker.
func (p *pool) do(f func() error) {
	run := func() error {
		p.note(f())
		return nil
	}
	if !p.group.TryGo(run) {
		_ = run()
	}
}

// each hands out the indexes 0..n-1 in chunks and returns when all are done.
func (p *pool) each(n int, f func(i int) error) {
	var wait sync.WaitGroup
	for from := 0; from < n; from += chunk {
		wait.Add(1)
		p.do(func() error {
			defer wait.Done()
			for i := from; i < min(from+chunk, n); i++ {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	wait.Wait()
}

func (p *pool) note(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}
