package registry

import (
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
)

// readStored takes the options of a stored plan, and refuses any that was given
// besides and says otherwise. Every error is a UsageError.
func (r *run) readStored(cmd *cobra.Command) error {
	data, err := r.readPlanFile()
	if err != nil {
		return cli.Usagef("plan: %w", err)
	}
	if r.stored, err = report.ReadPlan(data); err != nil {
		return cli.Usagef("plan %s: %w", r.flags.plan, err)
	}
	if r.stored.PlannedAt.After(r.Now()) {
		return cli.Usagef("plan %s: it was made at %s, which is yet to come: set the clocks right and check again",
			r.flags.plan, r.stored.PlannedAt.Format("2006-01-02T15:04:05Z"))
	}
	if err := r.sameStorage(); err != nil {
		return err
	}
	if err := r.contradiction(cmd); err != nil {
		return err
	}
	return r.takeOptions()
}

func (r *run) readPlanFile() ([]byte, error) {
	if r.flags.plan == "-" {
		return io.ReadAll(r.In)
	}
	return os.ReadFile(r.flags.plan)
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
	for _, o := range []struct {
		flag         string
		mine, theirs any
	}{
		{"min-age", mine.MinAge, theirs.MinAge},
		{"upload-age", mine.UploadAge, theirs.UploadAge},
		{"untagged-age", mine.UntaggedAge, theirs.UntaggedAge},
		{"delete-untagged", mine.DeleteUntagged, theirs.DeleteUntagged},
		{"max-delete-share", mine.MaxDeleteShare, theirs.MaxDeleteShare},
		{"repository", mine.Repository, theirs.Repository},
		{"exclude", mine.Exclude, theirs.Exclude},
		{"owners", mine.Owners, theirs.Owners},
		{"keep", mine.Keep, theirs.Keep},
	} {
		given := cmd.Flags().Changed(o.flag) || o.flag == "keep" && cmd.Flags().Changed("keep-from")
		if given && !reflect.DeepEqual(o.mine, o.theirs) {
			return cli.Usagef("--%s is %v here and was %v when plan %s was made: leave it out, or check again",
				o.flag, display(o.mine), display(o.theirs), r.flags.plan)
		}
	}
	if len(r.ownerRules) > 0 && !reflect.DeepEqual(mine.OwnerRules, theirs.OwnerRules) {
		return cli.Usagef("the owner rules of the configuration are not those that plan %s was made with: check again", r.flags.plan)
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
