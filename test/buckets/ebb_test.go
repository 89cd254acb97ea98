package buckets

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/registry"
	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// said is what a command line left behind.
type said struct {
	code     int
	out, err string
}

// shell runs Ebb's command line in this process, with a clock and a cache of
// its own. Credentials of S3 are in the process's environment: a test that has
// one does not run beside others.
type shell struct {
	storage string
	now     func() time.Time
	cache   string
}

// newShell is for a storage in a bucket, whose credentials it sets.
func newShell(t *testing.T, b objects.Bucket, root string) *shell {
	t.Helper()
	lonely(t)
	t.Setenv("AWS_ACCESS_KEY_ID", b.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", b.SecretKey)
	return &shell{storage: b.URL(root), now: time.Now, cache: t.TempDir()}
}

// lonely takes all that the machine or its user may know of AWS and Docker away.
func lonely(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "none"))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("DOCKER_CONFIG", home)
}

// ebb runs `ebb registry COMMAND ARGS --storage STORAGE`.
func (s *shell) ebb(t *testing.T, command string, args ...string) said {
	t.Helper()
	args = append([]string{"registry", command, "--storage", s.storage}, args...)
	if (command == "check" || command == "run") && !slices.Contains(args, "--cache") {
		args = append(args, "--cache", s.cache)
	}
	var out, err bytes.Buffer
	code := cli.Main(t.Context(), cli.Ebb(), cli.Process{
		Args: args, In: cli.Input{Reader: strings.NewReader("")},
		Out: cli.Output{Writer: &out}, Err: cli.Output{Writer: &err},
		Env:     func(string) (string, bool) { return "", false },
		Environ: func() []string { return nil },
		Now:     s.now,
	}, registry.Group())
	return said{code, out.String(), err.String()}
}

// must is ebb where all goes well.
func (s *shell) must(t *testing.T, command string, args ...string) said {
	t.Helper()
	got := s.ebb(t, command, args...)
	if got.code != 0 {
		t.Fatalf("%s %q: exit code %d: %s%s", command, args, got.code, got.err, got.out)
	}
	return got
}

// document reads what -o json wrote.
func document[T any](t *testing.T, text string) (d T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}
