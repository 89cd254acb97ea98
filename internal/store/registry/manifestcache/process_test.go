package manifestcache

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// childDir names the cache's folder to a test binary that is to play another
// process.
const childDir = "EBB_TEST_MANIFEST_CACHE"

// processLimit makes packs of 16 KiB, so that two processes evict and merge
// under each other's hands.
const processLimit = 512 << 10

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child uses the cache for some sessions, and says on its output what it has
// done, a line for each manifest. It takes each step when a byte comes in, so
// that it can be stopped between any two; with nothing to come in it goes on.
func child(dir string) error {
	seed, _ := strconv.ParseUint(os.Getenv("EBB_TEST_SEED"), 10, 64)
	for session := range uint64(5) {
		c, err := Open(dir, processLimit)
		if err != nil {
			return err
		}
		for _, e := range append(manifests(0, 50), manifests(seed+session, 100)...) {
			_, _ = os.Stdin.Read(make([]byte, 1))
			content, ok := c.Get(e.digest, int64(len(e.content)), nil)
			switch {
			case !ok:
				c.Put(e.digest, e.content)
			case string(content) != string(e.content):
				return errors.New("something else came back")
			}
			fmt.Println(ok)
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

func childProcess(t *testing.T, dir string, seed int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, "EBB_TEST_SEED="+strconv.Itoa(seed))
	return cmd
}

// Many processes write, read, evict and merge in one folder at once: none
// fails, none gets what is not sound, and the limit holds when they are done.
func TestManyProcesses(t *testing.T) {
	dir := t.TempDir()
	var running []*exec.Cmd
	var outputs []*strings.Builder
	for i := range 3 {
		cmd, output := childProcess(t, dir, 100*(i+1)), &strings.Builder{}
		cmd.Stdout, cmd.Stderr = output, output
		must(t, cmd.Start())
		running, outputs = append(running, cmd), append(outputs, output)
	}
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, outputs[i])
		}
		if !strings.Contains(outputs[i].String(), "true") {
			t.Errorf("process %d has found nothing of what all use", i)
		}
	}
	if size := weight(t, dir); size > processLimit {
		t.Errorf("%d bytes are left, the limit is %d", size, processLimit)
	}
	if left := files(t, dir, tempSuffix); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A process that is killed at any point leaves a cache that works and holds
// what was sealed.
func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	for n := range 25 {
		steps := 1 + n*29 // some fall beside a seal
		cmd := childProcess(t, dir, 1000*n)
		input, err := cmd.StdinPipe()
		must(t, err)
		output, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = input.Write(make([]byte, steps))
		must(t, err)
		lines := bufio.NewScanner(output)
		for range steps {
			if !lines.Scan() {
				t.Fatalf("it ended before step %d", steps)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	if len(files(t, dir, tempSuffix)) == 0 {
		t.Error("no process was killed while it wrote")
	}
	c, entries := open(t, dir, processLimit), manifests(5, 100)
	hits(t, c, append(manifests(0, 50), manifests(24_000, 100)...)) // whatever is found is sound
	c.putAll(entries)
	shut(t, c)
	if n := hits(t, open(t, dir, processLimit), entries); n != len(entries) {
		t.Errorf("%d of %d are found", n, len(entries))
	}
	if size := weight(t, dir); size > processLimit {
		t.Errorf("%d bytes, the limit is %d", size, processLimit)
	}
}
