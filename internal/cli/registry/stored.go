package registry

import (
	"reflect"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

// readStored takes the options of a stored plan, and refuses any that was given
// besides and says otherwise. Every error is a UsageError.
func (r *run) readStored(cmd *cobra.Command) error {
	file := cli.PlanFile(r.flags.plan)
	data, err := file.Read(r.App)
	if err != nil {
		return err
	}
	if r.stored, err = report.ReadPlan(data); err != nil {
		return cli.Usagef("plan %s: %w", file, err)
	}
	if err := file.Past(r.App, r.stored.PlannedAt); err != nil {
		return err
	}
	if err := r.sameStorage(); err != nil {
		return err
	}
	if err := r.contradiction(cmd); err != nil {
		return err
	}
	return r.takeOptions()
}

// sameStorage takes the plan's storage where none is given, as it was named
// then: by the registry's own configuration, which says more than a URL.
func (r *run) sameStorage() error {
	theirs, todo := r.stored.Store, ""
	if r.storage.name == "" {
		address := theirs.URL
		if theirs.Config != "" {
			address = configScheme + theirs.Config
		}
		var err error
		if r.storage, err = parseStorage(address, r.flags.pace, variables(r.App)); err != nil {
			return cli.Usagef("plan %s: %w: give --storage", r.flags.plan, err)
		}
		todo = ": give --storage, with what it was then"
	}
	if !r.storage.is(theirs) {
		return cli.Usagef("plan %s was made for storage %s and not for %s%s", r.flags.plan, named(theirs), r.storage.name, todo)
	}
	return nil
}

// contradiction compares what was given, by flag, environment or file, with
// what the plan was made with.
func (r *run) contradiction(cmd *cobra.Command) error {
	mine, theirs := r.options(), r.stored.Options
	err := cli.PlanFile(r.flags.plan).Agree(cmd.Flags(), []cli.Option{
		{Flag: "min-age", Mine: mine.MinAge, Theirs: theirs.MinAge},
		{Flag: "upload-age", Mine: mine.UploadAge, Theirs: theirs.UploadAge},
		{Flag: "untagged-age", Mine: mine.UntaggedAge, Theirs: theirs.UntaggedAge},
		{Flag: "delete-untagged", Mine: mine.DeleteUntagged, Theirs: theirs.DeleteUntagged},
		{Flag: "max-delete-share", Mine: mine.MaxDeleteShare, Theirs: theirs.MaxDeleteShare},
		{Flag: "repository", Mine: mine.Repository, Theirs: theirs.Repository},
		{Flag: "exclude", Mine: mine.Exclude, Theirs: theirs.Exclude},
		{Flag: "owners", Mine: mine.Owners, Theirs: theirs.Owners},
		{Flag: "keep", Mine: mine.Keep, Theirs: theirs.Keep},
		{Flag: "keep-from", Mine: mine.Keep, Theirs: theirs.Keep},
	})
	if err != nil {
		return err
	}
	if len(r.ownerRules) > 0 && !reflect.DeepEqual(mine.OwnerRules, theirs.OwnerRules) {
		return cli.Usagef("the owner rules of the configuration are not those that plan %s was made with: check again", r.flags.plan)
	}
	return nil
}

func (r *run) takeOptions() error {
	o := r.stored.Options
	p, err := o.Policy()
	if err != nil {
		return cli.Usagef("plan %s: %w", r.flags.plan, err)
	}
	r.policy = p
	r.choices = choices{owners: o.Owners, keep: o.Keep, repository: o.Repository, except: o.Exclude}
	r.rulesIn = "plan " + r.flags.plan
	for _, rule := range o.OwnerRules {
		r.ownerRules = append(r.ownerRules, ruleConfig(rule))
	}
	return nil
}
