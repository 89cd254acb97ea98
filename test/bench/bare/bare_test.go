package bare_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/test/bench/bare"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// shape is larger than one chunk in every folder that is shared among workers.
var shape = fixture.Shape{Repositories: 2, Images: 150, Layers: 1}

func write(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := fixture.Write(t.Context(), root, shape, time.Now()); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestWalkSeesEverything(t *testing.T) {
	reg, err := bare.Walk(write(t), false)
	if err != nil {
		t.Fatal(err)
	}
	want := bare.Summary{Blobs: 901, Revisions: 300, LayerLinks: 602, Tags: 240, Repositories: 2}
	if diff := cmp.Diff(want, reg.Summary()); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
}

func TestDeleteLeavesNothingForASecondOne(t *testing.T) {
	root := write(t)
	for _, want := range []bare.Removed{{Revisions: 60, LayerLinks: 120, Blobs: 180}, {}} {
		reg, err := bare.Walk(root, true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reg.Delete()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("removed (-want +got):\n%s", diff)
		}
	}
}

func TestWalkReportsAnAbsentLink(t *testing.T) {
	root := write(t)
	links, err := filepath.Glob(root + "/docker/registry/v2/repositories/*/*/_layers/sha256/*/link")
	if err != nil || len(links) == 0 {
		t.Fatalf("no layer link: %v", err)
	}
	if err := os.Remove(links[len(links)/2]); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.Walk(root, false); err == nil {
		t.Error("a walk without one of the links succeeded")
	}
}
