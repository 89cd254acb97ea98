package fs

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The kernel's struct linux_dirent64: where its fields begin.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// listing reads a directory straight from the kernel: os.File would ask for
// memory for each name and hide whether there is more to come.
type listing struct{}

func (*listing) start(int, string) {}
func (*listing) close(fd int)      { unix.Close(fd) }

// next fills s.entries, whose names live until the following call. That there
// are none does not mean the end: the kernel hands out as little as "." when a
// signal comes in between, and Go's scheduler sends many.
func (*listing) next(fd int, s *scratch) (progress, error) {
	s.entries = s.entries[:0]
	n, err := getdents(fd, s.buffer)
	if err != nil || n <= 0 {
		return ended, err
	}
	for rest := s.buffer[:n]; len(rest) > direntName; {
		length := int(binary.NativeEndian.Uint16(rest[direntLength:]))
		s.add(rest[:length])
		rest = rest[length:]
	}
	if n > len(s.buffer)/2 {
		return plenty, nil
	}
	return some, nil
}

func getdents(fd int, buffer []byte) (int, error) {
	for {
		if n, err := unix.Getdents(fd, buffer); err != unix.EINTR {
			return n, err
		}
	}
}

func (s *scratch) add(record []byte) {
	name := record[direntName:]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	if string(name) == "." || string(name) == ".." {
		return
	}
	s.entries = append(s.entries, entry{name: name, kind: direntKind(record[direntType])})
}

// direntKind is unknown on file systems that do not tell.
func direntKind(t byte) kind {
	switch t {
	case unix.DT_UNKNOWN:
		return isUnknown
	case unix.DT_REG:
		return isFile
	case unix.DT_DIR:
		return isDir
	case unix.DT_LNK:
		return isLink
	}
	return isOther
}
