package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/store/blob"
)

const (
	// batchSize is how many files a server removes by one request.
	batchSize = 1000
	// deletesInFlight is how many requests to delete are on their way at once:
	// each is a thousand writes, of which AWS takes 3,500 a second below one
	// prefix before it says to slow down.
	deletesInFlight = 8
)

// Delete removes files. Directories are not real: a path with a slash at its
// end is looked at and no more. See blob.Deleter.
func (w *Writable) Delete(ctx context.Context, paths []string) []error {
	if len(paths) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return slices.Repeat([]error{err}, len(paths))
	}
	errs := make([]error, len(paths))
	batches, single := w.batches(paths, errs)
	ctx = context.WithoutCancel(ctx) // the batch in hand is finished
	var group errgroup.Group
	group.SetLimit(deletesInFlight)
	for _, batch := range batches {
		group.Go(func() error { w.deleteBatch(ctx, batch, errs); return nil })
	}
	for path, places := range single {
		group.Go(func() error { fill(errs, places, w.remove(ctx, path)); return nil })
	}
	_ = group.Wait() // errors are in errs
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil
	}
	return errs
}

// batch says where in the answer each path's error goes.
type batch map[string][]int

// batches leaves apart what cannot be written into a request for many.
func (w *Writable) batches(paths []string, errs []error) ([]batch, batch) {
	var all []batch
	current, single := batch{}, batch{}
	for i, path := range paths {
		name, dir := strings.CutSuffix(path, "/")
		if err := blob.CheckPath(name); err != nil {
			errs[i] = w.wrap("", err)
			continue
		}
		switch {
		case dir:
		case !plain(path):
			single[path] = append(single[path], i)
		default:
			current[path] = append(current[path], i)
		}
		if len(current) == batchSize {
			all, current = append(all, current), batch{}
		}
	}
	if len(current) > 0 {
		all = append(all, current)
	}
	return all, single
}

// plain tells whether XML can hold a path.
func plain(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool {
		return r < ' ' || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD
	})
}

func fill(errs []error, places []int, err error) {
	for _, i := range places {
		errs[i] = err
	}
}

// deletion is one batch on its way.
type deletion struct {
	*Writable
	left   batch            // what the server has not settled yet
	causes map[string]error // why, by path, as far as it said
	errs   []error
}

// leftover says that a server answered, but could not remove all just now.
type leftover struct{ files int }

func (e *leftover) Error() string { return fmt.Sprintf("%d files are not removed yet", e.files) }

// deleteBatch asks again for those files that the server could not remove just
// now, and for those of which it said nothing.
func (w *Writable) deleteBatch(ctx context.Context, all batch, errs []error) {
	d := &deletion{Writable: w, left: all, errs: errs}
	err := w.again.try(ctx, d.attempt)
	for path, places := range d.left {
		cause := err
		var some *leftover
		if errors.As(err, &some) {
			cause = d.causes[path]
		}
		fill(errs, places, w.explain(ctx, opDelete, path, cause))
	}
}

// attempt settles what the server removed and what it never will.
func (d *deletion) attempt(ctx context.Context) error {
	causes, err := d.deleteOnce(ctx, d.left)
	if err != nil {
		return err
	}
	d.causes = causes
	for path, places := range d.left {
		cause := causes[path]
		if cause != nil && (passing(cause) || passingCode(codeOf(cause))) {
			continue
		}
		if cause != nil {
			fill(d.errs, places, d.explain(ctx, opDelete, path, cause))
		}
		delete(d.left, path)
	}
	if len(d.left) > 0 {
		return &leftover{len(d.left)}
	}
	return nil
}

// deleteOnce returns why a file was not removed, or is not known to be: only
// what the answer names is.
func (w *Writable) deleteOnce(ctx context.Context, paths batch) (map[string]error, error) {
	objects := make([]types.ObjectIdentifier, 0, len(paths))
	for path := range paths {
		objects = append(objects, types.ObjectIdentifier{Key: w.key(path)})
	}
	out, err := w.api.DeleteObjects(ctx, &sdk.DeleteObjectsInput{
		Bucket: &w.bucket,
		Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(false)},
	}, signedByMD5)
	if err != nil {
		return nil, err
	}
	causes := make(map[string]error, len(paths))
	for path := range paths {
		causes[path] = &garbled{"it does not say whether the file was removed"}
	}
	for _, e := range out.Deleted {
		path, ok := w.asked(paths, e.Key)
		if !ok {
			return nil, &distrust{fmt.Sprintf("it says that it removed %q, which it was not asked to", aws.ToString(e.Key))}
		}
		delete(causes, path)
	}
	for _, e := range out.Errors {
		path, ok := w.asked(paths, e.Key)
		if !ok {
			return nil, &distrust{fmt.Sprintf("it could not remove %q, which it was not asked to: %s", aws.ToString(e.Key), aws.ToString(e.Code))}
		}
		if delete(causes, path); aws.ToString(e.Code) != "NoSuchKey" {
			causes[path] = &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
		}
	}
	return causes, nil
}

// asked is the path of a key that an answer names, if it was asked for.
func (w *Writable) asked(paths batch, key *string) (string, bool) {
	path, ours := strings.CutPrefix(aws.ToString(key), w.prefix)
	_, ok := paths[path]
	return path, ours && ok
}

// signedByMD5 puts the one checksum on a request that AWS and all other servers
// know; this operation takes one.
func signedByMD5(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		for _, id := range []string{"AWSChecksum:SetupInputContext", "AWSChecksum:ComputeInputPayloadChecksum"} {
			_, _ = stack.Initialize.Remove(id) // where it is not, it adds nothing
			_, _ = stack.Finalize.Remove(id)
		}
		return smithyhttp.AddContentChecksumMiddleware(stack)
	})
}

// remove removes one file.
func (w *Writable) remove(ctx context.Context, path string) error {
	err := w.again.try(ctx, func(ctx context.Context) error {
		out, err := w.api.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &w.bucket, Key: w.key(path)})
		if err != nil {
			return err
		}
		return gone(out.ResultMetadata)
	})
	if err != nil && !(statusOf(err) == http.StatusNotFound && codeOf(err) == "NoSuchKey") {
		return w.explain(ctx, opDelete, path, err)
	}
	return nil
}

// gone is nil for the answer by which a server says that a single thing is gone:
// 204 or, of some, 200, and nothing in it. The SDK takes any for it.
func gone(answer middleware.Metadata) error {
	response, ok := awsmiddleware.GetRawResponse(answer).(*smithyhttp.Response)
	if ok && (response.StatusCode == http.StatusNoContent || response.StatusCode == http.StatusOK && response.ContentLength == 0) {
		return nil
	}
	return &garbled{"it does not say that what was asked for is gone"}
}
