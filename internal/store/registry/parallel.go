package registry

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// each calls f for 0 to n-1 from a number of workers and returns the first
// error. The workers are reused: for ten thousand small reads, starting as many
// goroutines would cost more than parsing.
func each(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(n, workers) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// small reads small files, with buffers that are used again.
type small struct{ buffers sync.Pool }

// with hands an empty buffer to use, which must not keep it.
func (s *small) with(use func(*bytes.Buffer)) {
	buffer, ok := s.buffers.Get().(*bytes.Buffer)
	if !ok {
		buffer = &bytes.Buffer{}
	}
	defer s.buffers.Put(buffer)
	buffer.Reset()
	use(buffer)
}

// read hands a file's content to use, which must not keep it.
func (s *small) read(ctx context.Context, r blob.Reader, path string, limit int64, use func([]byte, blob.Entry, error)) {
	s.with(func(buffer *bytes.Buffer) {
		entry, err := blob.ReadInto(ctx, r, path, limit, buffer)
		use(buffer.Bytes(), entry, err)
	})
}
