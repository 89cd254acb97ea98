package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/s3"
	"github.com/ebb-io/ebb/internal/store/registry"
)

// bucket is a storage in S3.
type bucket struct {
	name    string
	options s3.Options
}

// parseBucket reads s3://bucket/prefix?endpoint=URL&region=NAME&forcepathstyle=BOOL.
func parseBucket(text string, pace float64, environ []string) (storage, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return storage{}, cli.Usagef("storage: want s3://bucket/prefix, with ?endpoint=URL for a server other than AWS")
	}
	if u.User != nil {
		return storage{}, cli.Usagef("storage: keys do not belong into an s3:// URL, which ends up in plans and logs: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
	}
	o := s3.Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), MaxRequestsPerSecond: pace}
	if err := readQuery(u, &o); err != nil {
		return storage{}, cli.Usagef("storage %s: %w", withoutSecrets(text), err)
	}
	return bucketStorage(o, environ)
}

func readQuery(u *url.URL, o *s3.Options) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("what follows the question mark can not be read")
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return errors.New(name + " wants one value")
		}
		switch name {
		case "endpoint":
			o.Endpoint = values[0]
		case "region":
			o.Region = values[0]
		case "forcepathstyle":
			style, err := strconv.ParseBool(values[0])
			if err != nil {
				return errors.New("forcepathstyle is true or false")
			}
			o.PathStyle = &style
		default:
			return errors.New(name + " is not known: endpoint, region and forcepathstyle are")
		}
	}
	return nil
}

// endpointOf is the endpoint that the variables of AWS name, ranked as by its
// SDK. What a profile says of endpoints stays the SDK's affair: no name of a
// storage tells it.
func endpointOf(environ []string) string {
	value := func(name string) string {
		for _, entry := range environ {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				return v
			}
		}
		return ""
	}
	if strings.EqualFold(value("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return ""
	}
	return cmp.Or(value("AWS_ENDPOINT_URL_S3"), value("AWS_ENDPOINT_URL"))
}

// checkEndpoint does not repeat what may hold a secret.
func checkEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the endpoint must be a URL such as https://s3.example.org, without credentials")
	}
	return nil
}

// bucketStorage names a bucket as a URL that leads to it again, whatever the
// variables are by then; no secrets.
func bucketStorage(o s3.Options, environ []string) (storage, error) {
	if o.Endpoint == "" {
		o.Endpoint = endpointOf(environ)
	}
	if o.Endpoint != "" {
		if err := checkEndpoint(o.Endpoint); err != nil {
			return storage{}, cli.Usagef("storage s3://%s: %w", path.Join(o.Bucket, o.Prefix), err)
		}
	}
	name := bucketURL(o)
	return storage{
		name:     name,
		identity: strings.Join([]string{"s3", strings.TrimSuffix(o.Endpoint, "/"), o.Bucket, o.Prefix}, " "),
		Store:    report.Store{URL: name, Name: path.Base(path.Join(o.Bucket, o.Prefix)), Versioned: report.VersionsUnknown},
		place:    bucket{name, o},
		doubt:    "is the prefix the registry's rootdirectory?",
	}, nil
}

func bucketURL(o s3.Options) string {
	query := url.Values{}
	if o.Endpoint != "" {
		query.Set("endpoint", o.Endpoint)
	}
	if o.Region != "" {
		query.Set("region", o.Region)
	}
	if o.PathStyle != nil {
		query.Set("forcepathstyle", strconv.FormatBool(*o.PathStyle))
	}
	readable := strings.NewReplacer("%3A", ":", "%2F", "/") // which a query need not hide
	u := url.URL{Scheme: "s3", Host: o.Bucket, RawQuery: readable.Replace(query.Encode())}
	if o.Prefix != "" {
		u.Path = "/" + o.Prefix
	}
	return u.String()
}

// open also asks the bucket one thing, so that what is wrong with all of it is
// said in one sentence.
func (b bucket) open(ctx context.Context) (blob.Reader, error) {
	d, err := s3.Open(ctx, b.options)
	if err != nil {
		return nil, err
	}
	return d, d.Probe(ctx)
}

func (b bucket) openWritable(ctx context.Context) (app.MendingDriver, error) {
	d, err := s3.OpenWritable(ctx, b.options)
	if err != nil {
		return nil, err
	}
	return d, d.Probe(ctx)
}

func (b bucket) explain(err error) error {
	var locked *blob.LockedError
	switch {
	case errors.Is(err, registry.ErrNoRegistry):
		return fmt.Errorf("storage s3://%s: %w: the prefix is the registry's rootdirectory", path.Join(b.options.Bucket, b.options.Prefix), err)
	case errors.As(err, &locked):
		seen := locked.Since.UTC().Format(time.RFC3339)
		return told{fmt.Sprintf("storage s3://%s: another run is at work, its last sign of life was at %s: wait for it; if it is gone, its lock counts no more ten minutes after that, or run ebb registry unlock three minutes after it",
			path.Join(b.options.Bucket, b.options.Prefix), seen), err}
	}
	return err
}
