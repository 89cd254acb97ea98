package objects

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// started is how long a server may take to answer on a machine that is busy.
const started = time.Minute

// Gateway is versitygw, a real S3 server that checks signatures, on a folder.
type Gateway struct {
	Bucket
	// Folder holds the bucket's objects as files: world.Folder writes to it, and
	// os.Chtimes sets what LastModified is.
	Folder string
}

// Versity starts versitygw with an empty bucket until the test ends. The first
// call on a machine builds it, which takes a minute or two.
func Versity(t testing.TB) Gateway {
	t.Helper()
	return versity(t)
}

// VersityVersioned is Versity with a bucket that keeps old versions: what is
// deleted takes its room still.
func VersityVersioned(t testing.TB) Gateway {
	t.Helper()
	g := versity(t, "--versioning-dir", t.TempDir())
	_, err := g.Client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket:                  &g.Name,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatalf("versitygw: keep versions: %v", err)
	}
	return g
}

func versity(t testing.TB, flags ...string) Gateway {
	t.Helper()
	root := t.TempDir()
	g := Gateway{
		Bucket: Bucket{Name: "images", Region: "eu-test-1", AccessKey: rand.Text(), SecretKey: rand.Text()},
		Folder: filepath.Join(root, "images"),
	}
	program := build(t)
	// The port is free when it is looked for; another process may be faster.
	var err error
	for range 3 {
		if g.Endpoint, err = g.start(t, program, append(flags, "--sidecar", t.TempDir(), root)); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &g.Name,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{
			LocationConstraint: types.BucketLocationConstraint(g.Region),
		},
	}); err != nil {
		t.Fatalf("versitygw: create a bucket: %v", err)
	}
	return g
}

// build has the go command build versitygw, or find it where it lies built.
func build(t testing.TB) string {
	t.Helper()
	top, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("find the top of the repository: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", "versitygw")
	cmd.Dir = filepath.Join(strings.TrimSpace(string(top)), "tools", "versitygw")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build versitygw: %v: %s", err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// start returns the address once the server answers.
func (g Gateway) start(t testing.TB, program string, posix []string) (string, error) {
	t.Helper()
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	args := append([]string{"--port", addr, "--region", g.Region, "--health", "/health", "posix"}, posix...)
	p := &process{cmd: exec.Command(program, args...)}
	p.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+g.AccessKey, "ROOT_SECRET_ACCESS_KEY="+g.SecretKey)
	if err := p.start(); err != nil {
		return "", fmt.Errorf("versitygw: %w", err)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("versitygw at %s said:\n%s", addr, p.log.String())
		}
	})
	if err := p.answers("http://" + addr + "/health"); err != nil {
		return "", fmt.Errorf("versitygw: %w: %s", err, p.log.String())
	}
	return "http://" + addr, nil
}

func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// process is a server that must not outlive the test.
type process struct {
	cmd   *exec.Cmd
	log   lockedBuffer
	ended chan struct{} // closed when the process is no more
}

// start keeps the thread that started the process, because Linux ends a child
// with the thread that it comes from: so a test binary that dies takes its
// servers with it.
func (p *process) start() error {
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = ownGroup()
	p.ended = make(chan struct{})
	began := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		began <- err
		if err == nil {
			_ = p.cmd.Wait() // it ends by a signal
		}
		close(p.ended)
	}()
	return <-began
}

// stop ends the process and all that it started.
func (p *process) stop() {
	_ = killGroup(p.cmd.Process.Pid) // it may have ended
	<-p.ended
}

func (p *process) answers(address string) error {
	for deadline := time.Now().Add(started); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.ended:
			return errors.New("it ended at once")
		default:
		}
		response, err := http.Get(address)
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("no answer within %s", started)
}

type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}
