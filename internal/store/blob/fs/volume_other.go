//go:build !linux

package fs

import (
	"golang.org/x/sys/unix"
)

// syncAll writes every file system: there is no call for just one.
func syncAll(int) error { return unix.Sync() }

func blockSize(st *unix.Statfs_t) int64 { return int64(st.Bsize) }

// remote tells whether other machines may hold locks on the file.
func remote(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	return st.Flags&unix.MNT_LOCAL == 0, nil
}
