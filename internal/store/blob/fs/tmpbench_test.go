package fs
import ("testing";"strings";"github.com/ebb-io/ebb/internal/store/blob")
func BenchmarkTmp(b *testing.B) {
	d, err := Open("/tmp/ebbtree")
	if err != nil { b.Fatal(err) }
	step := func(dir string) blob.Step {
		if strings.Count(dir, "/") == 3 { return blob.Only("data") }
		return blob.List()
	}
	b.Run("only", func(b *testing.B) { benchmarkWalk(b, d, 137000, step) })
	b.Run("list", func(b *testing.B) { benchmarkWalk(b, d, 137000, func(string) blob.Step { return blob.List() }) })
	b.Run("bare", func(b *testing.B) { benchmarkBare(b, "/tmp/ebbtree", 137000) })
}
