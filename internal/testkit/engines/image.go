package engines

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// Import makes an image with one file of this content and gives it a name.
// Other content is another ID. It returns the ID.
func (e *Engine) Import(t testing.TB, name, content string) string {
	t.Helper()
	return e.importTar(t, name, map[string]string{"content": content})
}

func (e *Engine) importTar(t testing.TB, name string, files map[string]string) string {
	t.Helper()
	source := client.ImageImportSource{Source: bytes.NewReader(pack(t, files)), SourceName: "-"}
	reply, err := e.Client.ImageImport(t.Context(), source, name, client.ImageImportOptions{})
	if err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	defer func() { _ = reply.Close() }()
	said, err := io.ReadAll(reply)
	if err != nil || strings.Contains(string(said), `"error"`) {
		t.Fatalf("import %s: %v: %s", name, err, said)
	}
	return e.ID(t, name)
}

func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ID is the ID of the image that has a name.
func (e *Engine) ID(t testing.TB, name string) string {
	t.Helper()
	found, err := e.Client.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatalf("inspect %s: %v", name, err)
	}
	return found.ID
}
