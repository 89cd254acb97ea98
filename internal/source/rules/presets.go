package rules

// The presets, by the names that a configuration gives them.
const (
	// Virtualization claims the repositories of virtual-machine images.
	Virtualization = "virtualization"
	// Workloads protects the images that Pods and Pod templates refer to. It
	// claims nothing.
	Workloads = "workloads"
)

// definition is a rule in its configured form, with what only a preset can say.
type definition struct {
	Config
	shortened bool   // long names are cut and end in a hash
	imported  bool   // see rule.imported
	done      string // see rule.done
}

func presetNames() []string { return []string{Virtualization, Workloads} }

func preset(name string) ([]definition, bool) {
	switch name {
	case Virtualization:
		return virtualization(), true
	case Workloads:
		return nil, true
	}
	return nil, false
}

// virtualization is how the platform with these kinds lays out its registry. A
// cluster image made from a disk snapshot lies under vi/<name>.
func virtualization() []definition {
	const (
		ready    = `has(object.status) && has(object.status.phase) && object.status.phase == 'Ready'`
		inVolume = `has(object.spec) && has(object.spec.storage) && object.spec.storage in ['PersistentVolumeClaim', 'Kubernetes']`
	)
	image := func(name, resource, kind, repository, neededWhen, done string) definition {
		return definition{
			Config: Config{
				Name:       Virtualization + "/" + name,
				Resource:   Resource{Group: virtualizationGroup, Version: "v1alpha2", Resource: resource, Kind: kind},
				Repository: repository,
				Tag:        "{uid}",
				NeededWhen: neededWhen,
			},
			shortened: true,
			imported:  true,
			done:      done,
		}
	}
	return []definition{
		image("cvi", "clustervirtualimages", clusterVirtualImage, "cvi/{name}", "", ""),
		image("cvi-under-vi", "clustervirtualimages", clusterVirtualImage, "vi/{name}", "", ""),
		image("vi", "virtualimages", virtualImage, "vi/{namespace}/{name}",
			`!(`+ready+` && `+inVolume+`)`, "it lives in a volume"),
		image("vd", "virtualdisks", virtualDisk, "vd/{namespace}/{name}",
			`!(`+ready+`)`, "its disk is filled"),
	}
}

const (
	virtualizationGroup = "virtualization.deckhouse.io"
	clusterVirtualImage = "ClusterVirtualImage"
	virtualImage        = "VirtualImage"
	virtualDisk         = "VirtualDisk"
)
