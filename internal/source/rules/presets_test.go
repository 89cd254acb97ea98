package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/google/go-cmp/cmp"
)

func TestNeededByPhase(t *testing.T) {
	r := compiled(t, Config{Preset: Virtualization})
	tests := []struct {
		kind, more string
		done       bool
		detail     string
		reason     string
	}{
		{"VirtualDisk", "status: {phase: Ready}", true, "phase Ready: its disk is filled", "the intermediate image served its purpose"},
		{"VirtualDisk", "status: {phase: Provisioning}", false, "phase Provisioning", "the disk is read from it"},
		{"VirtualDisk", "status: {phase: WaitForFirstConsumer}", false, "phase WaitForFirstConsumer", "the disk is not yet filled"},
		{"VirtualDisk", "status: {phase: Terminating}", false, "phase Terminating", "an object that is being deleted lives"},
		{"VirtualDisk", "status: {phase: ready}", false, "phase ready", "no phase of the platform's"},
		{"VirtualDisk", "spec: {}", false, "", "a new object has no status"},
		{"VirtualDisk", "status: {}", false, "", "a postponed object has no phase"},
		{"VirtualImage", "spec: {storage: PersistentVolumeClaim}\nstatus: {phase: Ready}", true, "phase Ready: it lives in a volume", "the image was copied"},
		{"VirtualImage", "spec: {storage: Kubernetes}\nstatus: {phase: Ready}", true, "phase Ready: it lives in a volume", "the older word for it"},
		{"VirtualImage", "spec: {storage: PersistentVolumeClaim}\nstatus: {phase: Provisioning}", false, "phase Provisioning", "the copy is not done"},
		{"VirtualImage", "spec: {storage: PersistentVolumeClaim}", false, "", "nothing is known"},
		{"VirtualImage", "spec: {storage: ContainerRegistry}\nstatus: {phase: Ready}", false, "phase Ready", "the registry is where it lives"},
		{"VirtualImage", "spec: {}\nstatus: {phase: Ready}", false, "phase Ready", "which is the default"},
		{"VirtualImage", "status: {phase: Ready}", false, "phase Ready", "no spec is no object of the platform"},
		{"VirtualImage", "spec: {storage: ContainerRegistry}\nstatus: {phase: ImageLost}", false, "phase ImageLost", "an image may come back"},
		{"ClusterVirtualImage", "status: {phase: Ready}", false, "phase Ready", "its image is final"},
		{"ClusterVirtualImage", "status: {phase: Failed}", false, "phase Failed", "needed until the object is gone"},
	}
	for _, test := range tests {
		namespace := "n"
		if test.kind == "ClusterVirtualImage" {
			namespace = ""
		}
		for _, o := range collect(t, r, virtual(t, test.kind, namespace, "a", uidA, test.more)).Set().Owners {
			if o.Done != test.done || o.Detail != test.detail {
				t.Errorf("%s %q: done %v, %q; want %v, %q: %s", test.kind, test.more, o.Done, o.Detail, test.done, test.detail, test.reason)
			}
		}
	}
}

