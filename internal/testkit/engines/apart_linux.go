package engines

import "syscall"

// apart gives a process mounts and process numbers of its own, and ends it when
// its parent does. Unshared mounts are private: none gets out.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid:      true,
		Pdeathsig:    syscall.SIGKILL,
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS,
	}
}
