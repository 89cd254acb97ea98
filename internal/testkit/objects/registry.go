package objects

import (
	"testing"

	_ "github.com/distribution/distribution/v3/registry/storage/driver/s3-aws" // "s3"

	"github.com/ebb-io/ebb/internal/demo/server"
)

// Registry starts a real registry whose storage is a bucket until the test
// ends, or Close. Its root is the bucket's, or a folder in it.
func Registry(t testing.TB, b Bucket, root string, readOnly bool) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), b.URL(root), server.Options{
		ReadOnly: readOnly, Driver: "s3", Parameters: b.Parameters(root),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
