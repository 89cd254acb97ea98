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

// memory is where a disk is not waited for: nothing here outlives its test.
const memory = "/dev/shm"

func TestMain(m *testing.M) {
	flag.Parse()
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		_ = os.Setenv("TMPDIR", memory) // else the usual folder has to do
	}
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
