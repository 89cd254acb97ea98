package host

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// worlds is how many random hosts each law is tried on, unless the command
// line says otherwise.
const worlds = "100"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		if err := flag.Set("rapid.checks", worlds); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
