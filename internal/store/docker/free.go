package docker

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/ebb-io/ebb/internal/engine"
)

// containerdRoot is where an engine with a containerd store keeps its images
// when it uses the machine's containerd.
const containerdRoot = "/var/lib/containerd"

// Free is how many bytes are free where the engine keeps its images. It is not
// known unless that is on this machine.
func (e *Engine) Free(context.Context) (bytes int64, known bool) {
	if is, _ := here(e.what); !e.local || !is {
		return 0, false
	}
	return free(e.what.Root, e.contentRoot())
}

// contentRoot is another folder that deletions free; empty: there is none.
func (e *Engine) contentRoot() string {
	if e.what.Store == engine.Containerd && e.lease.socket == "/run/containerd/containerd.sock" {
		return containerdRoot
	}
	return ""
}

// free adds up the file systems of two folders, each once.
func free(root, other string) (int64, bool) {
	var a, b unix.Statfs_t
	if unix.Statfs(root, &a) != nil {
		return 0, false
	}
	bytes := int64(a.Bavail) * int64(a.Bsize)
	if other != "" && unix.Statfs(other, &b) == nil && a.Fsid != b.Fsid {
		bytes += int64(b.Bavail) * int64(b.Bsize)
	}
	return bytes, true
}
