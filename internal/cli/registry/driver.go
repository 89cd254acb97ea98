package registry

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/registry"
	"github.com/ebb-io/ebb/internal/store/registry/manifestcache"
)

// cacheOff is the word for no cache.
const cacheOff = "off"

// openCache keeps manifests for the next time, where reading each one is a
// request, or where a person asked for it. The function gives it back.
func (j *job) openCache(driver blob.Reader) (registry.ManifestCache, func()) {
	_, remote := driver.(blob.Remote)
	if j.cache == cacheOff || j.cache == "" && !remote {
		return nil, func() {}
	}
	cache, err := openCacheAt(j.cache)
	j.doubtCache(err)
	return cache, func() { j.doubtCache(cache.Close()) }
}

// openCacheAt opens the cache in a folder, or in that of this user. With an
// error it is nil, and keeps nothing.
func openCacheAt(dir string) (cache *manifestcache.Cache, err error) {
	if dir == "" {
		dir, err = manifestcache.DefaultDir()
	}
	if err != nil {
		return nil, err
	}
	return manifestcache.Open(dir, manifestcache.DefaultLimit)
}

func (j *job) doubtCache(err error) {
	if err != nil {
		j.Note("warning: manifests are read without a cache: %v (--cache DIR names another place, --cache off none)", err)
	}
}

// use says what a person should know of a storage that was opened, and shows how
// far the work in it is. The function ends that, and says what the work took.
func (j *job) use(ctx context.Context, driver blob.Reader) (done func()) {
	j.versions(ctx, driver)
	j.warnStorage()
	j.shown = j.progress.show(j.App)
	return func() {
		j.shown.Stop()
		j.spent(driver)
	}
}

// versions notes whether the storage keeps what is deleted, where it is one that
// may.
func (j *job) versions(ctx context.Context, driver blob.Reader) {
	store, ok := driver.(interface {
		Versioned(ctx context.Context) (bool, error)
	})
	if !ok {
		return
	}
	versioned, err := store.Versioned(ctx)
	switch {
	case err != nil:
		j.doubtVersions(err)
	case versioned:
		j.storage.Versioned = report.VersionsKept
	default:
		j.storage.Versioned = report.VersionsNot
	}
}

func (j *job) doubtVersions(why error) {
	j.storage.Versioned = report.VersionsUnknown
	switch {
	case errors.Is(why, errors.ErrUnsupported):
		why = errors.New("the server does not know versions")
	case errors.Is(why, iofs.ErrPermission):
		why = errors.New("s3:GetBucketVersioning is not allowed")
	}
	if j.Common.Verbose {
		j.Note("whether the bucket keeps old versions is not known: %v", why)
	}
}

// warnStorage says what is special about the storage.
func (j *job) warnStorage() {
	if j.storage.Versioned == report.VersionsKept {
		j.Note("warning: the bucket keeps old versions: what is deleted takes room until they expire by its lifecycle rules")
	}
	if j.storage.own == nil {
		return
	}
	for _, warning := range j.storage.own.Warnings {
		j.Note("warning: registry configuration: %s", warning)
	}
}

// spent tells what a server was asked, for those who pay by request.
func (j *job) spent(driver blob.Reader) {
	if server, ok := driver.(interface{ Requests() int64 }); ok && j.Common.Verbose {
		j.Note("the storage was sent %s requests", report.Number(server.Requests()))
	}
}
