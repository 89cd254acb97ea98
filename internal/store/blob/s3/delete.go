package s3

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// batchSize is how many files a server removes by one request.
const batchSize = 1000

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
	group.SetLimit(inFlight)
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

// deleteBatch asks again for those files that the server could not remove just
// now.
func (w *Writable) deleteBatch(ctx context.Context, left batch, errs []error) {
	for attempt := 1; len(left) > 0; attempt++ {
		failed, err := w.deleteOnce(ctx, left)
		if err != nil {
			for path, places := range left {
				fill(errs, places, w.explain(opDelete, path, err))
			}
			return
		}
		again := batch{}
		for path, cause := range failed {
			if passingCode(cause.ErrorCode()) && attempt < attempts {
				again[path] = left[path]
				continue
			}
			fill(errs, left[path], w.explain(opDelete, path, cause))
		}
		if left = again; len(left) > 0 {
			_ = w.again.sleep(ctx, w.again.pause(attempt, nil))
		}
	}
}

// deleteOnce returns what the server says of the files that it did not remove.
func (w *Writable) deleteOnce(ctx context.Context, paths batch) (map[string]smithy.APIError, error) {
	objects := make([]types.ObjectIdentifier, 0, len(paths))
	for path := range paths {
		objects = append(objects, types.ObjectIdentifier{Key: w.key(path)})
	}
	var out *sdk.DeleteObjectsOutput
	err := w.again.try(ctx, func(ctx context.Context) (err error) {
		out, err = w.api.DeleteObjects(ctx, &sdk.DeleteObjectsInput{
			Bucket: &w.bucket,
			Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)},
		}, signedByMD5)
		return err
	})
	if err != nil {
		return nil, err
	}
	failed := map[string]smithy.APIError{}
	for _, e := range out.Errors {
		path, ours := strings.CutPrefix(aws.ToString(e.Key), w.prefix)
		if _, asked := paths[path]; !ours || !asked {
			return nil, &distrust{fmt.Sprintf("it could not remove %q, which it was not asked to: %s", aws.ToString(e.Key), aws.ToString(e.Code))}
		}
		if aws.ToString(e.Code) != "NoSuchKey" {
			failed[path] = &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
		}
	}
	for _, e := range out.Deleted {
		if _, asked := paths[strings.TrimPrefix(aws.ToString(e.Key), w.prefix)]; !asked {
			return nil, &distrust{fmt.Sprintf("it says that it removed %q, which it was not asked to", aws.ToString(e.Key))}
		}
	}
	return failed, nil
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
		_, err := w.api.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &w.bucket, Key: w.key(path)})
		return err
	})
	if err != nil && !(statusOf(err) == http.StatusNotFound && codeOf(err) == "NoSuchKey") {
		return w.explain(opDelete, path, err)
	}
	return nil
}
