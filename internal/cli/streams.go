package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// pipe is standard output. When its reader goes away that is the reader's
// choice: what is still to be written goes nowhere, and the work goes on. Any
// other failure is remembered and ends in an error.
type pipe struct {
	to     Output
	gone   bool
	failed error
}

func (p *pipe) Write(data []byte) (int, error) {
	if p.gone {
		return len(data), nil
	}
	n, err := p.to.Write(data)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, syscall.EPIPE):
		p.failed = fmt.Errorf("write to standard output: %w", err)
	}
	p.gone = true
	return len(data), nil
}

// Stdout is standard output itself, for a program that is started with it.
func (a *App) Stdout() io.Writer { return a.out.to.Writer }
