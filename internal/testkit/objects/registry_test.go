package objects_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/ebb-io/ebb/internal/demo/server/client"
	"github.com/ebb-io/ebb/internal/testkit/objects"
)

func TestRegistryOnABucket(t *testing.T) {
	for _, root := range []string{"", "deep/down"} {
		t.Run("root "+root, func(t *testing.T) {
			onBoth(t, func(t *testing.T, b objects.Bucket) { roundTrip(t, b, root) })
		})
	}
}

func roundTrip(t *testing.T, b objects.Bucket, root string) {
	t.Helper()
	ctx := t.Context()
	writable := objects.Registry(t, b, root, false)
	c := client.Client{Host: writable.Addr()}
	image, err := random.Image(2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(1000, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := c.PushImage(ctx, "apps/web", "v1", image)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PushIndex(ctx, "apps/web", "multi", index); err != nil {
		t.Fatal(err)
	}
	referrer, err := c.PushReferrer(ctx, "apps/web", pushed, "signed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartUpload(ctx, "apps/web", make([]byte, 6<<20)); err != nil {
		t.Fatal(err)
	}
	if err := writable.Close(); err != nil {
		t.Fatal(err)
	}

	served := objects.Registry(t, b, root, true)
	c = client.Client{Host: served.Addr()}
	for _, ref := range []string{"v1", "multi", pushed, referrer} {
		if err := c.PullWhole(ctx, "apps/web", ref); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.PushImage(ctx, "apps/web", "v2", image); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusMethodNotAllowed)) {
		t.Errorf("push to a read-only registry: %v, want 405", err)
	}
	layout := pages(t, b, nil)
	if want := strings.TrimPrefix(root+"/docker/registry/v2/", "/"); len(layout) == 0 || !strings.HasPrefix(layout[0], want) {
		t.Errorf("the first key of %d does not begin with %s", len(layout), want)
	}
	if left := uploads(ctx, t, b, root); len(left) != 1 {
		t.Errorf("%d uploads in parts, want the one that was left", len(left))
	}
}