func TestVerdictsOfThePreset(t *testing.T) {
	long := strings.Repeat("a", 230)
	set := collect(t, compiled(t, Config{Preset: Virtualization}),
		virtual(t, "ClusterVirtualImage", "", long, uidA, "status: {phase: Ready}"),
		virtual(t, "ClusterVirtualImage", "", "team", uidA, "status: {phase: Ready}"),
		virtual(t, "VirtualImage", "team", "a", uidA, "status: {phase: Ready}"),
		virtual(t, "VirtualImage", "team", "p", uidA, "spec: {storage: PersistentVolumeClaim}\nstatus: {phase: Ready}"),
		virtual(t, "VirtualDisk", "team", "d", uidA, "status: {phase: Ready}"),
	).Set()
	tests := []struct {
		repository, tag string
		want            reason.Code
		reason          string
	}{
		{"cvi/team", uidA, reason.Owned, "the plain case"},
		{"vi/team", uidA, reason.Owned, "a cluster image from a snapshot, beside a namespace of its name"},
		{"vi/team/a", uidA, reason.Owned, "which has images of its own"},
		{"vi/team/gone", uidA, reason.OwnerGone, "they do not protect one another"},
		{"vi/team/a", uidB, reason.StaleOwner, "an earlier object of the name"},
		{"vi/team/a", "latest", reason.Owned, "a tag that is no UUID follows the owner"},
		{"vi/team/p", uidA, reason.OwnerDone, "the image was copied into a volume"},
		{"vd/team/d", uidA, reason.OwnerDone, "the disk is filled"},
		{"cvi/" + strings.Repeat("a", 207) + "-fac846ce42f222ab", uidA, reason.Owned, "a long name as the platform cuts it"},
		{"cvi/" + strings.Repeat("a", 90) + "-fac846ce42f222ab", uidA, reason.Owned, "as another host's length cuts it"},
		{"cvi/fac846ce42f222ab", uidA, reason.Owned, "the hash alone"},
		{"vi/fac846ce42f222ab", uidA, reason.Owned, "under vi/ as well"},
		{"cvi/" + strings.Repeat("a", 207), uidA, reason.OwnerGone, "a name that is only like it"},
	}
	for _, test := range tests {
		if got := verdict(t, set, test.repository, test.tag).Reason.Code; got != test.want {
			t.Errorf("%s:%s is %s, want %s: %s", test.repository, test.tag, got, test.want, test.reason)
		}
	}
}

// TestRestoredOwner: a restore gives an object a new UID and leaves its status,
// which names the image that was pushed under the old one.
func TestRestoredOwner(t *testing.T) {
	url := "status: {phase: Ready, target: {registryURL: 'dvcr.d8-virtualization.svc/vi/n/a:" + uidA + "'}}"
	set := collect(t, compiled(t, Config{Preset: Virtualization}), virtual(t, "VirtualImage", "n", "a", uidB, url)).Set()
	if got := verdict(t, set, "vi/n/a", uidA); got.Reason.Code != reason.StaleOwner {
		t.Errorf("%+v, want StaleOwner: the tag alone names an earlier object", got)
	}
	want := []refs.Reference{{Code: reason.Referenced, By: "VirtualImage n/a", Repository: "vi/n/a", Tag: uidA}}
	if diff := cmp.Diff(want, set.References); diff != "" {
		t.Errorf("the status must protect it (-want +got):\n%s", diff)
	}
}

func TestTarget(t *testing.T) {
	tests := []struct {
		kind, more string
		want       int
		warns      bool
		reason     string
	}{
		{"VirtualImage", "status: {phase: Ready, target: {registryURL: 'any.host:5000/vi/n/a:x'}}", 1, false, "any host"},
		{"VirtualImage", "spec: {storage: Kubernetes}\nstatus: {phase: Ready, target: {registryURL: 'h.x/vi/n/a:x'}}", 0, false, "an image that is not needed is not protected"},
		{"VirtualImage", "spec: {storage: Kubernetes}\nstatus: {phase: Provisioning, target: {registryURL: 'h.x/vi/n/a:x'}}", 1, false, "one that is, is"},
		{"VirtualImage", "status: {phase: Ready, target: {registryURL: ''}}", 0, false, "none yet"},
		{"VirtualImage", "status: {phase: Ready, target: {registryURL: 'Not A Name'}}", 0, true, "unreadable"},
		{"Other", "status: {target: {registryURL: 'h.x/vi/n/a:x'}}", 0, false, "no kind of the preset's"},
	}
	for _, test := range tests {
		c := NewCollector(compiled(t, Config{Preset: Virtualization}))
		if _, err := c.Add(virtual(t, test.kind, "n", "a", uidA, test.more)); err != nil {
			t.Fatal(err)
		}
		if got := c.Set().References; len(got) != test.want {
			t.Errorf("%s: %d references, want %d", test.reason, len(got), test.want)
		}
		if got := c.Warnings(); (len(got) > 0) != test.warns {
			t.Errorf("%s: warnings %q", test.reason, got)
		}
	}
}

