package pins

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
)

const someDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// write makes files in a new folder and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names are the pins in words: passive ones in brackets.
func names(pins []pin.Pin) []string {
	var all []string
	for _, p := range pins {
		name := p.Familiar()
		if p.Passive {
			name = "(" + name + ")"
		}
		all = append(all, name)
	}
	return all
}

func TestArgs(t *testing.T) {
	tests := []struct {
		ref    string
		want   string
		fails  string
		reason string
	}{
		{ref: "traefik:v3.1", want: "docker.io/library/traefik:v3.1", reason: "the usual one"},
		{ref: "localhost:5000/a/b:1", want: "localhost:5000/a/b:1", reason: "a port is no tag"},
		{ref: "redis@" + someDigest, want: "docker.io/library/redis@" + someDigest, reason: "a digest alone"},
		{ref: "redis:7@" + someDigest, want: "docker.io/library/redis:7@" + someDigest, reason: "both are kept"},
		{ref: "traefik", fails: "Write a tag, such as traefik:1.2.3", reason: "latest is never added silently"},
		{ref: "localhost:5000/a/b", fails: "which version is meant?", reason: "a port is no tag"},
		{ref: "Traefik:1", fails: "--pin: image name", reason: "no name"},
		{ref: someDigest, fails: "it is an ID", reason: "an ID is no repository"},
		{ref: "", fails: "image name", reason: "empty"},
	}
	for _, test := range tests {
		set, err := Args([]string{"alpine:3.20", test.ref}, "--pin")
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) || len(set.Pins) > 0 {
				t.Errorf("%q: %v, %v, want an error with %q: %s", test.ref, set.Pins, err, test.fails, test.reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v: %s", test.ref, err, test.reason)
			continue
		}
		if last := set.Pins[1]; last.String() != test.want || last.From != "--pin" || last.Passive {
			t.Errorf("%q is %+v, want %s: %s", test.ref, last, test.want, test.reason)
		}
	}
}

func TestFile(t *testing.T) {
	tests := []struct {
		content string
		want    []string
		fails   string
		reason  string
	}{
		{content: "a:1\nb:2\n", want: []string{"a:1", "b:2"}, reason: "one a line"},
		{content: "\ufeffa:1\r\n\r\n# b:2\r\n  c:3\t# why\r\n", want: []string{"a:1", "c:3"}, reason: "from an editor on Windows, with comments"},
		{content: "a:1", want: []string{"a:1"}, reason: "no line feed at the end"},
		{content: "", reason: "empty: nothing is pinned"},
		{content: "a:1\n\n# c\nb\n", fails: "pins.txt:4: ", reason: "the line of what is wrong"},
		{content: "a:1#why\n", fails: "pins.txt:1: ", reason: "glued to the name it is no comment"},
		{content: "a:1 b:2\n", fails: "pins.txt:1: ", reason: "two on a line"},
		{content: "-\n", fails: "pins.txt:1: ", reason: "no standard input"},
		{content: strings.Repeat("#", maxFile+1), fails: "larger than", reason: "no list is that long"},
		{content: "# " + strings.Repeat("x", 70000) + "\na:1\n", fails: "token too long", reason: "nor a line"},
	}
	for _, test := range tests {
		path := filepath.Join(write(t, map[string]string{"pins.txt": test.content}), "pins.txt")
		set, err := File(path)
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) || !strings.Contains(err.Error(), path) || len(set.Pins) > 0 {
				t.Errorf("%.20q: %v, want an error with %q: %s", test.content, err, test.fails, test.reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.20q: %v: %s", test.content, err, test.reason)
		}
		if diff := cmp.Diff(test.want, names(set.Pins)); diff != "" {
			t.Errorf("%.20q: %s\n%s", test.content, test.reason, diff)
		}
	}
}

func TestFileSaysTheLine(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"p": "\n# x\na:1\n"}), "p")
	set, err := File(path)
	if err != nil || len(set.Pins) != 1 || set.Pins[0].From != path+":3" {
		t.Errorf("%+v, %v, want a pin from line 3", set.Pins, err)
	}
}

func TestFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"-", dir, filepath.Join(dir, "none"), "/dev/zero"} {
		if set, err := File(path); err == nil || len(set.Pins) > 0 {
			t.Errorf("%s: %v, want an error", path, set.Pins)
		}
	}
}

