package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stream may be read while it is written.
type stream struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// appOn is an app whose standard error is kept.
func appOn(terminal bool) (*App, *stream) {
	stderr := &stream{}
	err := Output{Writer: stderr, Terminal: terminal, Width: func() int { return 40 }}
	return &App{Process: Process{Err: err, Now: time.Now}}, stderr
}

func count() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("look %d %s", n, strings.Repeat("long ", 20))
	}
}

// screen is what a terminal shows after it has got the text.
func screen(text string) string {
	lines := strings.Split(text, "\r\x1b[K")
	return lines[len(lines)-1]
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, stderr := appOn(true)
		p := app.Progress(count())
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if shown := screen(stderr.String()); !strings.HasPrefix(shown, "look 5 ") || len([]rune(shown)) > 39 {
			t.Errorf("after a second it shows %q, want the fifth look in one line", shown)
		}
		p.Stop()
		p.Stop()
		if shown := screen(stderr.String()); shown != "" {
			t.Errorf("%q is left behind", shown)
		}
		if strings.Contains(stderr.String(), "\n") {
			t.Errorf("it takes more than one line: %q", stderr)
		}
		p.Resume()
		time.Sleep(300 * time.Millisecond)
		p.Stop()
		if !strings.Contains(stderr.String(), "look 6 ") {
			t.Errorf("it does not go on: %q", stderr)
		}
	})
}

func TestProgressElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, stderr := appOn(false)
		p := app.Progress(count())
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if stderr.String() != "" {
			t.Errorf("said %q within half a minute", stderr)
		}
		time.Sleep(32 * time.Second)
		p.Stop()
		if lines := strings.Count(stderr.String(), "\n"); lines != 2 || strings.Contains(stderr.String(), "\x1b") {
			t.Errorf("want two plain lines in a minute, got %q", stderr)
		}
	})
}

func TestProgressIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, stderr := appOn(true)
		app.Common.Quiet = true
		p := app.Progress(count())
		time.Sleep(time.Minute)
		p.Stop()
		if stderr.String() != "" {
			t.Errorf("said %q", stderr)
		}
	})
}

// TestShortWorkShowsNothing: what is done at once needs no line.
func TestShortWorkShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, stderr := appOn(true)
		p := app.Progress(count())
		time.Sleep(100 * time.Millisecond)
		p.Stop()
		if stderr.String() != "" {
			t.Errorf("said %q", stderr)
		}
	})
}
