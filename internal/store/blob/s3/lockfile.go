package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// errTaken says that the condition of a write did not hold.
var errTaken = errors.New("the lock file is another's, or gone")

// nobodys is what no file's ETag is.
const nobodys = `"00000000000000000000000000000000"`

// lockFile is a lock file as one holder writes it. Each write has a content of
// its own, and so an ETag of its own.
type lockFile struct {
	*Writable
	path  string
	id    string
	beats int
	etag  string // of the last write
}

func (w *Writable) lockFile(path string) *lockFile {
	return &lockFile{Writable: w, path: path, id: rand.Text()}
}

func (f *lockFile) content() string { return fmt.Sprintf("%s\n%d\n", f.id, f.beats) }

// put writes the file where there is none, or where it has the ETag. It returns
// errTaken where that is not so. A write whose answer says little may have been
// done: what the file holds tells.
func (f *lockFile) put(ctx context.Context, etag string) error {
	f.beats++
	var err error
	for attempt := range lockAttempts {
		var written string
		written, err = f.write(ctx, etag)
		if err == nil {
			f.etag = written
			return nil
		}
		if !doubtful(err) {
			return f.explainWrite(ctx, err)
		}
		there, lookErr := f.look(ctx)
		switch {
		case errors.Is(lookErr, iofs.ErrNotExist) && refused(err):
			return errTaken
		case lookErr != nil:
			return f.explainWrite(ctx, err)
		case there.content == f.content():
			f.etag = there.etag
			return nil
		case !strings.HasPrefix(there.content, f.id+"\n"):
			return errTaken
		}
		etag = there.etag // of an earlier write of ours
		if err := f.again.sleep(ctx, f.again.pause(attempt+1, nil)); err != nil {
			return err
		}
	}
	return f.explainWrite(ctx, err)
}

// write returns the new ETag. The retries of a write that was done all the same
// are refused, as another's would be.
func (f *lockFile) write(ctx context.Context, etag string) (string, error) {
	in := &sdk.PutObjectInput{Bucket: &f.bucket, Key: f.key(f.path), Body: strings.NewReader(f.content())}
	if etag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &etag
	}
	var written string
	err := f.again.try(ctx, func(ctx context.Context) error {
		out, err := f.api.PutObject(ctx, in)
		if err == nil {
			written = aws.ToString(out.ETag)
		}
		return err
	})
	if err == nil && written == "" {
		return "", &garbled{"it does not tell the ETag of what was written"}
	}
	return written, err
}

// prove makes sure that the server refuses what it must refuse.
func (f *lockFile) prove(ctx context.Context) error {
	for _, etag := range []string{"", nobodys} {
		_, err := f.write(ctx, etag)
		if err == nil {
			return f.wrap("", ErrNoConditions)
		}
		if !refused(err) {
			return f.explainWrite(ctx, err)
		}
	}
	return nil
}

func (f *lockFile) explainWrite(ctx context.Context, err error) error {
	switch codeOf(err) {
	case "NotImplemented", "InvalidArgument", "InvalidRequest", "MethodNotAllowed":
		return f.wrap("", fmt.Errorf("%w (it says %s)", ErrNoConditions, codeOf(err)))
	}
	if statusOf(err) == http.StatusNotImplemented {
		return f.wrap("", ErrNoConditions)
	}
	return f.explain(ctx, opPut, f.path, err)
}

// refused tells that a condition did not hold, or that others wrote at the same
// time.
func refused(err error) bool {
	switch statusOf(err) {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return true
	case http.StatusNotFound:
		return codeOf(err) != "NoSuchBucket"
	}
	return false
}

// doubtful tells that a write may have been done, or refused because it was
// done before.
func doubtful(err error) bool {
	return refused(err) || passing(err)
}

// found is a lock file as it stands.
type found struct {
	content string
	etag    string
	beat    time.Time // the holder's last sign of life
	now     time.Time // by the same clock; zero where the server did not tell
}

// silent tells that the holder is taken for gone.
func (s found) silent() bool { return s.timed() && s.now.Sub(s.beat) >= holderSilence }

// alive tells that the holder is known to be there.
func (s found) alive() bool { return s.timed() && s.now.Sub(s.beat) < beatSilence }

func (s found) timed() bool { return !s.now.IsZero() && !s.beat.IsZero() }

// largestLock is more than any holder writes.
const largestLock = 1 << 10

func (f *lockFile) look(ctx context.Context) (found, error) {
	var there found
	err := f.again.try(ctx, func(ctx context.Context) error {
		out, err := f.api.GetObject(ctx, &sdk.GetObjectInput{Bucket: &f.bucket, Key: f.key(f.path)})
		if err != nil {
			return err
		}
		defer out.Body.Close()
		content, err := io.ReadAll(io.LimitReader(out.Body, largestLock))
		if err != nil {
			return &garbled{"it was cut: " + err.Error()}
		}
		there = found{content: string(content), etag: aws.ToString(out.ETag)}
		if out.LastModified != nil {
			there.beat = out.LastModified.UTC()
		}
		there.now, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
		return nil
	})
	if err != nil {
		return found{}, f.explain(ctx, opGet, f.path, err)
	}
	return there, nil
}
