package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// pageSize is how many keys a server shows at once.
const pageSize = 1000

// listing asks for one page.
type listing struct {
	prefix    string // path, with a slash at its end unless it is ""
	after     string // path; what was shown last, also where there is a token
	token     string
	delimiter string
	limit     int
}

// page is one answer, all in paths of the storage.
type page struct {
	items     []item
	dirs      []string // what the delimiter put together, without it
	truncated bool
	next      string
	date      time.Time // the server's, of the answer; zero where it gave none

	raw rawPage // to be filled again
}

type item struct {
	path    string
	size    int64
	modTime time.Time
}

// list fills p with one page and believes none of it untested.
func (d *Driver) list(ctx context.Context, l listing, p *page) error {
	err := d.again.try(ctx, func(ctx context.Context) error { return d.fetch(ctx, l, &p.raw) })
	if err != nil {
		return d.explain(ctx, opList, "", err)
	}
	if err := p.take(d.prefix, l); err != nil {
		return d.wrap("", err)
	}
	return nil
}

func (d *Driver) fetch(ctx context.Context, l listing, raw *rawPage) error {
	in := &sdk.ListObjectsV2Input{
		Bucket:       &d.bucket,
		Prefix:       d.key(l.prefix),
		EncodingType: types.EncodingTypeUrl,
		MaxKeys:      aws.Int32(int32(l.limit)),
	}
	if l.delimiter != "" {
		in.Delimiter = &l.delimiter
	}
	if l.token != "" {
		in.ContinuationToken = &l.token
	} else if l.after != "" {
		in.StartAfter = d.key(l.after)
	}
	buffer := d.buffers()
	defer d.buffer.Put(buffer)
	_, err := d.api.ListObjectsV2(ctx, in, func(o *sdk.Options) {
		o.APIOptions = append(o.APIOptions, (&decoder{raw: raw, buffer: buffer}).install)
	})
	return err
}

func (d *Driver) buffers() *bytes.Buffer {
	if buffer, ok := d.buffer.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return &bytes.Buffer{}
}

// decoder reads a listing in place of the SDK, whose XML takes most of the
// time of a large walk.
type decoder struct {
	inner  middleware.DeserializeMiddleware
	raw    *rawPage
	buffer *bytes.Buffer
}

func (c *decoder) install(stack *middleware.Stack) (err error) {
	c.inner, err = stack.Deserialize.Swap("OperationDeserializer", c)
	return err
}

// ID is that of the SDK's decoder.
func (c *decoder) ID() string { return "OperationDeserializer" }

// HandleDeserialize leaves errors to the SDK.
func (c *decoder) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, meta, err := next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.StatusCode/100 != 2 {
		return c.inner.HandleDeserialize(ctx, in, replay{out: out, meta: meta, err: err})
	}
	defer response.Body.Close()
	out.Result = &sdk.ListObjectsV2Output{}
	return out, meta, c.read(response)
}

// largestPage is far more than any page takes.
const largestPage = 64 << 20

func (c *decoder) read(response *smithyhttp.Response) error {
	c.buffer.Reset()
	if _, err := c.buffer.ReadFrom(io.LimitReader(response.Body, largestPage)); err != nil {
		return &garbled{"it was cut: " + err.Error()}
	}
	err := c.raw.parse(c.buffer.Bytes())
	if kind := response.Header.Get("Content-Type"); err != nil && !xmlOrNothing(kind) {
		return &foreign{response.StatusCode, kind}
	}
	if err != nil {
		return err
	}
	c.raw.date, _ = http.ParseTime(response.Header.Get("Date"))
	return nil
}

// replay gives an answer that was already received.
type replay struct {
	out  middleware.DeserializeOutput
	meta middleware.Metadata
	err  error
}

func (r replay) HandleDeserialize(context.Context, middleware.DeserializeInput) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	return r.out, r.meta, r.err
}

// take makes the page of what was received, if that is consistent in itself and
// with what was asked.
func (p *page) take(prefix string, l listing) error {
	raw := &p.raw
	p.items, p.dirs = p.items[:0], p.dirs[:0]
	p.truncated, p.next, p.date = raw.truncated, raw.token, raw.date
	if raw.token != "" { // an end that names what comes next is none
		p.truncated = true
	}
	if err := raw.check(l); err != nil {
		return err
	}
	last := l.after
	for _, found := range raw.items {
		if !strings.HasPrefix(found.key, prefix) || !strings.HasPrefix(found.key[len(prefix):], l.prefix) {
			return &distrust{fmt.Sprintf("it shows %q below %q", found.key, prefix+l.prefix)}
		}
		path := found.key[len(prefix):]
		if path <= last {
			return &distrust{fmt.Sprintf("it shows %q after %q", path, last)}
		}
		last = path
		p.items = append(p.items, item{path: path, size: found.size, modTime: found.modTime})
	}
	return p.takeDirs(prefix, l)
}

func (p *page) takeDirs(prefix string, l listing) error {
	for _, dir := range p.raw.prefixes {
		name, ok := strings.CutPrefix(dir, prefix+l.prefix)
		if !ok || !strings.HasSuffix(name, "/") {
			return &distrust{fmt.Sprintf("it shows a directory %q below %q", dir, prefix+l.prefix)}
		}
		p.dirs = append(p.dirs, dir[len(prefix):len(dir)-1])
	}
	return nil
}

func (r *rawPage) check(l listing) error {
	shown := len(r.items) + len(r.prefixes)
	switch {
	case !r.saysTruncated:
		return &distrust{"it does not say whether there is more"}
	case r.count >= 0 && r.count != shown:
		return &distrust{fmt.Sprintf("it counts %d keys and shows %d", r.count, shown)}
	case shown > l.limit:
		return &distrust{fmt.Sprintf("it shows %d keys where at most %d were asked for", shown, l.limit)}
	case r.truncated && r.token == "":
		return &distrust{"there is more, but it does not say how to go on"}
	case r.truncated && r.token == l.token:
		return &distrust{"it goes on where it was"}
	}
	return nil
}
