package host

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/source/pins"
)

// engineFlags say which engine is meant, and where Ebb remembers what it saw.
type engineFlags struct {
	host    string
	context string
	state   string
}

func (f *engineFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.host, "host", "H", "", "the engine's `URL`, such as unix:///var/run/docker.sock; by default as docker itself finds it")
	flags.StringVar(&f.context, "context", "", "the engine of docker's context of this `NAME`")
	flags.StringVar(&f.state, "state", "", "remember in `DIR` what was seen, used, pinned and deleted; by default /var/lib/ebb, or below ~/.local/state for another user than root")
}

// planFlags are the flags that shape a plan.
type planFlags struct {
	engineFlags
	pin        cli.List
	pinsFrom   cli.List
	compose    cli.List
	pinRunning bool
	keep       cli.List
	policy     policy.Host // but for what keep says
	quietFor   time.Duration
}

// add adds them to a command, with completion of names as the engine has them.
func (f *planFlags) add(a *cli.App, cmd *cobra.Command) {
	f.policy = policy.DefaultHost()
	f.pin = cli.List{Parse: checkPin, Commas: true, Kind: "IMAGE"}
	f.pinsFrom.Kind, f.compose.Kind = "FILE", "FILE"
	f.keep = cli.List{Parse: cli.CheckGlob, Commas: true, Kind: "PATTERN"}
	flags := cmd.Flags()

	f.engineFlags.add(flags)
	flags.Var(&f.pin, "pin", "an image that this host is meant to run, such as traefik:v3.1.2")
	flags.Var(&f.pinsFrom, "pins-from", "a file that lists images to pin, one a line")
	flags.Var(&f.compose, "compose", "a stack's compose file, whose images are pins; a colon stands between files that are merged")
	flags.BoolVar(&f.pinRunning, "pin-running", false, "the images of running containers are pins, and those of stacks that are down stay")
	flags.Var(&f.keep, "keep", "keep images with such a name: * stands for anything within a part of a name, ** for anything")
	flags.Var(number{&f.policy.KeepPrevious, ""}, "keep-previous", "how many stable versions below each pin stay")
	flags.Var(number{&f.policy.KeepNewer, report.AllNewer}, "keep-newer", "how many versions above each pin stay")
	flags.Var(cli.Age{Value: &f.policy.MinAge}, "min-age", "keep what has been here for less")
	flags.Var(cli.Age{Value: &f.policy.UnusedFor}, "unused-for", "keep what was used or pinned within that time")
	flags.BoolVar(&f.policy.RequireHealthy, "require-healthy", false, "leave a repository alone unless its pinned container runs and is healthy")
	flags.Var(cli.Age{Value: &f.quietFor}, "quiet-for", "refuse to delete unless nothing was pulled or built for that long")
	flags.Var(number{&f.policy.MaxDeletes, report.NoLimit}, "max-deletes", "delete at most so many images at once, the oldest versions first")
	flags.Lookup("max-deletes").DefValue = "no limit"
	flags.Var(cli.Share{Value: &f.policy.MaxDeleteShare}, "max-delete-share", "refuse to delete more of all images")
	for _, name := range []string{"pin", "keep"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeImages(a, &f.engineFlags)) // fails only for a flag that is not there
	}
}

// number is a flag that holds a number, or a word for one that limits nothing.
type number struct {
	value     *int
	unlimited string // empty: it always limits
}

func (n number) String() string {
	if n.value == nil { // pflag asks an empty one whether a default is zero
		return ""
	}
	return report.Limit(*n.value, n.unlimited)
}

func (n number) Type() string { return "N" }

func (n number) Set(s string) (err error) {
	*n.value, err = report.ParseLimit(s, n.unlimited)
	return err
}

// checkPin is the error of a pin that is none.
func checkPin(s string) error {
	_, err := pins.Parse(s)
	return err
}
