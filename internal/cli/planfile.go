package cli

import (
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// PlanFile is the file of a stored plan; "-" is standard input.
type PlanFile string

// Read is its content. Every error is a UsageError.
func (f PlanFile) Read(a *App) ([]byte, error) {
	var data []byte
	var err error
	if f == "-" {
		data, err = io.ReadAll(a.In)
	} else {
		data, err = os.ReadFile(string(f))
	}
	if err != nil {
		return nil, Usagef("plan: %w", err)
	}
	return data, nil
}

// Past refuses a plan that was made at a time to come.
func (f PlanFile) Past(a *App, made time.Time) error {
	if made.After(a.Now()) {
		return Usagef("plan %s: it was made at %s, which is yet to come: set the clocks right and check again",
			f, made.Format("2006-01-02T15:04:05Z"))
	}
	return nil
}

// Option is a flag as it is here, and as it was when a plan was made.
type Option struct {
	Flag         string
	Mine, Theirs any
}

// Agree refuses an option that was given, by flag, environment or file, and was
// another one when the plan was made.
func (f PlanFile) Agree(flags *pflag.FlagSet, options []Option) error {
	for _, o := range options {
		if flags.Changed(o.Flag) && !reflect.DeepEqual(o.Mine, o.Theirs) {
			return Usagef("--%s is %v here and was %v when plan %s was made: leave it out, or check again",
				o.Flag, display(o.Mine), display(o.Theirs), f)
		}
	}
	return nil
}

func display(option any) any {
	items, ok := option.([]string)
	if !ok {
		return option
	}
	if len(items) == 0 {
		return "not given"
	}
	return strings.Join(items, ",")
}
