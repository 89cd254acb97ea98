package registry

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/source/manifests"
	"github.com/ebb-io/ebb/internal/source/rules"
)

// job is a command's choices, checked and ready to plan with.
type job struct {
	*cli.App
	storage storage
	cache   string // a folder, off, or empty
	choices
	rules     *rules.Rules // nil: none are in force
	pins      []pin
	policy    policy.Policy
	progress  progress
	shown     *cli.Progress
	warnings  []string
	warned    bool
	saidEmpty bool   // the storage holds nothing at all, which was said
	rulesIn   string // what the owner rules stand in, for errors
}

// choices are what shapes a plan, as texts. Paths are absolute.
type choices struct {
	owners             []string
	ownerRules         []rules.Config
	keep               []string
	repository, except []string
}

// newJob reads all flags. Every error is a UsageError.
func newJob(a *cli.App, cmd *cobra.Command, f *planFlags) (*job, error) {
	j, err := readJob(a, cmd, f)
	if err != nil {
		return nil, err
	}
	return j, j.prepare()
}

// readJob reads all flags and leaves prepare for later.
func readJob(a *cli.App, cmd *cobra.Command, f *planFlags) (*job, error) {
	ownerRules, err := configure(a, cmd)
	if err != nil {
		return nil, err
	}
	j := &job{App: a, cache: f.cache, policy: f.policy, rulesIn: "configuration " + a.ConfigPath()}
	j.choices = choices{ownerRules: ownerRules, keep: slices.Clone(f.keep.Items), repository: f.repository.Items, except: f.exclude.Items}
	if f.location != "" {
		if j.storage, err = f.storage(a); err != nil {
			return nil, err
		}
	}
	if j.policy.Scope, err = scope(j.repository, j.except); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if err := j.readOwnerPaths(f.owners.Items); err != nil {
		return nil, err
	}
	return j, j.readKeepFiles(f.keepFrom.Items)
}

func (j *job) readOwnerPaths(paths []string) error {
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return cli.Usagef("owners: %w", err)
		}
		j.owners = append(j.owners, absolute)
	}
	return nil
}

func (j *job) readKeepFiles(paths []string) error {
	for _, path := range paths {
		texts, err := readPins(path)
		if err != nil {
			return err
		}
		j.keep = append(j.keep, texts...)
	}
	return nil
}

// prepare compiles the choices.
func (j *job) prepare() (err error) {
	if j.storage.name == "" {
		return errNoStorage()
	}
	if err := j.policy.Validate(); err != nil {
		return &cli.UsageError{Err: err}
	}
	if j.pins, err = parsePins(j.keep); err != nil {
		return &cli.UsageError{Err: err}
	}
	switch {
	case len(j.ownerRules) > 0 && len(j.owners) == 0:
		return cli.Usagef("%s: it has owner rules, and there is nothing to read objects from: give --owners PATH, or owners-from in the configuration", j.rulesIn)
	case len(j.ownerRules) > 0:
		if j.rules, err = rules.Compile(j.ownerRules); err != nil {
			return cli.Usagef("%s: %w", j.rulesIn, err)
		}
	case len(j.owners) > 0:
		j.ownerRules, j.rules = defaultRules(), rules.Default()
	}
	return nil
}

// readOwners is the app's Owners.
func (j *job) readOwners(context.Context) (refs.Set, error) {
	var set refs.Set
	if j.rules != nil {
		collector := rules.NewCollector(j.rules)
		if err := manifests.Load(j.owners, collector); err != nil {
			return refs.Set{}, err
		}
		set = collector.Set()
		j.warnings = collector.Warnings()
	}
	for _, p := range j.pins {
		set.References = append(set.References, p.references...)
	}
	return set, nil
}

func (j *job) request() app.Request {
	return app.Request{Owners: j.readOwners, Policy: j.policy, Now: j.Now()}
}

// options are the choices as documents name them.
func (j *job) options() report.Options {
	o := report.PolicyOptions(j.policy)
	o.Keep = append(o.Keep, j.keep...)
	o.Owners = append(o.Owners, j.owners...)
	for _, c := range j.ownerRules {
		o.OwnerRules = append(o.OwnerRules, ownerRule(c))
	}
	return o
}

// defaultRules are what rules.Default compiles.
func defaultRules() []rules.Config {
	return []rules.Config{{Preset: rules.Virtualization}, {Preset: rules.Workloads}}
}

func ownerRule(c rules.Config) report.OwnerRule {
	return report.OwnerRule{
		Preset: c.Preset, Hosts: append([]string{}, c.Hosts...), Name: c.Name, Resource: report.Resource(c.Resource),
		Repository: c.Repository, Tag: c.Tag, NeededWhen: c.NeededWhen,
	}
}

func ruleConfig(r report.OwnerRule) rules.Config {
	return rules.Config{
		Preset: r.Preset, Hosts: r.Hosts, Name: r.Name, Resource: rules.Resource(r.Resource),
		Repository: r.Repository, Tag: r.Tag, NeededWhen: r.NeededWhen,
	}
}

// warn says, once, what a person should know of a plan that was made.
func (j *job) warn(p *plan.Plan) {
	if j.warned {
		return
	}
	j.warned = true
	j.bare(len(p.Inventory().Repositories), p.Inventory().Contents.Blobs(), p.Inventory().Problems)
	switch {
	case j.rules == nil:
		j.Note("no owner rules are in force, so every tag is kept (see --owners)")
	case len(j.rules.Resources()) == 0:
		j.Note("the owner rules claim no repository, so every tag is kept")
	}
	j.warnOwners()
	for _, pin := range j.pins {
		if pin.keepsNothing(p) {
			j.Note("warning: --keep %s keeps nothing: the storage holds no such image", pin.text)
		}
	}
	j.warnScope(p.Inventory(), "--repository", j.policy.Scope.Include)
	j.warnScope(p.Inventory(), "--exclude", j.policy.Scope.Exclude)
}

// warnOwners shows a few warnings, and all when asked.
func (j *job) warnOwners() {
	const few = 3
	for i, text := range j.warnings {
		if i == few && !j.Common.Verbose {
			j.Note("warning: and %d more warnings, which -v shows", len(j.warnings)-few)
			return
		}
		j.Note("warning: %s", text)
	}
}

// warnScope doubts a pattern that matches nothing: a slip in --exclude would
// delete what a person means to keep.
func (j *job) warnScope(inv *inventory.Inventory, flag string, globs []policy.Glob) {
	for _, g := range globs {
		matches := false
		for i := range inv.Repositories {
			r := &inv.Repositories[i]
			for _, name := range append([]string{r.Name}, r.Aliases...) {
				matches = matches || g.Match(name)
			}
		}
		if !matches {
			j.Note("warning: %s %s matches no repository", flag, g)
		}
	}
}

func contains(items []string, item string) bool { return slices.Contains(items, item) }
