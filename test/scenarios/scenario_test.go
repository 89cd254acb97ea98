package scenarios

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/source/rules"
	"github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/trial"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

var update = flag.Bool("update", false, "write the plans of the scenarios anew")

// TestScenarios plans each world, compares with the plan that is written down,
// carries it out and proves that what it keeps is whole.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := load(t, file)
			p, err := s.question.Check(t.Context(), s.driver)
			if err != nil {
				t.Fatal(err)
			}
			got := s.names.contract(golden(p))
			s.compare(t, got)
			s.carryOut(t, p)
		})
	}
}

func files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(found) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	return found
}

// scenario is one file, its world written.
type scenario struct {
	path     string
	archive  *txtar.Archive
	names    names
	dir      string
	store    *mem.Store
	driver   app.Driver
	question trial.Question
}

func load(t *testing.T, path string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{path: path, archive: archive, names: newNames(), store: mem.New()}
	a := &author{names: s.names, layers: map[string]world.Blob{}, images: map[string]world.Image{}}
	text := s.section("world")
	if strings.HasPrefix(text, "memory\n") {
		a.World, s.driver = world.New(world.Mem(s.store)), s.store
	} else {
		s.dir = t.TempDir()
		a.dir, a.World = s.dir, world.New(world.Folder(s.dir))
		if s.driver, err = fs.OpenWritable(s.dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.write(text); err != nil {
		t.Fatal(err)
	}
	s.question = trial.Question{Owners: s.owners(t), Policy: s.policy(t), Now: a.Now()}
	s.pins(t)
	return s
}

func (s *scenario) section(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// owners are none without a section of objects, and under the default rules
// unless there is a section of rules.
func (s *scenario) owners(t *testing.T) refs.Set {
	t.Helper()
	objects := s.section("owners.yaml")
	if objects == "" {
		return refs.Set{}
	}
	var configs []rules.Config
	if err := yaml.UnmarshalStrict([]byte(s.section("rules.yaml")), &configs); err != nil {
		t.Fatal(err)
	}
	return trial.Owners(t, s.names.expand(objects), configs...)
}

// policy reads the flags of the policy section, all but --keep.
func (s *scenario) policy(t *testing.T) policy.Policy {
	t.Helper()
	p := policy.Default()
	for flag := range strings.FieldsSeq(s.section("policy")) {
		key, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		var err error
		switch key {
		case "min-age":
			p.MinAge, err = policy.ParseAge(value)
		case "upload-age":
			p.UploadAge, err = policy.ParseAge(value)
		case "untagged-age":
			p.UntaggedAge, err = policy.ParseAge(value)
		case "delete-untagged":
			p.DeleteUntagged = true
		case "confirm":
			p.Confirmed = true
		case "max-delete-share":
			p.MaxDeleteShare, err = policy.ParseShare(value)
		case "repository", "exclude":
			err = scope(&p.Scope, key, value)
		case "keep":
		default:
			err = fmt.Errorf("flag %q is unknown", flag)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func scope(s *policy.Scope, key, value string) error {
	glob, err := policy.ParseGlob(value)
	if key == "exclude" {
		s.Exclude = append(s.Exclude, glob)
	} else {
		s.Include = append(s.Include, glob)
	}
	return err
}

// pins adds what --keep names, as the command line does.
func (s *scenario) pins(t *testing.T) {
	t.Helper()
	for flag := range strings.FieldsSeq(s.section("policy")) {
		text, ok := strings.CutPrefix(flag, "--keep=")
		if !ok {
			continue
		}
		ref, err := image.ParseReference(s.names.expand(text))
		if err != nil {
			t.Fatal(err)
		}
		s.question.Owners.References = append(s.question.Owners.References, refs.Reference{
			Code: reason.Pinned, By: s.names.contract("--keep " + s.names.expand(text)), Repository: ref.Repository, Tag: ref.Tag, Digest: ref.Digest,
		})
	}
}

func (s *scenario) compare(t *testing.T, got string) {
	t.Helper()
	if *update {
		s.archive.Files = append(without(s.archive.Files, "plan"), txtar.File{Name: "plan", Data: []byte(got)})
		if err := os.WriteFile(s.path, txtar.Format(s.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(s.section("plan"), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("plan (-want +got), -update writes it anew:\n%s", diff)
	}
}

func without(files []txtar.File, name string) []txtar.File {
	var rest []txtar.File
	for _, f := range files {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// carryOut runs, and proves that what is kept lost nothing and that nothing is
// left to do. A plan over a limit must be refused instead.
func (s *scenario) carryOut(t *testing.T, p *plan.Plan) {
	t.Helper()
	before := trial.Remember(s.view(t))
	result, err := s.question.Run(t.Context(), s.driver)
	if len(p.Exceeded) > 0 && !s.question.Policy.Confirmed {
		if err == nil {
			t.Error("a plan over a limit was carried out")
		}
		return
	}
	if err != nil || len(result.Outcome.Failed) > 0 {
		t.Fatalf("run: %v, failed %v", err, result.Outcome.Failed)
	}
	if got, want := result.Outcome.FreedBytes, p.Totals.ReclaimableBytes; got != want {
		t.Errorf("freed %d bytes, the plan said %d", got, want)
	}
	after := s.view(t)
	for i := range p.Decisions {
		d := &p.Decisions[i]
		for _, name := range append([]string{d.Digest.String()}, d.Tags...) {
			lost := trial.Lost(before, after, trial.Ref{Repository: d.Repository, Name: name})
			if !d.Delete && len(lost) > 0 {
				t.Errorf("kept %s %s lost %s", d.Repository, s.names.contract(name), s.names.contract(fmt.Sprint(lost)))
			}
		}
	}
	s.idle(t)
}

func (s *scenario) idle(t *testing.T) {
	t.Helper()
	p, err := s.question.Check(t.Context(), s.driver)
	if err != nil {
		t.Logf("a second run is refused: %v", err)
		return
	}
	for _, phase := range p.Steps(nil) {
		for _, item := range phase {
			t.Errorf("a second run deletes %s", s.names.contract(fmt.Sprint(item)))
		}
	}
}

func (s *scenario) view(t *testing.T) trial.View {
	t.Helper()
	if s.dir == "" {
		v, err := trial.Mem(s.store)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v, err := trial.Folder(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryReasonHasAScenario: no code can lose its story.
func TestEveryReasonHasAScenario(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	for _, file := range files(t) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name == "plan" {
				all.Write(f.Data)
			}
		}
	}
	for _, code := range codes(t) {
		if !strings.Contains(all.String(), "- "+code+":") {
			t.Errorf("no scenario shows %s", code)
		}
	}
}
