package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/ebb-io/ebb/internal/report"
)

const (
	onTerminal = 200 * time.Millisecond // between two looks: a few a second
	elsewhere  = 30 * time.Second
)

// Progress shows that work goes on: one line on a terminal that is rewritten
// and cleaned away at the end, elsewhere a line now and then.
type Progress struct {
	app  *App
	line func() string

	stop chan struct{}
	done sync.WaitGroup
}

// Progress starts to show what line says. Nothing is shown when quiet.
func (a *App) Progress(line func() string) *Progress {
	p := &Progress{app: a, line: line}
	p.Resume()
	return p
}

// Resume goes on after Stop.
func (p *Progress) Resume() {
	if p.app.Common.Quiet || p.stop != nil {
		return
	}
	p.stop = make(chan struct{})
	p.done.Add(1)
	go p.show(p.stop)
}

// Stop returns when the line is cleaned away. It may be called again.
func (p *Progress) Stop() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	p.done.Wait()
	p.stop = nil
}

func (p *Progress) show(stop <-chan struct{}) {
	defer p.done.Done()
	every := elsewhere
	if p.app.Err.Terminal {
		every = onTerminal
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	shown := false
	for {
		select {
		case <-stop:
			if shown && p.app.Err.Terminal {
				p.write("\r\x1b[K")
			}
			return
		case <-ticker.C:
			p.update(p.line())
			shown = true
		}
	}
}

func (p *Progress) update(text string) {
	if !p.app.Err.Terminal {
		p.write(p.app.Program.Name + ": " + text + "\n")
		return
	}
	columns := 80
	if p.app.Err.Width != nil {
		columns = max(p.app.Err.Width(), 20)
	}
	p.write("\r\x1b[K" + report.Fit(text, columns-1))
}

func (p *Progress) write(text string) {
	_, _ = fmt.Fprint(p.app.Err, text) // a terminal that is gone needs no progress
}

// Rate is how many a second.
func Rate(n int64, elapsed time.Duration) int64 {
	if elapsed < time.Second {
		return n
	}
	return int64(float64(n) / elapsed.Seconds())
}
