package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
	"github.com/ebb-io/ebb/internal/source/pins"
)

// job is a command's choices, checked and ready to plan with.
type job struct {
	*cli.App
	where engineFlags
	choices
	policy   policy.Host
	quietFor time.Duration
	// preview says that nobody named a pin, so that a check shows what the
	// running containers would pin.
	preview bool
}

// choices are where pins come from. Paths are absolute.
type choices struct {
	pin, pinsFrom, compose []string
	pinRunning             bool
}

// none tells whether nothing is pinned.
func (c choices) none() bool {
	return len(c.pin)+len(c.pinsFrom)+len(c.compose) == 0 && !c.pinRunning
}

// newJob reads all flags. Every error is a UsageError.
func newJob(a *cli.App, cmd *cobra.Command, f *planFlags) (*job, error) {
	if err := configure(a, cmd); err != nil {
		return nil, err
	}
	if err := f.check(a); err != nil {
		return nil, err
	}
	j := &job{App: a, where: f.engineFlags, policy: f.policy, quietFor: f.quietFor}
	j.choices = choices{pin: slices.Clone(f.pin.Items), pinRunning: f.pinRunning}
	var err error
	if j.pinsFrom, err = absolute("pins-from", f.pinsFrom.Items, ""); err != nil {
		return nil, err
	}
	if j.compose, err = absolute("compose", f.compose.Items, string(filepath.ListSeparator)); err != nil {
		return nil, err
	}
	for _, text := range f.keep.Items {
		g, err := policy.ParseGlob(text)
		if err != nil {
			return nil, &cli.UsageError{Err: err}
		}
		j.policy.Keep = append(j.policy.Keep, g)
	}
	if err := j.policy.Validate(); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	// A file that can not be read now is the pass's own affair: a watch tries again.
	if _, err := j.namedPins(); err != nil && !errors.Is(err, pins.ErrRead) {
		return nil, &cli.UsageError{Err: err}
	}
	return j, nil
}

// configure fills a command's flags from the environment and the configuration
// file.
func configure(a *cli.App, cmd *cobra.Command) error {
	file, err := a.OpenConfig(cmd)
	if err != nil {
		return err
	}
	return a.Configure(cmd, file)
}

// absolute makes paths independent of the folder; separated, an item may hold
// several.
func absolute(flag string, items []string, separator string) ([]string, error) {
	var found []string
	for _, item := range items {
		parts := []string{item}
		if separator != "" {
			parts = strings.Split(item, separator)
		}
		for i, part := range parts {
			path, err := filepath.Abs(part)
			if err != nil || part == "" || part == "-" {
				return nil, cli.Usagef("--%s %q: want the path of a file: each pass reads it anew", flag, item)
			}
			parts[i] = path
		}
		found = append(found, strings.Join(parts, separator))
	}
	return found, nil
}

// readPins is the app's Pins: everything is read anew at each pass.
func (j *job) readPins(_ context.Context, seen *engine.Snapshot, remembered *journal.Record) (pin.Set, error) {
	set, err := j.namedPins()
	if err != nil {
		return pin.Set{}, err
	}
	if j.pinRunning || j.preview {
		set = pins.Combine(set, pins.Running(seen, remembered, j.environment()))
	}
	return set, nil
}

// namedPins are those that a person wrote.
func (j *job) namedPins() (pin.Set, error) {
	set, err := pins.Args(j.pin, "--pin")
	if err != nil {
		return pin.Set{}, err
	}
	environment := j.environment()
	for _, path := range j.pinsFrom {
		more, err := pins.File(path)
		if err != nil {
			return pin.Set{}, err
		}
		set = pins.Combine(set, more)
	}
	for _, files := range j.compose {
		more, err := pins.Compose(pins.Stack{Files: filepath.SplitList(files), Environment: environment})
		if err != nil {
			return pin.Set{}, err
		}
		set = pins.Combine(set, more)
	}
	return set, nil
}

// environment is what compose looks variables up in.
func (j *job) environment() map[string]string {
	variables := map[string]string{}
	if j.Environ == nil {
		return variables
	}
	for _, entry := range j.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok {
			variables[name] = value
		}
	}
	return variables
}

func (j *job) request() app.Request {
	return app.Request{Pins: j.readPins, Policy: j.policy, Clock: j.Now}
}

// options are the choices as documents name them.
func (j *job) options() report.HostOptions {
	o := report.HostPolicyOptions(j.policy, j.quietFor)
	o.Pin = append(o.Pin, j.pin...)
	o.PinsFrom = append(o.PinsFrom, j.pinsFrom...)
	o.Compose = append(o.Compose, j.compose...)
	o.PinRunning = j.pinRunning || j.preview
	return o
}

// document is a pass as reports know it.
func (j *job) document(p *app.Pass) report.HostPass {
	return report.HostPass{Plan: p.Plan, Record: p.Record, Options: j.options(), Warnings: warnings(p)}
}

// warn says what a person should know of a pass: a few warnings, and all when
// asked.
func (j *job) warn(p *app.Pass) {
	const few = 3
	all := warnings(p)
	for i, text := range all {
		if i == few && !j.Common.Verbose {
			j.Note("warning: and %d more warnings, which -v shows", len(all)-few)
			break
		}
		j.Note("warning: %s", text)
	}
	for _, glob := range j.policy.Keep { // a slip in it would delete what a person means to keep
		matched := func(img engine.Image) bool { _, ok := retention.Matched(&img, glob); return ok }
		if !slices.ContainsFunc(p.Snapshot.Images, matched) {
			j.Note("warning: --keep %s matches no image", glob)
		}
	}
}

// warnings are what a pass has to say beside its plan.
func warnings(p *app.Pass) []string {
	var texts []string
	if p.Lost != nil {
		texts = append(texts, "what was remembered is lost, so that every image counts as new: "+oneLine(p.Lost))
	}
	if p.Forgot != nil {
		texts = append(texts, "what was seen can not be remembered: "+oneLine(p.Forgot))
	}
	if p.Unseen != nil {
		texts = append(texts, oneLine(p.Unseen))
	}
	texts = append(texts, strangers(p.Plan)...)
	for _, w := range p.Pins.Warnings {
		texts = append(texts, string(w))
	}
	return texts
}

// strangers doubts a pin of whose repository there is no image at all: it may be
// a slip, and what was meant would have no pin.
func strangers(p *retention.Plan) []string {
	var present, texts []string
	for i := range p.Decisions {
		for _, n := range p.Decisions[i].Image.Names {
			present = append(present, image.FamiliarRepository(n.Repository))
		}
	}
	for i := range p.Repositories {
		r := &p.Repositories[i]
		claims := slices.IndexFunc(r.Pins, func(p pin.Pin) bool { return !p.Passive })
		if r.Images > 0 || r.Skipped == nil || claims < 0 {
			continue
		}
		name := image.FamiliarRepository(r.Name)
		texts = append(texts, fmt.Sprintf("no image of %s is here, which %s pins%s",
			name, r.Pins[claims].From, didYouMean(name, present, min(len(name)/3, 3))))
	}
	return texts
}