func TestCombine(t *testing.T) {
	name := func(s string) image.Name {
		n, err := image.ParseName(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	a := pin.Set{
		Pins:     []pin.Pin{{Name: name("b:1"), From: "x"}, {Name: name("a:1"), From: "x", Passive: true}, {Name: name("a:1"), From: "x"}},
		Skipped:  []pin.Skip{{Repository: "r", Why: "w", From: "f"}},
		Warnings: []pin.Warning{"z", "a"},
		Stacks:   []pin.Stack{{Key: "/p", Images: []string{"b", "a"}}},
	}
	b := pin.Set{
		Pins:     []pin.Pin{{Name: name("b:1"), From: "x"}, {Name: name("b:1"), From: "a"}},
		Skipped:  []pin.Skip{{Repository: "r", Why: "w", From: "f"}},
		Warnings: []pin.Warning{"a"},
		Stacks:   []pin.Stack{{Key: "/p", Images: []string{"c", "a"}}},
	}
	want := pin.Set{
		Pins: []pin.Pin{
			{Name: name("a:1"), From: "x"},
			{Name: name("a:1"), From: "x", Passive: true},
			{Name: name("b:1"), From: "a"},
			{Name: name("b:1"), From: "x"},
		},
		Skipped:  []pin.Skip{{Repository: "r", Why: "w", From: "f"}},
		Warnings: []pin.Warning{"a", "z"},
		Stacks:   []pin.Stack{{Key: "/p", Images: []string{"a", "b", "c"}}},
	}
	for _, got := range []pin.Set{Combine(a, b), Combine(b, a), Combine(Combine(a), b, b)} {
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(image.Name{})); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{"a:1\n", "\ufeff# x\r\na:1 # b\r\n", "a@" + someDigest, "a:1#b", "\x00", "sha256:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		set, err := list([]byte(content), "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") || len(set.Pins) > 0 {
				t.Fatalf("%q: %v, %v", content, set.Pins, err)
			}
			return
		}
		for _, p := range set.Pins {
			if p.Tag == "" && !p.Digested || p.Repository == "" {
				t.Fatalf("%q: %+v", content, p)
			}
			if again, err := Parse(p.String()); err != nil || again != p.Name {
				t.Fatalf("%s came back as %v, %v", p, again, err)
			}
		}
	})
}

// TestFileThatCanNotBeRead is told apart from one with a mistake in it, and
// named once.
func TestFileThatCanNotBeRead(t *testing.T) {
	dir := write(t, map[string]string{
		"include.yaml": "include: [none.yaml]\n", "extends.yaml": "services: {a: {extends: {file: none.yaml, service: a}}}\n",
		"variables.yaml": "include: [{path: a.yaml, env_file: none.env}]\n", "a.yaml": "services: {a: {image: \"a:1\"}}\n",
		"bad.yaml": "services: [", "bad.txt": "a\n",
	})
	file := func(name string) error { _, err := File(filepath.Join(dir, name)); return err }
	compose := func(names ...string) error {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		_, err := Compose(Stack{Files: names})
		return err
	}
	for _, test := range []struct {
		err    error
		unread bool
		want   string
	}{
		{file("none.txt"), true, "DIR/none.txt: no such file or directory"},
		{file("a.yaml/none.txt"), true, "DIR/a.yaml/none.txt: not a directory"},
		{compose("none.yaml"), true, "compose file DIR/none.yaml: no such file or directory"},
		{compose("a.yaml", "none.yaml"), true, "compose file DIR/a.yaml,DIR/none.yaml: DIR/none.yaml: no such file or directory"},
		{compose("include.yaml"), true, "compose file DIR/include.yaml: include: DIR/none.yaml: no such file or directory"},
		{compose("extends.yaml"), true, "compose file DIR/extends.yaml: services a: extends: none.yaml: no such file or directory"},
		{compose("variables.yaml"), true, "compose file DIR/variables.yaml: include: DIR/none.env: no such file or directory"},
		{file("bad.txt"), false, "DIR/bad.txt:1: image name"},
		{file("/"), false, "DIR: not a regular file"},
		{compose("bad.yaml"), false, "compose file DIR/bad.yaml: yaml: "},
	} {
		if test.err == nil {
			t.Errorf("want %s", test.want)
			continue
		}
		text := strings.ReplaceAll(test.err.Error(), dir, "DIR")
		if errors.Is(test.err, ErrRead) != test.unread || !strings.HasPrefix(text, test.want) || test.unread && text != test.want {
			t.Errorf("%s (unread: %v), want %s (%v)", text, !test.unread, test.want, test.unread)
		}
	}
}
