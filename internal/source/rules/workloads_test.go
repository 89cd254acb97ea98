package rules

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/google/go-cmp/cmp"
)

var (
	digestA = image.SHA256([]byte("a"))
	digestB = image.SHA256([]byte("b"))
)

// protected writes references as a person would.
func protected(references []refs.Reference) []string {
	var all []string
	for _, r := range references {
		text := r.Repository
		if r.Tag != "" {
			text += ":" + r.Tag
		}
		if r.Digest != nil {
			text += "@" + r.Digest.String()
		}
		all = append(all, text)
	}
	return all
}

const podTemplate = `{metadata: {labels: {app: web}}, spec: {
  initContainers: [{name: init, image: 'r.x/init:1'}],
  containers: [{name: web, image: 'r.x/web:1'}],
  ephemeralContainers: [{name: debug, image: 'r.x/debug:1'}],
  volumes: [{name: data, image: {reference: 'r.x/data:1'}}, {name: disk, containerDisk: {image: 'r.x/disk:1'}}, {name: empty, emptyDir: {}}]}}`

var podTemplateImages = []string{"data:1", "debug:1", "disk:1", "init:1", "web:1"}

func TestWorkloadKinds(t *testing.T) {
	workloads := compiled(t, Config{Preset: Workloads})
	tests := map[string]string{
		"Pod":                                `{apiVersion: v1, kind: Pod, spec: ` + podTemplate[strings.Index(podTemplate, "spec: ")+len("spec: "):len(podTemplate)-1] + `}`,
		"Deployment at 0 replicas":           `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: ` + podTemplate + `}}`,
		"ReplicaSet of an earlier roll-out":  `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, template: ` + podTemplate + `}}`,
		"StatefulSet":                        `{apiVersion: apps/v1, kind: StatefulSet, spec: {template: ` + podTemplate + `}}`,
		"DaemonSet":                          `{apiVersion: apps/v1, kind: DaemonSet, spec: {template: ` + podTemplate + `}}`,
		"Job that is complete":               `{apiVersion: batch/v1, kind: Job, spec: {template: ` + podTemplate + `}, status: {succeeded: 1}}`,
		"CronJob that is suspended":          `{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true, jobTemplate: {spec: {template: ` + podTemplate + `}}}}`,
		"ReplicationController":              `{apiVersion: v1, kind: ReplicationController, spec: {template: ` + podTemplate + `}}`,
		"PodTemplate":                        `{apiVersion: v1, kind: PodTemplate, template: ` + podTemplate + `}`,
		"ControllerRevision":                 `{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {spec: {template: ` + podTemplate + `}}}`,
		"custom resource with Pod templates": `{apiVersion: example.org/v1, kind: Fleet, spec: {groups: [{pods: {template: ` + podTemplate + `}}]}}`,
	}
	for name, text := range tests {
		c := collect(t, workloads, object(t, text))
		if diff := cmp.Diff(podTemplateImages, protected(c.Set().References)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if warnings := c.Warnings(); len(warnings) > 0 {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

func TestReferenceForms(t *testing.T) {
	a := digestA.String()
	tests := []struct {
		image  string
		want   []string
		reason string
	}{
		{"r.x/web:1", []string{"web:1"}, "any registry host"},
		{"r.x/web", []string{"web:latest"}, "no tag means latest"},
		{"nginx", []string{"library/nginx:latest", "nginx:latest"}, "an official image has two names"},
		{"docker.io/nginx:1", []string{"library/nginx:1", "nginx:1"}, "with its host too"},
		{"index.docker.io/library/nginx:1", []string{"library/nginx:1", "nginx:1"}, "and spelt out"},
		{"team/web:1", []string{"team/web:1"}, "others have one"},
		{"r.x/nginx:1", []string{"nginx:1"}, "elsewhere there are no official images"},
		{"r.x/web@" + a, []string{"web@" + a}, "a digest alone is not latest"},
		{"r.x/web:1@" + a, []string{"web:1@" + a}, "tag and digest both protect"},
		{a, []string{"@" + a}, "a bare digest"},
		{strings.TrimPrefix(a, "sha256:"), []string{"@" + a}, "a bare identifier"},
		{" r.x/web:1 ", []string{"web:1"}, "space around it"},
	}
	for _, test := range tests {
		o := map[string]any{"kind": "Pod", "apiVersion": "v1", "spec": map[string]any{"containers": []any{map[string]any{"image": test.image}}}}
		c := collect(t, compiled(t, Config{Preset: Workloads}), o)
		if diff := cmp.Diff(test.want, protected(c.Set().References)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.image, test.reason, diff)
		}
	}
}

func TestStatuses(t *testing.T) {
	a, b := digestA.String(), digestB.String()
	tests := []struct{ list, image, id, want, reason string }{
		{"containerStatuses", "r.x/web:1", "docker-pullable://r.x/web@" + a, "web@" + a, "Docker"},
		{"initContainerStatuses", "r.x/web:1", "r.x/web@" + a, "web@" + a, "containerd"},
		{"ephemeralContainerStatuses", "r.x/web:1", "docker://" + a, "@" + a, "a config's digest of older runtimes"},
		{"containerStatuses", "r.x/web:1", a, "@" + a, "a bare one"},
		{"containerStatuses", b, a, "@" + b, "the image as a digest"},
		{"containerStatuses", "r.x/web:1", "Not/A Name@" + a, "@" + a, "what ends in a digest protects it, readable or not"},
	}
	for _, test := range tests {
		o := map[string]any{"kind": "Pod", "spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}, "status": map[string]any{test.list: []any{map[string]any{"image": test.image, "imageID": test.id}}}}
		got := protected(collect(t, compiled(t, Config{Preset: Workloads}), o).Set().References)
		if !strings.Contains(strings.Join(got, " "), test.want) || len(got) != 2 {
			t.Errorf("%s: %q, want %s and the image", test.reason, got, test.want)
		}
	}
}

func TestReferencesSayWhoRefers(t *testing.T) {
	set := collect(t, compiled(t, Config{Preset: Workloads}),
		object(t, "{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: p}, spec: {containers: [{image: 'r.x/web:1@"+digestA.String()+"'}]}}")).Set()
	want := []refs.Reference{{Code: reason.Referenced, By: "Pod ns/p", Repository: "web", Tag: "1", Digest: &digestA}}
	if diff := cmp.Diff(want, set.References, cmp.Comparer(func(a, b image.Digest) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnreadableImagesWarn(t *testing.T) {
	c := collect(t, compiled(t, Config{Preset: Workloads}),
		object(t, "{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: p}, spec: {containers: [{image: '{{ .Values.image }}'}, {image: ''}, {name: none}, {image: 'r.x/web:1'}]}}"))
	if got := protected(c.Set().References); len(got) != 1 || got[0] != "web:1" {
		t.Errorf("%q: the others must still be protected", got)
	}
	if got := c.Warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "Pod ns/p: ") || !strings.Contains(got[0], ".Values.image") {
		t.Errorf("warnings %q, want one for the image that can not be read and none for those that are not there", got)
	}
}

func TestNotRecognized(t *testing.T) {
	tests := map[string]string{
		"no image anywhere":     "{apiVersion: v1, kind: ConfigMap, data: {containers: '[{image: x}]'}}",
		"a field of that name":  "{apiVersion: v1, kind: Thing, spec: {image: r.x/web, containers: 3, volumes: {image: {reference: x}}}}",
		"containers of no list": "{apiVersion: v1, kind: Thing, spec: {containers: {image: r.x/web}}}",
		"elements of no object": "{apiVersion: v1, kind: Thing, spec: {containers: [r.x/web, [], null]}}",
		"images of no text":     "{apiVersion: v1, kind: Thing, spec: {containers: [{image: 3}, {image: {}}]}}",
		"nothing":               "{}",
	}
	for name, text := range tests {
		if ok, err := NewCollector(Default()).Add(object(t, text)); ok || err != nil {
			t.Errorf("%s: recognized %v, %v", name, ok, err)
		}
	}
	pod := object(t, "{apiVersion: v1, kind: Pod, spec: {containers: [{image: web}]}}")
	if ok, _ := NewCollector(compiled(t, golden())).Add(pod); ok {
		t.Error("without the preset workloads a Pod means nothing")
	}
}

func TestWorkloadsWithoutContainersAreRefused(t *testing.T) {
	tests := map[string][]string{
		"v1":         {"Pod", "PodTemplate", "ReplicationController"},
		"apps/v1":    {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"},
		"batch/v1":   {"Job", "CronJob"},
		"batch/beta": {"CronJob"},
	}
	for version, kinds := range tests {
		for _, kind := range kinds {
			for _, spec := range []string{"", ", spec: {template: {spec: {containers: []}}}", ", spec: {containers: null}", ", status: {containerStatuses: [{image: web}]}"} {
				o := object(t, "{apiVersion: "+version+", kind: "+kind+", metadata: {namespace: ns, name: a}"+spec+"}")
				if _, err := NewCollector(Default()).Add(o); err == nil || !strings.Contains(err.Error(), kind+" ns/a: holds no containers, so it may be cut off") {
					t.Errorf("%s %s%s: %v, want it refused", version, kind, spec, err)
				}
				if _, err := NewCollector(compiled(t, Config{Preset: Virtualization})).Add(o); err != nil {
					t.Errorf("%s %s%s: %v, although workloads do not count", version, kind, spec, err)
				}
			}
		}
	}
	other := object(t, "{apiVersion: example.org/v1, kind: Job, metadata: {name: a}}")
	if _, err := NewCollector(Default()).Add(other); err != nil {
		t.Errorf("%v: a kind of somebody's may hold none", err)
	}
}

func TestNoWorkloadsWarns(t *testing.T) {
	pod := "{apiVersion: v1, kind: Pod, spec: {containers: [{image: r.x/web}]}}"
	owner := "{apiVersion: virtualization.deckhouse.io/v1alpha2, kind: ClusterVirtualImage, metadata: {name: a}, status: {target: {registryURL: h.x/cvi/a:v1}}}"
	tests := []struct {
		configs []Config
		objects []string
		want    int
		reason  string
	}{
		{[]Config{{Preset: Workloads}}, nil, 1, "nothing at all"},
		{[]Config{{Preset: Virtualization}, {Preset: Workloads}}, []string{owner}, 1, "owners only"},
		{[]Config{{Preset: Workloads}}, []string{pod}, 0, "a Pod"},
		{[]Config{{Preset: Workloads, Hosts: []string{"other.x"}}}, []string{pod}, 0, "a Pod whose images do not count"},
		{[]Config{{Preset: Virtualization}}, []string{owner}, 0, "workloads do not count"},
	}
	for _, test := range tests {
		c := NewCollector(compiled(t, test.configs...))
		for _, text := range test.objects {
			if _, err := c.Add(object(t, text)); err != nil {
				t.Fatal(err)
			}
		}
		c.Finish()
		if got := c.Warnings(); len(got) != test.want || test.want == 1 && !strings.HasPrefix(got[0], "no Pod and no Pod template was seen") {
			t.Errorf("%s: warnings %q, want %d", test.reason, got, test.want)
		}
	}
}

func TestHosts(t *testing.T) {
	a := digestA.String()
	tests := []struct {
		hosts  []string
		pod    string
		want   []string
		reason string
	}{
		{[]string{"r.x"}, "{containers: [{image: 'r.x/web:1'}, {image: 'other.x/app:1'}, {image: nginx}]}", []string{"web:1"}, "only this registry's"},
		{[]string{"r.x:5000"}, "{containers: [{image: 'r.x/web:1'}, {image: 'R.x:5000/app:1'}]}", []string{"app:1"}, "a port is part of the host, its case is not"},
		{[]string{"docker.io"}, "{containers: [{image: 'r.x/web:1'}, {image: 'team/app:1'}]}", []string{"team/app:1"}, "no host is Docker Hub"},
		{[]string{"registry-1.docker.io"}, "{containers: [{image: 'docker.io/team/app:1'}]}", []string{"team/app:1"}, "which has several names"},
		{[]string{"r.x"}, "{containerStatuses: [{image: 'r.x/web:1', imageID: 'mirror.x/web@" + a + "'}]}", []string{"web@" + a, "web:1"}, "what runs under a name that counts is protected by all its names"},
		{[]string{"r.x"}, "{containerStatuses: [{image: 'other.x/web:1', imageID: 'other.x/web@" + a + "'}]}", nil, "what runs under another does not count"},
		{[]string{"r.x"}, "{containerStatuses: [{image: '" + a + "'}]}", []string{"@" + a}, "a bare digest may come from anywhere"},
	}
	for _, test := range tests {
		c := collect(t, compiled(t, Config{Preset: Workloads, Hosts: test.hosts}), object(t, "{apiVersion: v1, kind: Pod, spec: "+test.pod+", more: {containers: [{name: c}]}}"))
		if diff := cmp.Diff(test.want, protected(c.Set().References)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestOwnerThatIsAlsoAWorkload(t *testing.T) {
	c := golden()
	c.Repository = "golden/{namespace}/{name}"
	o := object(t, "{apiVersion: example.org/v1, kind: GoldenImage, metadata: {name: a, namespace: ns}, spec: {template: {spec: {containers: [{image: 'r.x/web:1'}]}}}}")
	set := collect(t, compiled(t, c, Config{Preset: Workloads}), o).Set()
	if len(set.Owners) != 1 || len(set.References) != 1 {
		t.Errorf("%+v: want it to own and to refer", set)
	}
}
