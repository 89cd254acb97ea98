package manifests

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/ebb-io/ebb/internal/source/rules"
)

// virtualImageYAML is an item of about the size that the platform writes.
const virtualImageYAML = `- apiVersion: virtualization.deckhouse.io/v1alpha2
  kind: VirtualImage
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"virtualization.deckhouse.io/v1alpha2","kind":"VirtualImage","metadata":{"name":"image"}}
    creationTimestamp: "2026-01-02T03:04:05Z"
    finalizers:
    - virtualization.deckhouse.io/vi-protection
    generation: 1
    labels:
      app.kubernetes.io/name: image
      app.kubernetes.io/part-of: bench
    name: image-%[1]d
    namespace: team-%[2]d
    resourceVersion: "%[1]d"
    uid: 00000000-0000-4000-8000-%012[1]d
  spec:
    dataSource:
      http:
        url: https://images.example.org/ubuntu-24.04-minimal-cloudimg-amd64.img
      type: HTTP
    storage: ContainerRegistry
  status:
    conditions:
    - lastTransitionTime: "2026-01-02T03:04:06Z"
      message: ""
      observedGeneration: 1
      reason: DatasourceReady
      status: "True"
      type: DatasourceReady
    - lastTransitionTime: "2026-01-02T03:05:06Z"
      message: ""
      observedGeneration: 1
      reason: Ready
      status: "True"
      type: Ready
    format: qcow2
    phase: Ready
    progress: 100%%
    size:
      stored: 250Mi
      storedBytes: "262144000"
    target:
      registryURL: dvcr.d8-virtualization.svc/vi/team-%[2]d/image-%[1]d:00000000-0000-4000-8000-%012[1]d
`

func virtualImages(n int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nitems:\n")
	for i := range n {
		fmt.Fprintf(&b, virtualImageYAML, i, i%100)
	}
	b.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return b.Bytes()
}

// BenchmarkLoadYAML shows time and memory for a list of 2,000 objects.
func BenchmarkLoadYAML(b *testing.B) {
	content := virtualImages(2000)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		e := &entry{path: "bench", collector: rules.NewCollector(rules.Default()), kinds: map[string]bool{}}
		if err := e.parse("bench.yaml", content); err != nil {
			b.Fatal(err)
		}
	}
}
