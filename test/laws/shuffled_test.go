package laws

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/ebb-io/ebb/internal/store/blob"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
)

// shuffled shows files in another order than its store does.
type shuffled struct {
	*mem.Store
	seed uint64
}

func (s shuffled) Walk(ctx context.Context, dir string, v blob.Visitor) error {
	var mu sync.Mutex
	var files []blob.Entry
	inner := v
	inner.File = func(e blob.Entry) {
		mu.Lock()
		defer mu.Unlock()
		files = append(files, e)
	}
	err := s.Store.Walk(ctx, dir, inner)
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, e := range files {
		v.File(e)
	}
	return err
}
