package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/usage"
)

// usageFlags are what is shown, and how much of it.
type usageFlags struct {
	planFlags
	by  usage.By
	top int
}

func usageCommand(a *cli.App) *cobra.Command {
	f := usageFlags{by: usage.Repository, top: 10}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show who takes the space; nothing is written",
		Example: `  ebb registry usage --storage /var/lib/registry
  ebb registry usage --storage /var/lib/registry --owners owners.yaml \
      --by namespace
  ebb registry usage --storage /var/lib/registry --by media-type --top all`,
		Long: `EXCLUSIVE is the size of the blobs that one group alone needs: what nothing
would need if all of the group went. SHARED is its part of the blobs that
several groups need: of one that n groups need, each bears 1/n. Over all
groups, with what no image needs as one of its own, they add up to the size of
all blobs, to the byte. RECLAIMABLE is a group's part, split in the same way,
of the blobs that a run with the same flags deletes. Uploads are no blobs and
stand apart.

With -o wide also SIZE: all blobs that a group needs, each counted once.

Owner, kind and namespace are those of the object that an image's repository
belongs to by the owner rules, living or not. A media type is that of an
image's manifest; it tells images from indexes.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := newJob(a, cmd, &f.planFlags)
			if err != nil {
				return err
			}
			return j.usage(cmd, f)
		},
	}
	cmd.Flags().Var(grouping{&f.by}, "by", "what to group by: repository, owner, kind, namespace or media-type")
	cmd.Flags().Var(top{&f.top}, "top", "how many groups, images and layers to list; all or 0: all of them")
	f.add(cmd.Flags())
	return cmd
}

func (j *job) usage(cmd *cobra.Command, f usageFlags) error {
	p, err := j.plan(cmd.Context())
	if err != nil {
		return err
	}
	problems := p.Inventory().Problems
	d := report.NewUsage(usage.Of(p, f.by, f.top), p.Now, problems, j.options(), j.storage.Store)
	text := func() []byte { return d.Text(j.View(j.Out)) }
	if err := j.Print(func() any { return d }, text, d.Names); err != nil {
		return err
	}
	if inventory.Damaged(problems) {
		return damaged(problems, seeVerify)
	}
	return nil
}

// grouping is a flag that says what to group by.
type grouping struct{ value *usage.By }

func (g grouping) String() string {
	if g.value == nil {
		return ""
	}
	return string(*g.value)
}

func (g grouping) Type() string { return "WHAT" }

func (g grouping) Set(s string) error {
	known := []usage.By{usage.Repository, usage.Owner, usage.Kind, usage.Namespace, usage.MediaType}
	if !slices.Contains(known, usage.By(s)) {
		return fmt.Errorf("%q is none of repository, owner, kind, namespace, media-type", s)
	}
	*g.value = usage.By(s)
	return nil
}

// top is a flag that says how many to list. All of them is 0.
type top struct{ value *int }

func (t top) String() string {
	if t.value == nil {
		return ""
	}
	return strconv.Itoa(*t.value)
}

func (t top) Type() string { return "N" }

func (t top) Set(s string) error {
	if strings.EqualFold(s, "all") {
		*t.value = 0
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is no number to list: want 10, or all", s)
	}
	*t.value = int(n)
	return nil
}
