package registry

import (
	"fmt"

	"github.com/spf13/pflag"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/report"
)

// writeFlags are those of the commands that write to a storage.
type writeFlags struct {
	registry cli.List
	offline  bool
	yes      bool
	confirm  string
	noLock   bool
	redis    string
}

func (f *writeFlags) add(flags *pflag.FlagSet, yes string) {
	f.registry.Kind = "URL"
	flags.Var(&f.registry, "registry", "a registry on this storage, which must prove that it is read-only, one for each replica")
	flags.BoolVar(&f.offline, "offline", false, "no registry runs on this storage, or it is read-only")
	flags.BoolVar(&f.yes, "yes", false, yes)
	flags.StringVar(&f.confirm, "confirm", "", "go over a safety limit; the store's `NAME` is the last part of its path")
	flags.BoolVar(&f.noLock, "no-lock", false, "take no lock: you say that nobody else writes to this storage")
	flags.StringVar(&f.redis, "flush-redis", "", "afterwards remove what the registry's cache remembers from the Redis at `URL`; nothing else in it is touched")
	cli.Personal(flags, "yes", "confirm")
}

// access is how the storage may be written to.
func (j *job) access(guards []*guard.Guard, f *writeFlags) app.Access {
	cache := j.storage.own != nil && j.storage.own.Upstream != ""
	return app.Access{Guards: guards, NoLock: f.noLock, PullThrough: cache}
}

// chooseGuards wants to hear who writes to the storage. The command line wins
// over a configuration that says something else.
func (j *job) chooseGuards(f *writeFlags, doing string) ([]*guard.Guard, error) {
	if err := j.checkRedis(f.redis); err != nil {
		return nil, err
	}
	urls, offline := f.registry.Items, f.offline
	if offline && len(urls) > 0 {
		switch {
		case j.Given("offline") && !j.Given("registry"):
			urls = nil
		case !j.Given("offline") && j.Given("registry"):
		default:
			return nil, cli.Usagef("--offline and --registry contradict each other: give one")
		}
	}
	if !offline && len(urls) == 0 {
		return nil, cli.Usagef("%s needs a registry that takes no writes: give --registry URL to prove it, or say --offline when none runs on this storage", doing)
	}
	var guards []*guard.Guard
	if offline && len(urls) == 0 && !j.Given("offline") {
		j.Note("%s is trusted: it says that no registry writes to this storage", j.From("offline"))
	}
	for _, address := range urls {
		g, err := guard.New(address)
		if err != nil {
			return nil, &cli.UsageError{Err: err}
		}
		guards = append(guards, g)
	}
	return guards, nil
}

// confirmed tells whether a person has named the store.
func (j *job) confirmed(name string) (bool, error) {
	if own := j.storage.Name; name != "" && name != own {
		return false, cli.Usagef("--confirm %s does not name this store: it is called %s", name, own)
	}
	return name != "", nil
}

// confirmation is what --confirm wants to hear.
func (j *job) confirmation() string { return report.ShellQuote(j.storage.Name) }

func unreleased(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnreleased, err)
}
