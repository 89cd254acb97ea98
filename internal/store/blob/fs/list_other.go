//go:build !linux

package fs

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
)

const batch = 512 // names

// listing reads a directory by what every system has.
type listing struct{ file *os.File }

func (l *listing) start(fd int, name string) { l.file = os.NewFile(uintptr(fd), name) }
func (l *listing) close(int)                 { l.file.Close() }

// next fills s.entries.
func (l *listing) next(_ int, s *scratch) (progress, error) {
	s.entries = s.entries[:0]
	found, err := l.file.ReadDir(batch)
	for _, e := range found {
		s.entries = append(s.entries, entry{name: []byte(e.Name()), kind: modeKind(e.Type())})
	}
	switch {
	case errors.Is(err, io.EOF):
		return ended, nil
	case err != nil:
		return ended, err
	case len(found) == batch:
		return plenty, nil
	}
	return some, nil
}

func modeKind(mode iofs.FileMode) kind {
	switch mode {
	case 0:
		return isFile
	case iofs.ModeDir:
		return isDir
	case iofs.ModeSymlink:
		return isLink
	}
	return isOther
}
