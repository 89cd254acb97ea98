package engines

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopped is how long an engine may take to end before it is killed.
const stopped = 30 * time.Second

// process is a program that is the first of its own process namespace: when it
// is gone, so is everything that it started.
type process struct {
	cmd   *exec.Cmd
	log   lockedBuffer
	ended chan struct{} // closed when the process is no more
}

// apartly gives an engine a /proc of its own namespace, in which it looks for
// its children, and in place of the machine's: /run, where the machine's engine
// has its socket; /etc/docker, with the key that an engine of 2022 makes its ID
// of; and /opt/containerd, which containerd makes.
const apartly = `set -e
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
for at in /etc/docker /opt/containerd; do
	mkdir -p "$at" "$1$at"
	mount --bind "$1$at" "$at"
done
shift
exec "$@"`

func newProcess(dir string, args []string) *process {
	p := &process{
		cmd:   exec.Command("/bin/sh", append([]string{"-c", apartly, "sh", dir}, args...)...),
		ended: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = apart()
	p.cmd.WaitDelay = time.Second
	return p
}

// start keeps the thread that started the process, because Linux ends a child
// with the thread that it comes from: so a test binary that dies takes its
// engines with it.
func (p *process) start() error {
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

func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop asks the process to end, and after a while makes it.
func (p *process) stop() {
	if p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(stopped):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// mounted lists the mounts under a folder, the last first.
func mounted(t testing.TB, dir string) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[1], dir+"/") {
			found = append([]string{words[1]}, found...)
		}
	}
	return found
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
