// Package demo is `ebb demo`: it shows the whole job on a registry of its own.
//
// It runs the real commands against a real registry in the process, and proves
// their claims by what a client can pull and by the sizes on disk. It refuses
// to work on any folder that holds something already.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/demo"
	"github.com/ebb-io/ebb/internal/demo/server"
	"github.com/ebb-io/ebb/internal/report"
)

// Group is the demo's part of the command line. Its steps run with groups.
func Group(groups ...cli.Group) cli.Group {
	return cli.Group{
		Command: func(app *cli.App) *cobra.Command { return command(app, groups) },
		Code:    func(error) (int, bool) { return 0, false },
	}
}

func command(app *cli.App, groups []cli.Group) *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole job on a small registry made for it",
		Example: `  ebb demo
  ebb demo --keep /tmp/ebb-demo`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), app, groups, keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "leave everything in `DIR`, which must be empty or new")
	return cmd
}

// show runs the demo in a folder that goes afterwards, or in one that stays.
func show(ctx context.Context, app *cli.App, groups []cli.Group, keep string) error {
	dir, err := folder(keep)
	if err != nil {
		return err
	}
	d := &demonstration{app: app, groups: groups, dir: dir}
	err = d.run(ctx)
	switch {
	case keep == "":
		return firstOf(err, os.RemoveAll(dir))
	case err != nil:
		return err
	}
	return d.leave(ctx)
}

func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "ebb-demo-")
	}
	if err := os.MkdirAll(keep, 0o755); err != nil {
		return "", fmt.Errorf("demo folder: %w", err)
	}
	entries, err := os.ReadDir(keep)
	if err != nil {
		return "", fmt.Errorf("demo folder: %w", err)
	}
	if len(entries) > 0 {
		return "", cli.Usagef("demo folder %s is not empty: name a new one", keep)
	}
	return filepath.Abs(keep)
}

// demonstration is one showing.
type demonstration struct {
	app    *cli.App
	groups []cli.Group
	dir    string
	world  demo.World
	addr   string // of the registry, the same after each restart
}

func (d *demonstration) path(name string) string { return filepath.Join(d.dir, name) }

// age is how long ago the demo's images were pushed: more than any minimum age.
const age = 60 * 24 * time.Hour

func (d *demonstration) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.fill, d.look, d.reclaim, d.prove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill pushes the world to a registry that takes writes.
func (d *demonstration) fill(ctx context.Context) error {
	d.title("A registry is filled over HTTP: disk images with owners, an application, signatures")
	if err := d.populate(ctx); err != nil {
		return err
	}
	d.say("%d images to keep and %d to lose, besides their parts; two months pass, and some owners are deleted:",
		len(d.world.Kept), len(d.world.Lost))
	d.say("  kubectl get clustervirtualimages,virtualimages,virtualdisks,pods -A -o yaml > owners.yaml")
	return firstOf(
		os.WriteFile(d.path("before.yaml"), d.world.Before, 0o644),
		os.WriteFile(d.path("owners.yaml"), d.world.After, 0o644))
}

func (d *demonstration) populate(ctx context.Context) error {
	err := d.serve(ctx, server.Options{}, func() (err error) {
		d.world, err = demo.Populate(ctx, d.addr)
		return err
	})
	return firstOf(err, demo.Backdate(d.path("registry"), d.app.Now().Add(-age)))
}

// leave fills the registry anew, to play with, beside the one that was cleaned.
func (d *demonstration) leave(ctx context.Context) error {
	if err := os.Rename(d.path("registry"), d.path("cleaned")); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := d.populate(ctx); err != nil {
		return err
	}
	d.say("")
	d.say("Kept in %s, cleaned/ as it is now and registry/ as it was before:", d.dir)
	d.say("  cd %s", d.dir)
	d.say("  ebb registry check --storage registry --owners owners.yaml")
	d.say("  ebb registry run --storage registry --owners owners.yaml --offline")
	return nil
}

// look shows what check and explain say.
func (d *demonstration) look(ctx context.Context) error {
	d.title("What can be reclaimed, and why? Nothing is touched.")
	if err := d.ebb(ctx, "registry", "check"); err != nil {
		return err
	}
	d.title("Why does this one stay? It has no tag.")
	if err := d.ebb(ctx, "registry", "explain", d.world.Child.Repository+"@"+d.world.Child.Digest); err != nil {
		return err
	}
	d.title("And why does this one go?")
	return d.ebb(ctx, "registry", "explain", d.world.Lost[0].String())
}

