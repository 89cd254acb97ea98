package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ebb-io/ebb/internal/report"
)

// version is what the build says of itself.
type version struct {
	report.Kind
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; empty where it is not known
	Modified bool   `json:"modified"` // the source had changes beside the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the program's version",
		Example: app.Examples("", "version", "version -o json"),
		Args:    NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.Configure(cmd, nil); err != nil {
				return err
			}
			v := buildVersion()
			text := func() []byte { return []byte(v.text(app.Program.Name) + "\n") }
			return app.Print(func() any { return v }, text, text)
		},
	}
}

// addVersion makes a flag of the command. Cobra's own is written by a template,
// for which the linker would keep every method of the program.
func addVersion(root *cobra.Command, app *App) {
	wanted := root.Flags().Bool("version", false, "show the program's version")
	otherwise := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*wanted {
			return otherwise(cmd, args)
		}
		_, err := fmt.Fprintln(app.Out, buildVersion().text(app.Program.Name))
		return err
	}
}

// Version is this program's, as its build says.
func (a *App) Version() string { return buildVersion().Version }

func buildVersion() version {
	v := version{
		Kind:    report.Kind{APIVersion: report.APIVersion, Kind: "Version"},
		Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// text is the version in one line.
func (v version) text(program string) string {
	text := program + " " + v.Version
	if v.Revision != "" {
		text += fmt.Sprintf(" (%.12s)", v.Revision)
	}
	return text + " " + v.Go + " " + v.Platform
}
