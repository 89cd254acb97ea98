package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Ask shows a question and wants the whole word yes: no letter hit by chance
// agrees to anything.
func (a *App) Ask(ctx context.Context, question string) (bool, error) {
	if _, err := fmt.Fprint(a.Err, question); err != nil {
		return false, err
	}
	answer, err := a.readLine(ctx)
	return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
}

// CanAsk is a UsageError where nobody can answer.
func (a *App) CanAsk() error {
	if a.In.Terminal && a.Err.Terminal {
		return nil
	}
	return Usagef("there is no terminal on which to ask: say --yes to delete without a question")
}

// readLine waits for an answer, or for a signal.
func (a *App) readLine(ctx context.Context) (string, error) {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.In).ReadString('\n') // an end without an answer is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") {
			_, _ = fmt.Fprintln(a.Err)
		}
		return line, nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(a.Err)
		return "", context.Cause(ctx)
	}
}
