package fs

import (
	"golang.org/x/sys/unix"
)

func syncAll(fd int) error { return unix.Syncfs(fd) }

// blockSize is the unit of the block counts, which is not always f_bsize: that
// is the size of a good read.
func blockSize(st *unix.Statfs_t) int64 {
	if st.Frsize > 0 {
		return int64(st.Frsize)
	}
	return int64(st.Bsize)
}

// remote tells whether other machines may hold locks on the file. Only file
// systems that are known to be local are: with any other one, a free lock is no
// proof that its holder is gone.
func remote(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC, unix.REISERFS_SUPER_MAGIC,
		unix.NILFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC,
		zfsMagic, jfsMagic, ntfs3Magic:
		return false, nil
	}
	return true, nil
}

// Missing from golang.org/x/sys/unix.
const (
	zfsMagic   = 0x2fc12fc1
	jfsMagic   = 0x3153464a
	ntfs3Magic = 0x7366746e
)
