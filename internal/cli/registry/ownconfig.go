package registry

import (
	"path/filepath"
	"strings"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/registryconfig"
	"github.com/ebb-io/ebb/internal/store/blob/s3"
)

// configScheme stands before the path of a registry's own configuration.
const configScheme = "config:"

// parseOwn reads config:PATH, the registry's own configuration, with the
// variables that its registry would have: those of this process.
func parseOwn(path string, pace float64, environ []string) (storage, error) {
	own, err := registryconfig.Read(path, environ)
	if err != nil {
		return storage{}, &cli.UsageError{Err: err}
	}
	s := folderStorage(own.Storage.Root)
	if own.Storage.S3 != nil {
		if !own.Storage.S3.V4Auth {
			return storage{}, cli.Usagef("registry configuration %s: v4auth is off, and signatures of version 2 are not supported: name the bucket by an s3:// URL", path)
		}
		if s, err = bucketStorage(ownBucket(own.Storage.S3, pace), environ); err != nil {
			return storage{}, err
		}
	}
	s.own = &own
	if s.Config, err = filepath.Abs(path); err != nil {
		return storage{}, cli.Usagef("registry configuration %s: %w", path, err)
	}
	return s, nil
}

func ownBucket(o *registryconfig.S3, pace float64) s3.Options {
	style := o.PathStyle()
	options := s3.Options{
		Bucket: o.Bucket, Prefix: o.Prefix, Region: o.Region, Endpoint: endpoint(o), PathStyle: &style,
		SkipVerify: o.SkipVerify, MaxRequestsPerSecond: pace,
	}
	if o.AccessKey != "" && o.SecretKey != "" {
		options.AccessKey, options.SecretKey = string(o.AccessKey), string(o.SecretKey)
	}
	return options
}

func endpoint(o *registryconfig.S3) string {
	switch {
	case o.Endpoint == "" || strings.Contains(o.Endpoint, "://"):
		return o.Endpoint
	case o.Secure:
		return "https://" + o.Endpoint
	}
	return "http://" + o.Endpoint
}
