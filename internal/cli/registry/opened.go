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

// versions notes whether the storage keeps what is deleted.
func (j *job) versions(ctx context.Context, driver blob.Reader) {
	store, ok := driver.(interface {
		Versioned(ctx context.Context) (bool, error)
	})
	if !ok {
		return
	}
	versioned, err := store.Versioned(ctx)
	j.storage.Versioned = versioned
	if err != nil && j.Common.Verbose {
		why := err
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			why = errors.New("the server does not know versions")
		case errors.Is(err, iofs.ErrPermission):
			why = errors.New("s3:GetBucketVersioning is not allowed")
		}
		j.Note("whether the bucket keeps old versions is not known: %v", why)
	}
}

// spent tells what a server was asked, for those who pay by request.
func (j *job) spent(driver blob.Reader) {
	if server, ok := driver.(interface{ Requests() int64 }); ok && j.Common.Verbose {
		j.Note("the storage was sent %s requests", report.Number(server.Requests()))
	}
}
