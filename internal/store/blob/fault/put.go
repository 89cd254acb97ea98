package fault

import (
	"context"
	"errors"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// MendableFiles is a driver that can also be written to.
type MendableFiles interface {
	Files
	blob.Writer
}

// Mender wraps a driver that can also be written to.
type Mender struct {
	*Driver
	writer blob.Writer
	put    []string
}

// NewMender wraps a driver that can also be written to.
func NewMender(inner MendableFiles, faults ...Fault) *Mender {
	return &Mender{Driver: New(inner, faults...), writer: inner}
}

// Put is blob.Writer's. It is a write like a deletion, and counts as one.
func (m *Mender) Put(ctx context.Context, path string, data []byte) error {
	if err := m.decidePut(path); err != nil {
		return err
	}
	if err := m.writer.Put(ctx, path, data); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put = append(m.put, path)
	return nil
}

func (s *script) decidePut(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	s.counts.Puts++
	return s.write(path)
}

// Written are the paths that were put, in order.
func (m *Mender) Written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.put...)
}

// Touched is blob.Folders', where the wrapped driver has directories.
func (m *Mender) Touched(ctx context.Context, dir string) (time.Time, error) {
	if err := m.read(Stat, dir); err != nil {
		return time.Time{}, err
	}
	folders, ok := m.inner.(blob.Folders)
	if !ok {
		return time.Time{}, errors.ErrUnsupported
	}
	return folders.Touched(ctx, dir)
}
