package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Stat shows a file without its content. It asks for the first byte: an answer
// to HEAD has no body, so that nobody could tell a file that is not there from
// anything else that says 404.
func (d *Driver) Stat(ctx context.Context, path string) (blob.Entry, error) {
	if err := d.check(ctx, path); err != nil {
		return blob.Entry{}, err
	}
	entry := blob.Entry{Path: path}
	err := d.again.try(ctx, func(ctx context.Context) error {
		in := &sdk.GetObjectInput{Bucket: &d.bucket, Key: d.key(path), Range: aws.String("bytes=0-0")}
		out, err := d.api.GetObject(ctx, in)
		if statusOf(err) == http.StatusRequestedRangeNotSatisfiable { // it is empty, and may be shown whole
			in.Range = nil
			out, err = d.api.GetObject(ctx, in)
		}
		if err != nil {
			return err
		}
		defer out.Body.Close()
		if out.LastModified != nil {
			entry.ModTime = out.LastModified.UTC()
		}
		entry.Size, err = wholeSize(out)
		return err
	})
	if err != nil {
		return blob.Entry{}, d.explain(ctx, opGet, path, err)
	}
	return entry, nil
}

// wholeSize is a file's size by an answer that gives its first byte, or all.
func wholeSize(out *sdk.GetObjectOutput) (size int64, err error) {
	if out.ContentRange != nil {
		if _, err := fmt.Sscanf(*out.ContentRange, "bytes 0-0/%d", &size); err != nil || size < 1 {
			return 0, &garbled{fmt.Sprintf("it gives %.80q of the file where its first byte was asked for", *out.ContentRange)}
		}
		return size, nil
	}
	if out.ContentLength == nil {
		return 0, &garbled{"it does not tell the file's size"}
	}
	return *out.ContentLength, nil
}

// Read streams a file. Where the stream breaks it goes on from there, as long
// as the file is the same.
func (d *Driver) Read(ctx context.Context, path string, w io.Writer) (blob.Entry, error) {
	if err := d.check(ctx, path); err != nil {
		return blob.Entry{}, err
	}
	r := &reading{driver: d, path: path, to: w, size: -1}
	err := d.again.try(ctx, r.attempt)
	entry := blob.Entry{Path: path, Size: r.done, ModTime: r.modTime()}
	switch {
	case r.refused != nil:
		return entry, r.refused
	case statusOf(err) == http.StatusPreconditionFailed:
		return entry, d.wrap(path, errChanged)
	case err != nil:
		return entry, d.explain(ctx, opGet, path, err)
	}
	return entry, nil
}

// reading is one call of Read.
type reading struct {
	driver  *Driver
	path    string
	to      io.Writer
	first   *sdk.GetObjectOutput // of the first answer
	size    int64                // -1 where it is not known
	done    int64                // bytes that were written
	refused error                // the writer's
}

func (r *reading) modTime() (t time.Time) {
	if r.first != nil && r.first.LastModified != nil {
		return r.first.LastModified.UTC()
	}
	return t
}

// attempt returns nil when the file was read or the writer wants no more.
func (r *reading) attempt(ctx context.Context) error {
	in := &sdk.GetObjectInput{Bucket: &r.driver.bucket, Key: r.driver.key(r.path)}
	if r.done > 0 {
		if r.done == r.size {
			return nil
		}
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", r.done))
		if in.IfMatch = r.first.ETag; in.IfMatch == nil {
			return &distrust{"it broke a file off and does not tell its ETag, so the rest may be another's"}
		}
	}
	out, err := r.driver.api.GetObject(forContent(ctx), in)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	if err := r.begin(out, in.Range != nil); err != nil {
		return err
	}
	return r.copy(out.Body)
}

// begin takes note of a whole answer, and finds the place to go on in another.
func (r *reading) begin(out *sdk.GetObjectOutput, part bool) error {
	if !part {
		r.first, r.size = out, -1
		if out.ContentLength != nil {
			r.size = *out.ContentLength
		}
		return nil
	}
	if aws.ToString(out.ETag) != aws.ToString(r.first.ETag) {
		return &distrust{errChanged.Error()}
	}
	if out.ContentRange == nil { // the server began anew
		if _, err := io.CopyN(io.Discard, out.Body, r.done); err != nil {
			return &garbled{"it was cut: " + err.Error()}
		}
		return nil
	}
	var from int64
	if _, err := fmt.Sscanf(*out.ContentRange, "bytes %d-", &from); err != nil || from != r.done {
		return &distrust{fmt.Sprintf("it gives %.80q of the file where byte %d was asked for", *out.ContentRange, r.done)}
	}
	return nil
}

func (r *reading) copy(body io.Reader) error {
	_, err := io.Copy(&tracked{r}, body)
	switch {
	case r.refused != nil:
		return nil
	case err != nil:
		return &garbled{"it was cut: " + err.Error()}
	case r.size >= 0 && r.done < r.size:
		return &garbled{fmt.Sprintf("it was cut after %d of %d bytes", r.done, r.size)}
	case r.size >= 0 && r.done > r.size:
		return &distrust{fmt.Sprintf("the file has %d bytes and not %d", r.done, r.size)}
	}
	return nil
}

// tracked keeps the writer's error apart from those of the stream.
type tracked struct{ *reading }

func (t *tracked) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	t.done += int64(n)
	t.refused = err
	return n, err
}
