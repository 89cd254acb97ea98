package engines

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// The host of the benchmark: 1,000 images in stacks of ten repositories each,
// and 200 containers.
const (
	stacks       = 10
	repositories = 10 // of a stack
	versions     = 10 // of a repository, the last of which is pinned
	containers   = 2  // of a repository: of its pin, and of the one before
)

func repositoryName(stack, repository int) string {
	return fmt.Sprintf("stack%d/app%d", stack, repository)
}

// BenchmarkHost takes turns on one engine: a check against Docker's own prune
// that finds nothing old enough and against its list of images, and a run
// against docker rmi of as many images, each of a stack of its own.
func BenchmarkHost(b *testing.B) {
	for _, kind := range []engine.StoreKind{engine.GraphDriver, engine.Containerd} {
		b.Run(string(kind), func(b *testing.B) {
			e := engines.Start(b, kind)
			fill(b, e)
			for b.Loop() {
				compare(b, e)
			}
		})
	}
}

func fill(b *testing.B, e *engines.Engine) {
	b.Helper()
	now := v1.Time{Time: time.Now()}
	for stack := range stacks {
		images := map[string]v1.Image{}
		for r := range repositories {
			for v := range versions {
				name := fmt.Sprintf("%s:1.%d", repositoryName(stack, r), v)
				img, err := mutate.CreatedAt(engines.Image(b, "base", name), now) // prune goes by when an image was built
				if err != nil {
					b.Fatal(err)
				}
				images[name] = img
			}
		}
		e.LoadAll(b, images)
		for r := range repositories {
			for c := range containers {
				e.Create(b, fmt.Sprintf("s%d-r%d-c%d", stack, r, c), fmt.Sprintf("%s:1.%d", repositoryName(stack, r), versions-1-c))
			}
		}
	}
}

// compare measures everybody in turns.
func compare(b *testing.B, e *engines.Engine) {
	b.Helper()
	host := newEbb(b, e)
	docker := func(args ...string) *exec.Cmd {
		return exec.Command("docker", append([]string{"--host", e.Host()}, args...)...)
	}
	var everything []string
	for stack := range stacks {
		everything = append(everything, pinsOf(stack)...)
	}
	times := map[string][]time.Duration{}
	measure := func(name string, cmd *exec.Cmd) { times[name] = append(times[name], took(b, cmd)) }
	for turn := range stacks / 2 {
		measure("check", host.command(b.Context(), b, append([]string{"check"}, everything...)...))
		measure("prune", docker("image", "prune", "--all", "--force", "--filter", "until=24h"))
		measure("images", docker("images", "--quiet"))
		measure("run", host.command(b.Context(), b, append([]string{"run", "--yes", "--min-age", "0s"}, pinsOf(2*turn)...)...))
		measure("rmi", docker(append([]string{"rmi"}, garbageOf(2*turn+1)...)...))
	}
	for _, row := range [][2]string{{"check", "prune"}, {"check", "images"}, {"run", "rmi"}} {
		mine, theirs := median(times[row[0]]), median(times[row[1]])
		b.Logf("ebb-host %s: %s, docker %s: %s, ratio %.2f", row[0], mine, row[1], theirs, float64(mine)/float64(theirs))
	}
	left := stacks * repositories * 2
	if got := len(e.Names(b)); got != left {
		b.Fatalf("%d images are left, want %d: not everybody did the same", got, left)
	}
}

func pinsOf(stack int) []string {
	var args []string
	for r := range repositories {
		args = append(args, "--pin", fmt.Sprintf("%s:1.%d", repositoryName(stack, r), versions-1))
	}
	return args
}

// garbageOf is what a run with the stack's pins deletes: all but the pin and
// one step back.
func garbageOf(stack int) []string {
	var names []string
	for r := range repositories {
		for v := range versions - 2 {
			names = append(names, fmt.Sprintf("%s:1.%d", repositoryName(stack, r), v))
		}
	}
	return names
}

func took(b *testing.B, cmd *exec.Cmd) time.Duration {
	b.Helper()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v: %s", strings.Join(cmd.Args[:3], " "), err, out)
	}
	return time.Since(began)
}

func median(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[len(of)/2].Round(time.Millisecond)
}
