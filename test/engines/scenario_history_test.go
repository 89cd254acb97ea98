package engines

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// What history prints brings an image back under its name, and it prints
// nothing of what no registry has.
func TestHistoryBringsBackWhatWasPulled(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		b := newEbb(t, e)
		r := engines.NewRegistry(t)
		var pulled []string
		for _, tag := range []string{"1.0.0", "1.1.0", "1.2.0"} {
			ref := r.Push(t, "infra/app:"+tag, engines.Image(t, "base", "app", tag))
			e.Pull(t, ref)
			pulled = append(pulled, ref)
		}
		e.Load(t, engines.Image(t, "base", "loaded"), "acme/app:1.0.0")
		e.Import(t, "acme/app:1.1.0", "imported")
		e.Import(t, "acme/app:1.2.0", "the one step back")
		e.Import(t, "acme/app:1.3.0", "the pin")
		b.run(t, "--pin", pulled[2], "--pin", "acme/app:1.3.0", "--min-age", "0s")

		var history struct {
			Deletions []struct {
				Names, Digests []string
				InDoubt        bool
			}
		}
		if err := json.Unmarshal(b.do(t, done, "history").text, &history); err != nil {
			t.Fatal(err)
		}
		pullable := map[string]bool{}
		for _, d := range history.Deletions {
			pullable[d.Names[0]] = len(d.Digests) > 0
			if d.InDoubt {
				t.Errorf("%v is in doubt", d.Names)
			}
		}
		want := map[string]bool{pulled[0]: true, "docker.io/acme/app:1.0.0": false, "docker.io/acme/app:1.1.0": false}
		if diff := cmp.Diff(want, pullable); diff != "" {
			t.Fatalf("what can be pulled again (-want +got):\n%s", diff)
		}
		var did []string
		out, err := b.command(t.Context(), t, "history").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			switch words := strings.Fields(line); {
			case len(words) == 3 && slices.Equal(words[:2], []string{"docker", "pull"}):
				e.Pull(t, words[2])
				did = append(did, words[1])
			case len(words) == 4 && slices.Equal(words[:2], []string{"docker", "tag"}):
				e.Tag(t, words[2], words[3])
				did = append(did, words[1])
			}
		}
		if diff := cmp.Diff([]string{"pull", "tag"}, did); diff != "" {
			t.Errorf("what history says:\n%s\n%s", diff, out)
		}
		if !e.Exists(t, pulled[0]) {
			t.Errorf("%s has not got its name back", pulled[0])
		}
	})
}
