package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Unfinished are the uploads in parts below dir. An error wraps
// errors.ErrUnsupported where the server does not show them.
func (d *Driver) Unfinished(ctx context.Context, dir string) ([]blob.Unfinished, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := blob.CheckDir(dir); err != nil {
		return nil, d.wrap("", err)
	}
	begun, err := d.begun(ctx, dir)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []blob.Unfinished
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, u := range begun {
		group.Go(func() error {
			there, err := d.weigh(ctx, &u)
			mu.Lock()
			defer mu.Unlock()
			if there {
				found = append(found, u)
			}
			return err
		})
	}
	return found, group.Wait()
}

// begun are the uploads without their sizes.
func (d *Driver) begun(ctx context.Context, dir string) ([]blob.Unfinished, error) {
	in := &sdk.ListMultipartUploadsInput{Bucket: &d.bucket, Prefix: d.key(""), EncodingType: types.EncodingTypeUrl}
	if dir != "" {
		in.Prefix = d.key(dir + "/")
	}
	var all []blob.Unfinished
	for {
		var out *sdk.ListMultipartUploadsOutput
		err := d.again.try(ctx, func(ctx context.Context) (err error) {
			out, err = d.api.ListMultipartUploads(ctx, in)
			return err
		})
		if err != nil {
			return nil, d.explain(ctx, opUploads, "", err)
		}
		for _, u := range out.Uploads {
			one, shown, err := d.upload(u, *in.Prefix, out.EncodingType)
			if err != nil {
				return nil, d.wrap("", err)
			}
			if shown {
				all = append(all, one)
			}
		}
		if out.IsTruncated == nil {
			return nil, d.wrap("", &distrust{"it does not say whether there are more uploads"})
		}
		if !*out.IsTruncated {
			return all, nil
		}
		if err := onward(in, out); err != nil {
			return nil, d.wrap("", err)
		}
	}
}

// upload leaves out what is no file.
func (d *Driver) upload(u types.MultipartUpload, prefix string, encoding types.EncodingType) (blob.Unfinished, bool, error) {
	key, err := plainKey(u.Key, encoding)
	if err != nil {
		return blob.Unfinished{}, false, err
	}
	if !strings.HasPrefix(key, prefix) || aws.ToString(u.UploadId) == "" {
		return blob.Unfinished{}, false, &distrust{fmt.Sprintf("it shows an upload of %q below %q", key, prefix)}
	}
	one := blob.Unfinished{Path: key[len(d.prefix):], ID: *u.UploadId}
	if u.Initiated != nil {
		one.Touched = u.Initiated.UTC()
	}
	return one, blob.CheckPath(one.Path) == nil, nil
}

func plainKey(key *string, encoding types.EncodingType) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(key), nil
	}
	text, err := url.QueryUnescape(aws.ToString(key))
	if err != nil {
		return "", &garbled{err.Error()}
	}
	return text, nil
}

// onward makes the request for the next page, which must be another one.
func onward(in *sdk.ListMultipartUploadsInput, out *sdk.ListMultipartUploadsOutput) error {
	key, err := plainKey(out.NextKeyMarker, out.EncodingType)
	if err != nil {
		return err
	}
	id := aws.ToString(out.NextUploadIdMarker)
	before := aws.ToString(in.KeyMarker)
	if key < before || key == before && (id == "" || id == aws.ToString(in.UploadIdMarker)) {
		return &distrust{"there are more uploads, but it does not say how to go on"}
	}
	in.KeyMarker, in.UploadIdMarker = &key, nil
	if id != "" {
		in.UploadIdMarker = &id
	}
	return nil
}

// weigh adds up an upload's parts, and tells whether it is still there.
func (d *Driver) weigh(ctx context.Context, u *blob.Unfinished) (bool, error) {
	in := &sdk.ListPartsInput{Bucket: &d.bucket, Key: d.key(u.Path), UploadId: &u.ID}
	for {
		var out *sdk.ListPartsOutput
		err := d.again.try(ctx, func(ctx context.Context) (err error) {
			out, err = d.api.ListParts(ctx, in)
			return err
		})
		if vanished(err) {
			return false, nil
		}
		if err != nil {
			return false, d.explain(ctx, opParts, u.Path, err)
		}
		for _, part := range out.Parts {
			u.Size += aws.ToInt64(part.Size)
			u.Touched = newest(u.Touched, part.LastModified)
		}
		if out.IsTruncated == nil {
			return false, d.wrap(u.Path, &distrust{"it does not say whether there are more parts"})
		}
		if !*out.IsTruncated {
			return true, nil
		}
		next := aws.ToString(out.NextPartNumberMarker)
		if next == "" || next == aws.ToString(in.PartNumberMarker) || len(out.Parts) == 0 {
			return false, d.wrap(u.Path, &distrust{"there are more parts, but it does not say how to go on"})
		}
		in.PartNumberMarker = &next
	}
}

// newest is the later time. One that is not told may be any, and leaves it unknown.
func newest(known time.Time, told *time.Time) time.Time {
	switch {
	case known.IsZero() || told == nil:
		return time.Time{}
	case told.After(known):
		return told.UTC()
	}
	return known
}

func vanished(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) == "NoSuchUpload"
}

// Abort gives up uploads in parts. See blob.Aborter.
func (w *Writable) Abort(ctx context.Context, uploads []blob.Unfinished) []error {
	if len(uploads) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]error{err}, len(uploads))
	}
	errs := make([]error, len(uploads))
	ctx = context.WithoutCancel(ctx)
	var group errgroup.Group
	group.SetLimit(inFlight)
	for i, u := range uploads {
		group.Go(func() error { errs[i] = w.abort(ctx, u); return nil })
	}
	_ = group.Wait() // errors are in errs
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil
	}
	return errs
}

func (w *Writable) abort(ctx context.Context, u blob.Unfinished) error {
	if err := w.check(ctx, u.Path); err != nil {
		return err
	}
	err := w.again.try(ctx, func(ctx context.Context) error {
		out, err := w.api.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{
			Bucket: &w.bucket, Key: w.key(u.Path), UploadId: &u.ID,
		})
		if err != nil {
			return err
		}
		return gone(out.ResultMetadata)
	})
	if err != nil && !vanished(err) {
		return w.explain(ctx, opAbort, u.Path, err)
	}
	return nil
}
