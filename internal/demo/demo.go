// Package demo fills a registry with a small world that has something to
// reclaim: virtual-machine images of three kinds, an application for two
// platforms, signatures of both sorts, shared layers, an abandoned upload and
// a tag that an earlier object of the same name left. It also writes what
// kubectl says of the owners, before and after some of them are removed.
//
// It pushes over HTTP as any client does and never touches the folder of the
// registry, but for Backdate. It decides nothing about what is kept: it says
// what must come out, so that a demo that goes wrong is seen to.
package demo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ebb-io/ebb/internal/demo/server/client"
)

// World is what Populate pushed.
type World struct {
	// Before and After are the owners as `kubectl get clustervirtualimages,
	// virtualimages,virtualdisks,pods -A -o yaml` writes them, while all live
	// and when some were removed.
	Before, After []byte
	// Kept and Lost are the images that a run with the owners of After keeps
	// and deletes. A part of another image is in neither.
	Kept, Lost []Image
	// Child is a platform's image that no tag names: what explain can tell
	// most about.
	Child Image
	// Upload is the identifier of the abandoned upload, in UploadRepository.
	Upload, UploadRepository string
}

// Image is an image of the demo.
type Image struct {
	Repository string
	Tag        string // empty where it has none
	Digest     string
	Reason     string // a code that a plan must give among its reasons
}

// String is the image's name: by its tag if it has one.
func (i Image) String() string {
	if i.Tag == "" {
		return i.Repository + "@" + i.Digest
	}
	return i.Repository + ":" + i.Tag
}

// Populate pushes the world to the empty registry at host, a host and port.
func Populate(ctx context.Context, host string) (World, error) {
	f := filler{client: client.Client{Host: host}}
	for _, step := range []func(context.Context) error{f.machines, f.application, f.signatures, f.upload} {
		if err := step(ctx); err != nil {
			return World{}, fmt.Errorf("fill registry %s: %w", host, err)
		}
	}
	return f.world, f.owners()
}

// Verify pulls every image that is kept, whole, and proves that none that is
// lost can be pulled.
func (w World) Verify(ctx context.Context, host string) error {
	registry := client.Client{Host: host}
	for _, image := range w.Kept {
		if err := registry.PullWhole(ctx, image.Repository, image.ref()); err != nil {
			return fmt.Errorf("kept image %s: %w", image, err)
		}
	}
	for _, image := range w.Lost {
		if err := registry.PullWhole(ctx, image.Repository, image.ref()); err == nil {
			return fmt.Errorf("lost image %s can still be pulled", image)
		}
	}
	return nil
}

// Backdate makes every file below dir as old as at, as if the world had stood
// for a while.
func Backdate(dir string, at time.Time) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		return fmt.Errorf("backdate %s: %w", dir, err)
	}
	return nil
}

func (i Image) ref() string {
	if i.Tag == "" {
		return i.Digest
	}
	return i.Tag
}
