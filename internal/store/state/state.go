// Package state is the folder in which Ebb keeps what it remembers of Docker
// engines, and the locks that keep two passes over one engine apart.
//
// It refuses to understand a record, and to lose one in silence: a journal that
// can not be read is set aside and told of.
package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ebb-io/ebb/internal/journal"
)

// The files of the folder.
const (
	journalFile = "journal.json"
	damagedFile = "journal.json.damaged"
	nextFile    = "journal.json.next" // what is being written; one that was cut short is written over
	guardFile   = "journal.lock"      // held while the journal is read and written
)

// What stands in the journal.
const (
	apiVersion = "ebb.io/v1alpha1"
	kind       = "Journal"
	maxBytes   = 64 << 20 // more is no journal
)

// document is the journal as it is written.
type document struct {
	APIVersion string                    `json:"apiVersion"`
	Kind       string                    `json:"kind"`
	Engines    map[string]journal.Record `json:"engines"` // by engine and image store
}

// Dir is the folder.
type Dir struct {
	path  string
	locks string // folder of the locks
	// patience is how long the journal may be another's: a read and a write take
	// no minute.
	patience time.Duration
}

// Open takes the folder at path, and makes it where there is none.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path, locks: everybodys, patience: time.Minute}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return d, fmt.Errorf("state folder: %w", err)
	}
	return d, nil
}

// Load is what is remembered under a key; lost is why nothing is, although
// there is a journal.
func (d *Dir) Load(key string) (record journal.Record, lost, err error) {
	doc, lost, err := d.read()
	return doc.Engines[key], lost, err
}

// Update changes what is remembered under a key. Where change fails, nothing is
// written and its error returned. Lost is why the journal that there was counts
// as none; it has been set aside.
func (d *Dir) Update(ctx context.Context, key string, change func(journal.Record) (journal.Record, error)) (lost, err error) {
	release, err := d.guard(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	doc, lost, err := d.read()
	if err != nil {
		return nil, err
	}
	record, err := change(doc.Engines[key])
	if err != nil {
		return lost, err
	}
	if lost != nil {
		if err := os.Rename(d.file(journalFile), d.file(damagedFile)); err != nil {
			return lost, fmt.Errorf("set the journal aside: %w", err)
		}
	}
	if doc.Engines == nil {
		doc.Engines = map[string]journal.Record{}
	}
	doc.Engines[key] = record
	return lost, d.write(doc)
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// read is the journal. One that is damaged, or of a kind that this program does
// not know, is lost; one that can not be read at all is an error.
func (d *Dir) read() (doc document, lost, err error) {
	f, err := openRegular(d.file(journalFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil, nil
	}
	if err != nil {
		return document{}, nil, fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return document{}, nil, fmt.Errorf("journal: %w", err)
	}
	if lost := decode(data, &doc); lost != nil {
		return document{}, fmt.Errorf("journal %s: %w", d.file(journalFile), lost), nil
	}
	return doc, nil, nil
}

func decode(data []byte, doc *document) error {
	if len(data) > maxBytes {
		return fmt.Errorf("it is larger than %d bytes", maxBytes)
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return err
	}
	if doc.APIVersion != apiVersion || doc.Kind != kind {
		return fmt.Errorf("it is a %q of %q, and this program knows %q of %q", doc.Kind, doc.APIVersion, kind, apiVersion)
	}
	return nil
}

// write replaces the journal at once, and returns when it will stay.
func (d *Dir) write(doc document) (err error) {
	doc.APIVersion, doc.Kind = apiVersion, kind
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	f, err := openRegular(d.file(nextFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("journal: %w", errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if _, err = f.Write(append(data, '\n')); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), d.file(journalFile)); err != nil {
		return err
	}
	return errors.Join(f.Close(), syncFolder(d.path))
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