// reclaim runs against a registry that serves read-only.
func (d *demonstration) reclaim(ctx context.Context) error {
	if err := d.storePlan(ctx); err != nil {
		return err
	}
	d.title("The registry goes on read-only, and the plan is carried out.")
	before, err := contentSize(d.path("registry"))
	if err != nil {
		return err
	}
	err = d.serve(ctx, server.Options{ReadOnly: true}, func() error {
		return d.ebb(ctx, "registry", "run", "--plan", d.path("plan.json"), "--registry", "http://"+d.addr, "--yes")
	})
	if err != nil {
		return err
	}
	after, err := contentSize(d.path("registry"))
	if err != nil {
		return err
	}
	predicted, err := d.predicted()
	if err != nil {
		return err
	}
	d.title("Was it true?")
	d.say("predicted by check       %12d bytes", predicted)
	d.say("gone from the disk       %12d bytes of content", before-after)
	if before-after != predicted {
		return fmt.Errorf("demo: check predicted %d bytes, %d are gone", predicted, before-after)
	}
	return nil
}

// prove verifies the storage, and pulls from a registry that was started anew.
func (d *demonstration) prove(ctx context.Context) error {
	if err := d.ebb(ctx, "registry", "verify", "--deep"); err != nil {
		return err
	}
	err := d.serve(ctx, server.Options{}, func() error { return d.world.Verify(ctx, d.addr) })
	if err != nil {
		return err
	}
	d.say("")
	d.say("All %d kept images were pulled from a fresh registry, every digest verified;", len(d.world.Kept))
	d.say("none of the %d lost ones is there.", len(d.world.Lost))
	return nil
}

// serve runs a registry on the demo's storage while f works.
func (d *demonstration) serve(ctx context.Context, options server.Options, f func() error) error {
	options.Addr = d.addr
	s, err := server.Start(ctx, d.path("registry"), options)
	if err != nil {
		return err
	}
	d.addr = s.Addr()
	return firstOf(f(), s.Close())
}

// ebb shows a command and runs it, on the demo's storage and owners.
func (d *demonstration) ebb(ctx context.Context, args ...string) error {
	d.say("$ ebb %s --storage registry%s", strings.ReplaceAll(strings.Join(args, " "), d.dir+"/", ""), d.shownOwners(args))
	return d.main(ctx, d.app.Process, args)
}

func (d *demonstration) main(ctx context.Context, p cli.Process, args []string) error {
	p.Args = append(args, "--storage", d.path("registry"))
	if d.takesOwners(args) {
		p.Args = append(p.Args, "--owners", d.path("owners.yaml"))
	}
	p.Env = d.environment
	if code := cli.Main(ctx, d.app.Program, p, d.groups...); code != 0 {
		return fmt.Errorf("demo: ebb %s ended with %d", strings.Join(args, " "), code)
	}
	return nil
}

// environment hides the user's settings for Ebb: the demo is always the same.
func (d *demonstration) environment(name string) (string, bool) {
	if strings.HasPrefix(name, "EBB_") {
		return "", false
	}
	return d.app.Env(name)
}

func (d *demonstration) takesOwners(args []string) bool {
	return args[1] != "verify" && !strings.Contains(strings.Join(args, " "), "--plan")
}

func (d *demonstration) shownOwners(args []string) string {
	if d.takesOwners(args) {
		return " --owners owners.yaml"
	}
	return ""
}

func (d *demonstration) storePlan(ctx context.Context) error {
	file, err := os.Create(d.path("plan.json"))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	p := d.app.Process
	p.Out = cli.Output{Writer: file}
	return firstOf(d.main(ctx, p, []string{"registry", "check", "-o", "json"}), file.Close())
}

func (d *demonstration) predicted() (int64, error) {
	data, err := os.ReadFile(d.path("plan.json"))
	if err != nil {
		return 0, fmt.Errorf("demo: %w", err)
	}
	var stored report.Plan
	if err := json.Unmarshal(data, &stored); err != nil {
		return 0, fmt.Errorf("demo: plan.json: %w", err)
	}
	return stored.Totals.ReclaimableBytes, nil
}

// contentSize adds up the blobs and uploads of a registry on disk, in bytes.
func contentSize(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || (entry.Name() != "data" && !strings.Contains(path, "/_uploads/")) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

func (d *demonstration) title(text string) { d.say("\n=== %s", text) }

// say writes a line; a reader that went away is the command line's business.
func (d *demonstration) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.app.Out, format+"\n", args...)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
