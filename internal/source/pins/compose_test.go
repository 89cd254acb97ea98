package pins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
)

// scenario is a stack with what it must mean.
type scenario struct {
	stack  Stack
	want   []string
	oracle bool // compose's own loader must read the same
}

func readScenario(t *testing.T, path string) scenario {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	s := scenario{want: lines(files["want"]), oracle: true}
	delete(files, "want")
	names := []string{"compose.yaml"}
	for _, line := range lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "files":
			names = strings.Fields(value)
		case "env":
			s.stack.Environment = map[string]string{}
			for _, pair := range strings.Fields(value) {
				k, v, _ := strings.Cut(pair, "=")
				s.stack.Environment[k] = v
			}
		case "oracle":
			s.oracle = value != "no"
		}
	}
	dir := write(t, files)
	for _, name := range names {
		s.stack.Files = append(s.stack.Files, filepath.Join(dir, name))
	}
	return s
}

func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

// words are a set as scenarios write it.
func words(set pin.Set) []string {
	var all []string
	for _, p := range set.Pins {
		kind := "pin "
		if p.Passive {
			kind = "passive "
		}
		all = append(all, kind+p.Familiar())
	}
	for _, s := range set.Skipped {
		_, why, _ := strings.Cut(s.Why, `": `)
		all = append(all, "skip "+s.Repository+": "+why)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestCompose(t *testing.T) {
	paths, err := filepath.Glob("testdata/compose/*.txtar")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d scenarios, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := readScenario(t, path)
			set, err := Compose(s.stack)
			if fails, ok := strings.CutPrefix(s.want[0], "error "); ok {
				if err == nil || !strings.Contains(err.Error(), fails) || len(set.Pins) > 0 || !strings.HasPrefix(err.Error(), "compose file /") {
					t.Fatalf("%v, want an error with %q", err, fails)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if diff := cmp.Diff(slices.Sorted(slices.Values(s.want)), words(Combine(set))); diff != "" {
				t.Fatal(diff)
			}
			if s.oracle {
				compare(t, s, set, err)
			}
		})
	}
}

// compare reads a stack by compose's own loader: it must name the same images,
// or fail as well.
func compare(t *testing.T, s scenario, set pin.Set, failed error) {
	t.Helper()
	want, err := byLoader(s.stack)
	if (err != nil) != (failed != nil) {
		t.Fatalf("compose's own loader says %v, this one %v", err, failed)
	}
	if err != nil {
		return
	}
	var got []string
	for _, p := range set.Pins {
		if !p.Passive {
			got = append(got, strings.TrimSuffix(p.Familiar(), ":latest"))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("not as compose's own loader reads it:\n%s", diff)
	}
}

func byLoader(s Stack) ([]string, error) {
	var environment []string
	for k, v := range s.Environment {
		environment = append(environment, k+"="+v)
	}
	options, err := cli.NewProjectOptions(s.Files, cli.WithWorkingDirectory(s.dir()), cli.WithEnv(environment), cli.WithEnvFiles(s.EnvFiles...), cli.WithDotEnv, cli.WithProfiles([]string{"*"}), cli.WithoutEnvironmentResolution)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	var all []string
	for _, service := range project.AllServices() {
		all = append(all, service.Image)
	}
	for _, job := range project.Jobs {
		all = append(all, job.Image)
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == "" })
	for i, written := range all {
		name, err := image.ParseName(written)
		if err != nil {
			return nil, err
		}
		all[i] = name.Familiar()
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func TestComposeBounds(t *testing.T) {
	many := "include:\n" + strings.Repeat("  - a.yaml\n", maxFiles+1)
	wide := "x: &a {k0: 1}\n"
	previous := "a"
	for _, next := range strings.Split("bcdefghij", "") {
		wide += "x" + next + ": &" + next + " {<<: [" + strings.TrimSuffix(strings.Repeat("*"+previous+", ", 10), ", ") + "]}\n"
		previous = next
	}
	tests := []struct {
		name, content, fails string
	}{
		{"more files than a stack has", many, "more than 500 files"},
		{"too large", "#" + strings.Repeat("x", maxFile), "larger than"},
		{"merges that unfold to billions", wide + "services: {a: *j}\n", errTooMuch.Error()},
		{"a merge of itself", "services: &s {<<: *s, a: {image: \"a:1\"}}\n", errTooMuch.Error()},
		{"a device", "include: [/dev/zero]\n", "not a regular file"},
		{"a device of variables", "include: [{path: a.yaml, env_file: /dev/zero}]\n", "not a regular file"},
		{"a folder", "include: [/]\n", "not a regular file"},
		{"deep nesting", "services: " + strings.Repeat("[", 200000), ""},
	}
	for _, test := range tests {
		dir := write(t, map[string]string{"compose.yaml": test.content, "a.yaml": "services: {a: {image: \"a:1\"}}\n"})
		set, err := Compose(Stack{Files: []string{filepath.Join(dir, "compose.yaml")}})
		if err == nil || !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: %v, %v, want an error with %q", test.name, set.Pins, err, test.fails)
		}
	}
	if _, err := Compose(Stack{}); err == nil {
		t.Error("no file is no stack")
	}
}

func TestComposeIgnoresTheProcess(t *testing.T) {
	t.Setenv("TAG", "9")
	t.Setenv("COMPOSE_PROJECT_NAME", "x")
	dir := write(t, map[string]string{"compose.yaml": `services: {a: {image: "redis:${TAG}"}}`})
	set, err := Compose(Stack{Files: []string{filepath.Join(dir, "compose.yaml")}})
	if err != nil || len(set.Pins) > 0 || len(set.Skipped) != 1 {
		t.Errorf("%+v, %v: the environment is a value", set, err)
	}
}

func FuzzCompose(f *testing.F) {
	paths, err := filepath.Glob("testdata/compose/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Add("services: &s {a: {<<: *s}}")
	dir := f.TempDir()
	path := filepath.Join(dir, "compose.yaml")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := Compose(Stack{Files: []string{path}})
		for _, p := range set.Pins {
			if p.Repository == "" || p.Tag == "" && !p.Digested || strings.Contains(p.String(), "$") {
				t.Fatalf("%q: %+v", content, p)
			}
		}
		if err != nil && len(set.Pins) > 0 {
			t.Fatalf("%q: pins beside %v", content, err)
		}
	})
}

// TestComposeReadsRelativePaths: they are of the process's folder, as compose
// takes them.
func TestComposeReadsRelativePaths(t *testing.T) {
	t.Chdir(write(t, map[string]string{"sub/compose.yaml": `services: {a: {image: "redis:${TAG}"}}`, "sub/.env": "TAG=1\n", "my.env": "TAG=2\n"}))
	for _, test := range []struct {
		stack Stack
		want  string
	}{
		{Stack{Files: []string{"sub/compose.yaml"}}, "redis:1"},
		{Stack{Files: []string{"sub/compose.yaml"}, EnvFiles: []string{"my.env"}}, "redis:2"},
		{Stack{Files: []string{"sub/compose.yaml"}, EnvFiles: []string{"my.env", "sub/.env"}}, "redis:1"},
		{Stack{Files: []string{"sub/compose.yaml"}, Dir: ".", Environment: map[string]string{"TAG": "3"}}, "redis:3"},
	} {
		set, err := Compose(test.stack)
		if err != nil || len(set.Pins) != 1 || set.Pins[0].Familiar() != test.want || !strings.HasPrefix(set.Pins[0].From, "compose file /") {
			t.Errorf("%+v: %+v, %v, want %s", test.stack, set, err, test.want)
		}
	}
}

// TestComposeNeedsItsEnvFile: one that was named and is gone is no empty one.
func TestComposeNeedsItsEnvFile(t *testing.T) {
	dir := write(t, map[string]string{"compose.yaml": `services: {a: {image: "redis:${TAG:-1}"}}`})
	if set, err := Compose(Stack{Files: []string{filepath.Join(dir, "compose.yaml")}, EnvFiles: []string{filepath.Join(dir, "gone.env")}}); err == nil {
		t.Errorf("%+v, want an error", set)
	}
}

func TestWorkIsBounded(t *testing.T) {
	dir := write(t, map[string]string{"compose.yaml": `services: {a: {image: "redis:1"}}`})
	s := Stack{Files: []string{filepath.Join(dir, "compose.yaml")}}
	for _, left := range []int{0, 40, 400} {
		if _, err := readStack(s, &left); !errors.Is(err, errWork) {
			t.Errorf("%v, want too much work", err)
		}
	}
	left := 1000
	if _, err := readStack(s, &left); err != nil || left >= 1000 {
		t.Errorf("%d left, %v", left, err)
	}
}
