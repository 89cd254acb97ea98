package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// list is a flag that holds many values.
type list interface{ IsList() }

// Configure gives every flag that the command line left out the value of the
// environment, else that of the file, which may be nil.
func (a *App) Configure(cmd *cobra.Command, file *File) error {
	a.given, a.from = map[string]bool{}, map[string]string{}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		a.given[f.Name] = f.Changed
		if failed == nil && !f.Changed && !notConfigurable(f.Name) {
			failed = a.fill(cmd, f, file)
		}
	})
	if failed == nil {
		a.doubtEnvironment(cmd.Root())
	}
	return failed
}

// notConfigurable are flags that only the command line has.
func notConfigurable(name string) bool {
	return name == "help" || name == "version" || name == "config"
}

// personal marks flags that are a person's word for one run: standing in a file
// or an environment they would be forgotten there, and answer for every run.
const personal = "ebb_personal"

// Personal lets only the command line give these flags.
func Personal(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, personal, nil) // fails only for a flag that is not there
	}
}

// IsPersonal tells whether only the command line may give a flag.
func IsPersonal(f *pflag.Flag) bool {
	_, marked := f.Annotations[personal]
	return marked
}

func errPersonal(from, flag string) error {
	return Usagef("%s is a person's word for one run: give --%s on the command line", from, flag)
}

func (a *App) fill(cmd *cobra.Command, f *pflag.Flag, file *File) error {
	_, isList := f.Value.(list)
	values, from := a.fromEnv(f.Name, isList)
	if values == nil && file != nil {
		var err error
		if values, from, err = file.take(f.Name, isList); err != nil {
			return err
		}
	}
	if values != nil && IsPersonal(f) {
		return errPersonal(from, f.Name)
	}
	a.from[f.Name] = from
	for _, value := range values {
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			return Usagef("%s: %w", from, reasonOf(err))
		}
	}
	return nil
}

func (a *App) fromEnv(flag string, isList bool) (values []string, from string) {
	name := EnvName(flag)
	value, _ := a.Env(name)
	if value == "" {
		return nil, ""
	}
	if isList {
		return splitList(value), name
	}
	return []string{value}, name
}

func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// reasonOf leaves out what pflag puts around a value's own error, which names
// a flag that nobody typed.
func reasonOf(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalid.Unwrap()
	}
	return err
}

// Given tells whether a flag stands on the command line itself.
func (a *App) Given(flag string) bool { return a.given[flag] }

// From is where a flag that does not stand on the command line has its value
// from, in words; empty: it has its default.
func (a *App) From(flag string) string { return a.from[flag] }

// FromEnvironment tells whether a flag has its value from the environment.
func (a *App) FromEnvironment(flag string) bool { return a.from[flag] == EnvName(flag) }

// ConfigPath is the configuration file that was asked for; empty: none.
func (a *App) ConfigPath() string {
	if a.Common.Config != "" {
		return a.Common.Config
	}
	path, _ := a.Env("EBB_CONFIG")
	return path
}
