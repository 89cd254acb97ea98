package objects

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"
)

// backend is what gofakes3 keeps its objects in. Its own ones look at every key
// for a listing, take folders for what they are not, and know no time stamps
// but the clock's.
type backend struct {
	bucket string
	shelf  *shelf
	clock  func() time.Time
}

var _ gofakes3.Backend = (*backend)(nil)

func (b *backend) Now() time.Time                      { return b.clock() }
func (b *backend) Since(at time.Time) time.Duration    { return b.clock().Sub(at) }
func (b *backend) BucketExists(n string) (bool, error) { return n == b.bucket, nil }

func (b *backend) ListBuckets() ([]gofakes3.BucketInfo, error) {
	return []gofakes3.BucketInfo{{Name: b.bucket}}, nil
}

// ListBucket is for the first version of the call, which nobody here makes.
func (b *backend) ListBucket(string, *gofakes3.Prefix, gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	return nil, gofakes3.ErrNotImplemented
}

func (b *backend) CreateBucket(string) error      { return gofakes3.ErrNotImplemented }
func (b *backend) DeleteBucket(string) error      { return gofakes3.ErrNotImplemented }
func (b *backend) ForceDeleteBucket(string) error { return gofakes3.ErrNotImplemented }

func (b *backend) HeadObject(_, key string) (*gofakes3.Object, error) {
	o, ok := b.shelf.get(key)
	if !ok {
		return nil, gofakes3.KeyNotFound(key)
	}
	return o.shown(nil, nil), nil
}

func (b *backend) GetObject(_, key string, asked *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	o, ok := b.shelf.get(key)
	if !ok {
		return nil, gofakes3.KeyNotFound(key)
	}
	part, err := asked.Range(o.Size)
	if err != nil {
		return nil, err
	}
	data := o.data
	if part != nil {
		data = data[part.Start : part.Start+part.Length]
	}
	return o.shown(data, part), nil
}

func (o object) shown(data []byte, part *gofakes3.ObjectRange) *gofakes3.Object {
	return &gofakes3.Object{
		Name: o.Key, Metadata: o.meta, Size: o.Size, Hash: o.hash[:],
		Range: part, Contents: io.NopCloser(bytes.NewReader(data)),
	}
}

func (b *backend) PutObject(
	_, key string, meta map[string]string, input io.Reader, size int64, conditions *gofakes3.PutConditions,
) (result gofakes3.PutObjectResult, err error) {
	data, err := gofakes3.ReadAll(input, size)
	if err != nil {
		return result, err
	}
	return result, b.put(key, data, b.clock(), meta, func(old object, exists bool) error {
		if conditions == nil {
			return nil
		}
		return gofakes3.CheckPutConditions(conditions, &gofakes3.ConditionalObjectInfo{Exists: exists, Hash: old.hash[:]})
	})
}

func (b *backend) put(
	key string, data []byte, at time.Time, meta map[string]string, may func(object, bool) error,
) error {
	hash := md5.Sum(data)
	shown := map[string]string{}
	for name, value := range meta { // only what S3 shows again, and the time of this fake's clock
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") {
			shown[name] = value
		}
	}
	if !at.IsZero() {
		shown["Last-Modified"] = at.UTC().Format(http.TimeFormat)
	}
	return b.shelf.put(object{
		Object: Object{Key: key, Size: int64(len(data)), Modified: at, ETag: hex.EncodeToString(hash[:])},
		data:   data, hash: hash, meta: shown,
	}, may)
}

func (b *backend) DeleteObject(_, key string) (gofakes3.ObjectDeleteResult, error) {
	b.shelf.remove(key)
	return gofakes3.ObjectDeleteResult{}, nil
}

func (b *backend) DeleteMulti(_ string, keys ...string) (result gofakes3.MultiDeleteResult, err error) {
	b.shelf.remove(keys...)
	for _, key := range keys {
		result.Deleted = append(result.Deleted, gofakes3.ObjectID{Key: key})
	}
	return result, nil
}

func (b *backend) CopyObject(from, key, to, copied string, meta map[string]string) (gofakes3.CopyObjectResult, error) {
	return gofakes3.CopyObject(b, from, key, to, copied, meta)
}
