package registry

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/report"
)

// ask shows what will go and wants the whole word: no letter hit by chance
// deletes anything. Where nothing goes there is nothing to ask.
func (r *run) ask(ctx context.Context, p *plan.Plan) (bool, error) {
	if !deletes(p) {
		return true, nil
	}
	r.shown.Stop()
	defer r.shown.Resume()
	r.warn(p)
	if _, err := fmt.Fprintf(r.Err, "%sStorage: %s\nType yes to delete: ",
		report.AskText(p, r.storage.Store, r.View(r.Err)), report.Escape(r.storage.name)); err != nil {
		return false, err
	}
	answer, err := r.readLine(ctx)
	return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
}

// readLine waits for an answer, or for a signal.
func (r *run) readLine(ctx context.Context) (string, error) {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r.In).ReadString('\n') // an end without an answer is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") {
			_, _ = fmt.Fprintln(r.Err)
		}
		return line, nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(r.Err)
		return "", context.Cause(ctx)
	}
}
