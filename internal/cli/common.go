package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/report"
)

// Common are the flags of every command.
type Common struct {
	Config    string
	Output    string
	NoHeaders bool
	Quiet     bool
	Verbose   bool
	Color     string
}

// The forms of output.
const (
	Table = "table"
	Wide  = "wide"
	JSON  = "json"
	YAML  = "yaml"
	Name  = "name"
)

func (c *Common) add(flags *pflag.FlagSet) {
	c.Output, c.Color = Table, "auto"
	flags.StringVarP(&c.Config, "config", "c", "", "configuration `FILE`; its keys are the names of flags")
	flags.VarP(&choice{&c.Output, []string{Table, Wide, JSON, YAML, Name}}, "output", "o", "form of the output: table, wide, json, yaml or name")
	flags.BoolVar(&c.NoHeaders, "no-headers", false, "tables without their first line")
	flags.BoolVarP(&c.Quiet, "quiet", "q", false, "only data on standard output, only errors on standard error")
	flags.BoolVarP(&c.Verbose, "verbose", "v", false, "more: what is kept, all rows of tables and all warnings")
	flags.Var(&choice{&c.Color, []string{"auto", "always", "never"}}, "color", "colours: auto, always or never")
}

// choice is a flag with a few possible values.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "FORM" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("%q is none of %s", s, strings.Join(c.of, ", "))
	}
	*c.value = s
	return nil
}

// View is how reports for people shall look on a stream.
func (a *App) View(to Output) report.View {
	v := report.View{
		Color: a.colored(to), NoHeaders: a.Common.NoHeaders, Quiet: a.Common.Quiet,
		Verbose: a.Common.Verbose, Wide: a.Common.Output == Wide,
	}
	if to.Terminal && to.Width != nil {
		v.Width = to.Width()
	}
	return v
}

func (a *App) colored(to Output) bool {
	switch a.Common.Color {
	case "always":
		return true
	case "never":
		return false
	}
	none, _ := a.Env("NO_COLOR")
	term, _ := a.Env("TERM")
	return to.Terminal && none == "" && term != "dumb"
}

// Print writes a document in the form that was asked for: as a text that only
// tables and names have, or as JSON or YAML.
func (a *App) Print(document func() any, text, names func() []byte) error {
	var data []byte
	var err error
	switch a.Common.Output {
	case JSON:
		data, err = report.JSON(document())
	case YAML:
		data, err = report.YAML(document())
	case Name:
		data = names()
	default:
		data = text()
	}
	if err != nil {
		return err
	}
	_, err = a.Out.Write(data)
	return err
}
