package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
)

func explainCommand(a *cli.App) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "explain IMAGE",
		Short: "Show why an image is kept or would be deleted; no image is touched",
		Example: a.Examples(group,
			"explain traefik",
			"explain traefik:v2.11.0 --pins-from pins.txt",
			"explain sha256:1be94b7f --pin-running"),
		Long: `IMAGE is a repository, a name as the engine lists it, or an ID. Eight digits of
an ID are enough when no other begins with them. Without a pin it says what the
running containers would pin.`,
		Args: oneImage,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := newJob(a, cmd, &flags)
			if err != nil {
				return err
			}
			return j.explain(cmd, args[0])
		},
		ValidArgsFunction: completeImages(a, &flags.engineFlags),
	}
	flags.add(a, cmd)
	return cmd
}

func oneImage(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] != "" {
		return nil
	}
	return cli.Usagef("want one image, such as traefik:v3.1.2 (see %s --help)", cmd.CommandPath())
}

func (j *job) explain(cmd *cobra.Command, query string) error {
	j.preview = j.none()
	pass, err := j.plan(cmd.Context())
	if err != nil {
		return err
	}
	found := find(pass.Plan, query)
	if len(found) == 0 {
		return errNoImage(pass, query)
	}
	e := report.NewHostExplanation(j.document(pass), query, found)
	return j.Print(func() any { return e }, func() []byte { return e.Text(j.View(j.Out)) }, e.IDs)
}

// fewestDigits is how many digits of an ID are enough.
const fewestDigits = 8

// find is every image that goes by a name, an ID or its beginning; else every
// one of a repository.
func find(p *retention.Plan, query string) []*retention.Decision {
	name, err := image.ParseName(query)
	byID := strings.TrimPrefix(query, "sha256:")
	var named, ofRepository []*retention.Decision
	for i := range p.Decisions {
		d := &p.Decisions[i]
		switch {
		case len(byID) >= fewestDigits && strings.HasPrefix(d.Image.ID.Hex(), byID), err == nil && goesBy(d.Image, name):
			named = append(named, d)
		case err == nil && name.Tag == "" && !name.Digested && of(d, name.Repository):
			ofRepository = append(ofRepository, d)
		}
	}
	if len(named) > 0 {
		return named
	}
	return ofRepository
}

// goesBy tells whether an image bears a name, by tag or by digest.
func goesBy(img *engine.Image, name image.Name) bool {
	if name.Digested {
		name.Tag = "" // no engine lists both
	}
	return slices.Contains(img.Names, name) || slices.Contains(img.Digests, name)
}

// of tells whether an image has to do with a repository.
func of(d *retention.Decision, repository string) bool {
	if d.Repository == repository {
		return true
	}
	isOf := func(n image.Name) bool { return n.Repository == repository }
	return slices.ContainsFunc(d.Image.Names, isOf) || slices.ContainsFunc(d.Image.Digests, isOf)
}

// errNoImage tells what became of an image that Ebb deleted, else names what is
// called almost so.
func errNoImage(p *app.Pass, query string) error {
	missing := fmt.Sprintf("engine %s holds no image %q", cmp.Or(p.Plan.Engine.Name, p.Plan.Engine.Host), query)
	if d := lastDeletion(p.Record.Deletions, query); d != nil {
		return cli.Usagef("%s: %s", missing, report.DeletionText(*d))
	}
	var names []string
	for i := range p.Plan.Decisions {
		for _, n := range p.Plan.Decisions[i].Image.Names {
			names = append(names, n.Familiar(), image.FamiliarRepository(n.Repository))
		}
	}
	return cli.Usagef("%s%s", missing, didYouMean(query, names, 3))
}

// didYouMean asks of names that differ in at most so many letters.
func didYouMean(query string, names []string, most int) string {
	slices.Sort(names)
	near := cli.Nearest(query, slices.Compact(names), most)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", strings.Join(near, " or "))
}

// lastDeletion is the last one of an image of that name or digest, or whose ID
// begins so; nil: there is none.
func lastDeletion(deletions []journal.Deletion, query string) *journal.Deletion {
	name, err := image.ParseName(query)
	if name.Digested {
		name.Tag = ""
	}
	byID := strings.TrimPrefix(query, "sha256:")
	for i := len(deletions) - 1; i >= 0; i-- {
		d := &deletions[i]
		named := err == nil && (slices.Contains(d.Names, name.String()) || slices.Contains(d.Digests, name.String()))
		if named || len(byID) >= fewestDigits && strings.HasPrefix(d.ID.Hex(), byID) {
			return d
		}
	}
	return nil
}
