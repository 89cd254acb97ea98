package blob

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckPath(t *testing.T) {
	for _, path := range []string{"a", "a/b", "...", "..a", "a..", ".a", "-", " ", "a b/c\nd", "é", "\xff", `a\b`} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/..", "a/../b", "a\x00", "\x00"} {
		if err := CheckPath(path); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, want one that wraps fs.ErrInvalid", path, err)
		}
	}
	if err := CheckDir(""); err != nil {
		t.Errorf("the whole storage: %v", err)
	}
	if err := CheckDir("a/"); err == nil {
		t.Error("a directory with a slash at its end passed")
	}
}

func TestDeleteOrder(t *testing.T) {
	paths := []string{"a/", "x", "a/b/c/", "a/b/c/d", "a/b/", "q/r/"}
	want := [][]int{{1, 3}, {2}, {4, 5}, {0}}
	if diff := cmp.Diff(want, DeleteOrder(paths)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
