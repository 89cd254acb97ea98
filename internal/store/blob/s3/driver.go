// Package s3 keeps blobs in a bucket of S3, of AWS or of another server that
// speaks its language.
//
// A Driver only reads, there is no method on it that changes anything. A
// Writable also deletes, locks, puts and gives up uploads in parts. Neither
// takes a failure for absence, nor a listing at its word: keys that do not
// ascend, pages that repeat, ends that are none are errors. It makes no bucket,
// changes no settings of one, and prints no secrets.
//
// Directories are what the slashes in keys suggest: one exists while a key is
// below it. Keys that could name nothing on a disk, and those that end in a
// slash, are left alone and never shown.
package s3

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// inFlight is how many requests of one kind are on their way at once: enough to
// hide the latency of a server, few enough not to be told to slow down.
const inFlight = 64

// Driver reads a storage. It is safe for concurrent use.
type Driver struct {
	api    *sdk.Client
	send   *sender
	bucket string
	prefix string // of every key: "" or with a slash at its end
	again  retrier
	buffer sync.Pool // *bytes.Buffer, for listings
}

var (
	_ blob.Reader    = (*Driver)(nil)
	_ blob.Remote    = (*Driver)(nil)
	_ blob.Multipart = (*Driver)(nil)
)

// Writable reads, deletes, locks and mends a storage. It is safe for concurrent
// use.
type Writable struct{ *Driver }

var (
	_ blob.Deleter = (*Writable)(nil)
	_ blob.Locker  = (*Writable)(nil)
	_ blob.Writer  = (*Writable)(nil)
	_ blob.Aborter = (*Writable)(nil)
)

// Open returns a driver that cannot write. It finds credentials and the
// region, and sends no other request; see Probe.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o.Prefix = strings.Trim(o.Prefix, "/")
	d := &Driver{bucket: o.Bucket, prefix: o.Prefix}
	if d.prefix != "" {
		d.prefix += "/"
	}
	if err := o.check(); err != nil {
		return nil, d.wrap("", err)
	}
	var err error
	if d.api, d.send, err = o.client(ctx); err != nil {
		return nil, d.wrap("", err)
	}
	d.again = newRetrier(d.send)
	if err := d.identify(ctx); err != nil {
		return nil, d.wrap("", err)
	}
	return d, d.locate(ctx)
}

// OpenWritable is Open for a storage that may be changed.
func OpenWritable(ctx context.Context, o Options) (*Writable, error) {
	d, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Writable{d}, nil
}

func (d *Driver) identify(ctx context.Context) error {
	if _, err := d.api.Options().Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if strings.Contains(err.Error(), "no EC2 IMDS role found") { // the last place to look, and no mistake
			return errNoCredentials
		}
		return fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	return nil
}

// locate asks the bucket for its region where nothing else tells it.
func (d *Driver) locate(ctx context.Context) error {
	options := d.api.Options()
	if options.Region != "" {
		return nil
	}
	region, err := d.regionOf(ctx, sdk.New(options, func(o *sdk.Options) { o.Region = defaultRegion }))
	if err != nil {
		return err
	}
	d.api = sdk.New(options, func(o *sdk.Options) { o.Region = region })
	return nil
}

// regionOf is the bucket's region: every answer names it, refusals too.
func (d *Driver) regionOf(ctx context.Context, client *sdk.Client) (string, error) {
	var region string
	err := d.again.try(ctx, func(ctx context.Context) error {
		out, err := client.HeadBucket(ctx, &sdk.HeadBucketInput{Bucket: &d.bucket})
		if err == nil {
			region = aws.ToString(out.BucketRegion)
		} else if named := regionNamedBy(err); named != "" {
			region, err = named, nil
		}
		return err
	})
	if err == nil && region == "" {
		err = errors.New("the server does not say in which region the bucket is: give the region")
	}
	if err != nil {
		return "", d.explain(ctx, opHead, "", err)
	}
	return region, nil
}

// Probe sends one cheap request, a listing of one key, that finds out whether
// the storage can be reached and listed. Its error is one sentence that says
// what to do.
func (d *Driver) Probe(ctx context.Context) error {
	var p page
	return d.list(ctx, listing{limit: 1}, &p)
}

// Versioned tells whether the bucket keeps old versions, so that deleting
// frees nothing. An error says that it cannot be told: it wraps
// fs.ErrPermission where that is not allowed, errors.ErrUnsupported where the
// server does not know versions.
func (d *Driver) Versioned(ctx context.Context) (bool, error) {
	var out *sdk.GetBucketVersioningOutput
	err := d.again.try(ctx, func(ctx context.Context) (err error) {
		out, err = d.api.GetBucketVersioning(ctx, &sdk.GetBucketVersioningInput{Bucket: &d.bucket})
		return err
	})
	if err != nil {
		return false, d.explain(ctx, opVersioning, "", err)
	}
	// Where it is suspended, what was written before is still kept.
	return out.Status == types.BucketVersioningStatusEnabled || out.Status == types.BucketVersioningStatusSuspended, nil
}

// InFlight is how many requests may be on their way at once.
func (d *Driver) InFlight() int { return inFlight }

// Requests is how many HTTP requests were sent so far, every attempt counted.
func (d *Driver) Requests() int64 { return d.send.sent.Load() }

func (d *Driver) key(path string) *string { return aws.String(d.prefix + path) }

func (d *Driver) check(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := blob.CheckPath(path); err != nil {
		return d.wrap("", err)
	}
	return nil
}

func (d *Driver) wrap(path string, err error) error {
	name := "store s3://" + strings.TrimSuffix(d.bucket+"/"+d.prefix, "/")
	if path == "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s: %s: %w", name, path, err)
}

func (d *Driver) absent(path string) error { return d.wrap(path, iofs.ErrNotExist) }
