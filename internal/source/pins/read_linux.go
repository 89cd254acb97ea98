package pins

import (
	"os"

	"golang.org/x/sys/unix"
)

// ofKernel tells whether the kernel makes a file as it is read: it looks regular
// and may never end, as /proc/kmsg does.
func ofKernel(file *os.File) bool {
	raw, err := file.SyscallConn() // its Fd would make it wait
	if err != nil {
		return false
	}
	var on unix.Statfs_t
	if err := raw.Control(func(fd uintptr) { _ = unix.Fstatfs(int(fd), &on) }); err != nil { // else of no type
		return false
	}
	switch uint32(on.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.TRACEFS_MAGIC, unix.DEBUGFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC,
		unix.SELINUX_MAGIC, unix.SMACK_MAGIC:
		return true
	}
	return false
}
