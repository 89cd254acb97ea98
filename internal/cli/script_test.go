package cli_test

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ebb-io/ebb/internal/demo/server"
	blobfs "github.com/ebb-io/ebb/internal/store/blob/fs"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/testkit/fakeengine"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Values[engineKey{}] = new(*fakeengine.Engine)
			env.Setenv(clockVar, now.Format(time.RFC3339))
			env.Setenv("UBUNTU", world.Digest(world.Random(6, 500<<10)))
			env.Setenv("UBUNTU_SHORT", world.Digest(world.Random(6, 500<<10))[:len("sha256:")+8])
			env.Setenv("ORPHAN", world.Digest(world.Random(10, 10<<10)))
			owners, err := os.ReadFile("testdata/owners.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "owners.yaml"), owners, 0o644)
		},
		Condition: func(name string) (bool, error) {
			return name == "root" && os.Getuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "world": build, "golden": golden, "tree": tree,
			"lock": lock, "serve": serve, "answer": answer, "retag": retag, "replace": replace, "engine": fakeEngine, "docker": docker,
		},
	})
}

// code runs ebb and wants its exit code: code N ARGUMENTS.
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec("ebb", args[1:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// build writes a world: world NAME DIR.
func build(ts *testscript.TestScript, _ bool, args []string) {
	fill, ok := worlds[args[0]]
	if !ok {
		ts.Fatalf("there is no world %s", args[0])
	}
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	fill(world.New(world.Folder(dir), world.At(now)))
}

// retag gives a digest a name: retag DIR REPOSITORY DIGEST TAG.
func retag(ts *testscript.TestScript, _ bool, args []string) {
	w := world.New(world.Folder(ts.MkAbs(args[0])), world.At(now))
	w.Tag(args[1], args[3], args[2])
}

// golden compares the last standard output with a file in testdata/golden.
func golden(ts *testscript.TestScript, _ bool, args []string) {
	got := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "$WORK")
	// What a volume measures is its own affair.
	got = regexp.MustCompile(`("measuredFreedBytes": )-?\d+`).ReplaceAllString(got, "${1}0")
	file := filepath.Join(goldenDir(), args[0])
	if *update {
		ts.Check(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	ts.Check(err)
	if got != string(want) {
		ts.Fatalf("output differs from %s (-update rewrites it):\n%s", file, got)
	}
}

func goldenDir() string {
	dir, err := filepath.Abs("testdata/golden")
	if err != nil {
		panic(err)
	}
	return dir
}

// tree writes the names and sizes of all files below a folder: tree DIR FILE.
func tree(ts *testscript.TestScript, _ bool, args []string) {
	var all strings.Builder
	dir := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all.WriteString(strings.TrimPrefix(path, dir) + " " + strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().UTC().String() + "\n")
		return nil
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(all.String()), 0o644))
}

// lock holds a storage's lock until the script ends: lock DIR.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	driver, err := blobfs.OpenWritable(ts.MkAbs(args[0]))
	ts.Check(err)
	held, err := driver.Lock(context.Background(), registry.LockFile)
	ts.Check(err)
	ts.Defer(func() { _ = held.Release(context.Background()) })
}

// serve starts a registry and names its address: serve DIR readonly|writable VARIABLE.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	s, err := server.Start(context.Background(), ts.MkAbs(args[0]), server.Options{ReadOnly: args[1] == "readonly"})
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv(args[2], s.URL())
}

// answer starts a server that answers everything with a status: answer STATUS VARIABLE.
func answer(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	ts.Defer(s.Close)
	ts.Setenv(args[1], s.URL)
}

// replace changes a file: replace FILE OLD NEW.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o644))
}
