package world

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Folder writes a world to a directory, as a registry's filesystem driver
// finds it, with the time stamps told.
func Folder(root string) Store { return directory{root: root} }

type directory struct{ root string }

func (d directory) Put(path string, data []byte, modTime time.Time) error {
	full := filepath.Join(d.root, filepath.FromSlash(path))
	if strings.HasSuffix(path, "/") {
		return os.MkdirAll(full, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(full, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(full, modTime, modTime)
}

func (d directory) Remove(path string) error {
	full := filepath.Join(d.root, filepath.FromSlash(path))
	if strings.HasSuffix(path, "/") {
		return os.RemoveAll(full)
	}
	err := os.Remove(full)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// Driver is what a blob driver in memory offers to be written by.
type Driver interface {
	Put(path string, data []byte, modTime time.Time)
	Delete(ctx context.Context, paths []string) []error
}

// Mem writes a world to a driver in memory.
func Mem(driver Driver) Store { return memory{driver: driver} }

type memory struct{ driver Driver }

// Put makes no directories: a store in memory has none.
func (m memory) Put(path string, data []byte, modTime time.Time) error {
	if !strings.HasSuffix(path, "/") {
		m.driver.Put(path, data, modTime)
	}
	return nil
}

func (m memory) Remove(path string) error {
	if strings.HasSuffix(path, "/") {
		return nil
	}
	return errors.Join(m.driver.Delete(context.Background(), []string{path})...)
}
