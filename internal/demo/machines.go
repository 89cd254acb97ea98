package demo

import (
	"crypto/sha256"
	"fmt"
)

// machine is an object that owns an image, and that image.
type machine struct {
	kind      string // CVI, VI or VD
	namespace string
	name      string
	disk      string // what the image is made of: the same disk is the same layer
	mebibytes int
	phase     string
	source    string // the type of its data source
	path      string // of its repository, where it is not the usual one

	removed  bool // its object is gone in After
	replaced bool // an earlier object of the same name: gone in both
	lost     bool // its image goes in a run with After
	reason   string
}

// machines is the table of owners. Less than half of the images and of the
// bytes is lost, as the safety limit wants it.
func machines() []machine {
	return []machine{
		{kind: "CVI", name: "ubuntu-24-04", disk: "ubuntu", mebibytes: 16, phase: "Ready", source: "HTTP", reason: "Owned"},
		{
			kind: "CVI", name: "debian-12", disk: "debian", mebibytes: 12, phase: "Ready", source: "HTTP",
			removed: true, lost: true, reason: "OwnerGone",
		},
		// A cluster image from a disk snapshot lies among the namespaced ones.
		{
			kind: "CVI", name: "golden-snapshot", path: "vi/golden-snapshot", disk: "golden", mebibytes: 6, phase: "Ready",
			source: "ObjectRef", reason: "Owned",
		},
		{
			kind: "VI", namespace: "dev", name: "build-tools", disk: "tools-1", mebibytes: 10, source: "Upload",
			replaced: true, lost: true, reason: "StaleOwner",
		},
		{
			kind: "VI", namespace: "dev", name: "build-tools", disk: "tools-2", mebibytes: 10, phase: "Ready", source: "Upload",
			reason: "Owned",
		},
		{
			kind: "VI", namespace: "dev", name: "old-ci", disk: "old-ci", mebibytes: 8, phase: "Ready", source: "Upload",
			removed: true, lost: true, reason: "OwnerGone",
		},
		// It goes, its layer stays: a cluster image has the same.
		{
			kind: "VI", namespace: "test", name: "ubuntu-copy", disk: "ubuntu", mebibytes: 16, phase: "Ready", source: "ContainerImage",
			removed: true, lost: true, reason: "OwnerGone",
		},
		{
			kind: "VD", namespace: "prod", name: "db-root", disk: "db", mebibytes: 8, phase: "Provisioning", source: "HTTP",
			reason: "Owned",
		},
		{
			kind: "VD", namespace: "prod", name: "web-root", disk: "web", mebibytes: 8, phase: "Ready", source: "HTTP",
			lost: true, reason: "OwnerDone",
		},
	}
}

func (m machine) repository() string {
	if m.path != "" {
		return m.path
	}
	if m.kind == "CVI" {
		return "cvi/" + m.name
	}
	return map[string]string{"VI": "vi/", "VD": "vd/"}[m.kind] + m.namespace + "/" + m.name
}

// uid is what the API server gives an object: another one for an earlier
// object of the same name.
func (m machine) uid() string {
	return uuid(fmt.Sprintf("%s %s/%s %s", m.kind, m.namespace, m.name, m.disk))
}

func uuid(name string) string {
	h := sha256.Sum256([]byte(name))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
