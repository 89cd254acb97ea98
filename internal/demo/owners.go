package demo

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	group      = "virtualization.deckhouse.io"
	registryIn = "dvcr.d8-virtualization.svc"
	created    = "2026-01-15T09:00:00Z"
)

// object is a Kubernetes object as JSON has it.
type object map[string]any

// ownersYAML is the list that kubectl writes. Objects of one kind stand
// together, as it asks for them one after another.
func ownersYAML(removed bool) ([]byte, error) {
	var items []any
	for _, m := range machines() {
		if m.replaced || m.removed && removed {
			continue
		}
		items = append(items, m.object())
	}
	items = append(items, pod())
	list := object{"apiVersion": "v1", "kind": "List", "metadata": object{"resourceVersion": ""}, "items": items}
	raw, err := yaml.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("owners: %w", err)
	}
	return raw, nil
}

func (m machine) object() object {
	kind := map[string]string{"CVI": "ClusterVirtualImage", "VI": "VirtualImage", "VD": "VirtualDisk"}[m.kind]
	short := strings.ToLower(m.kind)
	meta := metadata(m.namespace, m.name, m.uid())
	meta["finalizers"] = []any{group + "/" + short + "-cleanup"}
	return object{
		"apiVersion": group + "/v1alpha2",
		"kind":       kind,
		"metadata":   meta,
		"spec":       m.spec(),
		"status":     m.status(),
	}
}

func (m machine) spec() object {
	source := object{"type": m.source}
	switch m.source {
	case "HTTP":
		source["http"] = object{"url": "https://images.example.org/" + m.disk + ".img"}
	case "ContainerImage":
		source["containerImage"] = object{"image": "registry.example.org/machines/" + m.disk + ":stable"}
	case "ObjectRef":
		source["objectRef"] = object{"kind": "VirtualDiskSnapshot", "name": m.disk, "namespace": "prod"}
	}
	spec := object{"dataSource": source}
	if m.kind == "VI" {
		spec["storage"] = "ContainerRegistry"
	}
	return spec
}

func (m machine) status() object {
	status := object{
		"observedGeneration": 1,
		"phase":              m.phase,
		"conditions": []any{object{
			"type": "Ready", "status": title(m.phase == "Ready"), "reason": m.phase, "message": "",
			"lastTransitionTime": created, "observedGeneration": 1,
		}},
	}
	if m.kind == "VD" {
		status["target"] = object{"persistentVolumeClaimName": "d8v-vd-" + m.name}
		return status
	}
	status["format"], status["progress"] = "raw", "100%"
	bytes := strconv.Itoa(m.mebibytes * mebibyte)
	status["size"] = object{"storedBytes": bytes, "unpackedBytes": bytes}
	status["target"] = object{"registryURL": registryIn + "/" + m.repository() + ":" + m.uid()}
	return status
}

// pod runs the newest version of the application.
func pod() object {
	const image = "registry.example.org/" + application + ":1.5"
	return object{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   metadata("prod", "web-0", uuid("Pod prod/web-0")),
		"spec":       object{"containers": []any{object{"name": "web", "image": image}}},
		"status": object{"phase": "Running", "containerStatuses": []any{
			object{"name": "web", "image": image, "ready": true},
		}},
	}
}

func metadata(namespace, name, uid string) object {
	meta := object{
		"name": name, "uid": uid, "creationTimestamp": created, "generation": 1, "resourceVersion": "1",
	}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return meta
}

// title is a condition's status.
func title(b bool) string { return map[bool]string{true: "True", false: "False"}[b] }