func TestSourceOfAnObjectThatIsNotReady(t *testing.T) {
	source := func(kind, name, namespace, phase string) string {
		return fmt.Sprintf("spec: {dataSource: {type: ObjectRef, objectRef: {kind: %s, name: %s, namespace: %q}}}\nstatus: {phase: %s}", kind, name, namespace, phase)
	}
	hash := refs.NameHash("src")
	tests := []struct {
		kind, namespace, more string
		want                  []string
		reason                string
	}{
		{"VirtualDisk", "n", source("ClusterVirtualImage", "src", "", "WaitForFirstConsumer"), []string{"cvi/" + hash, "cvi/src", "vi/" + hash, "vi/src"}, "a disk that has not pulled yet, from a cluster image under either path"},
		{"VirtualDisk", "n", source("VirtualImage", "src", "", "Provisioning"), []string{"vi/n/" + hash, "vi/n/src"}, "an image in its own namespace"},
		{"VirtualDisk", "n", source("VirtualImage", "src", "m", "Provisioning"), []string{"vi/n/" + hash, "vi/n/src"}, "it can not name another one"},
		{"VirtualImage", "n", source("VirtualImage", "src", "", "Pending"), []string{"vi/n/" + hash, "vi/n/src"}, "an image from an image"},
		{"ClusterVirtualImage", "", source("VirtualImage", "src", "m", "Pending"), []string{"vi/m/" + hash, "vi/m/src"}, "a cluster image names the namespace"},
		{"VirtualDisk", "n", "spec: {dataSource: {objectRef: {kind: VirtualImage, name: src}}}", []string{"vi/n/" + hash, "vi/n/src"}, "without any status it is not ready"},
		{"VirtualDisk", "n", source("VirtualImage", "src", "", "Ready"), nil, "a filled disk reads no more"},
		{"VirtualImage", "n", source("VirtualImage", "src", "", "Ready"), nil, "nor does an image, which is still needed itself"},
		{"ClusterVirtualImage", "", source("VirtualDisk", "src", "m", "Pending"), nil, "a disk is read from its volume"},
		{"ClusterVirtualImage", "", source("VirtualDiskSnapshot", "src", "m", "Pending"), nil, "so is a snapshot"},
		{"VirtualDisk", "n", "spec: {dataSource: {type: HTTP}}", nil, "no object as source"},
	}
	for _, test := range tests {
		set := collect(t, compiled(t, Config{Preset: Virtualization}), virtual(t, test.kind, test.namespace, "a", uidA, test.more)).Set()
		var got []string
		for _, r := range set.References {
			got = append(got, r.Repository)
			if !r.Whole || r.Tag != "" || r.Digest != nil || !strings.HasPrefix(r.By, test.kind+" ") {
				t.Errorf("%s: %+v, want the whole repository", test.reason, r)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSourceWithoutNamespaceWarns(t *testing.T) {
	c := collect(t, compiled(t, Config{Preset: Virtualization}),
		virtual(t, "ClusterVirtualImage", "", "a", uidA, "spec: {dataSource: {objectRef: {kind: VirtualImage, name: src}}}"))
	if got := c.Warnings(); len(got) != 1 || !strings.Contains(got[0], "VirtualImage src protects nothing") {
		t.Errorf("warnings %q", got)
	}
}

// TestShortenedSource: where the source's name was cut is not known, and every
// place must be protected although its owner is gone.
func TestShortenedSource(t *testing.T) {
	long := strings.Repeat("a", 230)
	set := collect(t, compiled(t, Config{Preset: Virtualization}),
		virtual(t, "VirtualDisk", "n", "d", uidA, "spec: {dataSource: {objectRef: {kind: ClusterVirtualImage, name: "+long+"}}}")).Set()
	x := refs.NewIndex(set)
	for _, repository := range []string{"cvi/" + long, "cvi/fac846ce42f222ab", "cvi/" + long[:207] + "-fac846ce42f222ab", "cvi/" + long[:9] + "-fac846ce42f222ab"} {
		if got := x.ByRepository(repository); len(got) != 1 || !got[0].Whole {
			t.Errorf("%s: %d references, want one to the whole repository", repository, len(got))
		}
	}
	if got := x.ByRepository("cvi/" + long[:207]); len(got) != 0 {
		t.Errorf("a name that is only like it is protected: %+v", got[0])
	}
}
