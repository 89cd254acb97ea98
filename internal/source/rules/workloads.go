package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
)

// addWorkload protects every image that the object mentions the way Pods and
// Pod templates do, at any depth: controllers, their history, and custom
// resources all hold the same lists. It is false when it mentions none, which
// is an error where the cluster takes no object without.
func (c *Collector) addWorkload(id identity, object map[string]any) (found bool, err error) {
	s := scan{collector: c, id: id}
	s.visit(object)
	c.images = c.images || s.found
	if !s.containers && runs(id) {
		return s.found, fmt.Errorf("%s: holds no containers, so it may be cut off: write it again as kubectl get -o yaml does", id)
	}
	return s.found, nil
}

// runs tells whether an object is of a kind that always holds containers.
func runs(id identity) bool {
	switch id.kind {
	case "Pod", "PodTemplate", "ReplicationController":
		return id.group == ""
	case "Deployment", "ReplicaSet", "DaemonSet":
		return id.group == "apps" || id.group == "extensions"
	case "StatefulSet":
		return id.group == "apps"
	case "Job", "CronJob":
		return id.group == "batch"
	}
	return false
}

type scan struct {
	collector  *Collector
	id         identity
	found      bool // an image
	containers bool
}

func (s *scan) visit(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			s.visit(element)
		}
	case map[string]any:
		for key, element := range value {
			s.field(key, element)
			s.visit(element)
		}
	}
}

func (s *scan) field(key string, value any) {
	switch key {
	case "containers", "initContainers", "ephemeralContainers":
		list, _ := value.([]any)
		s.containers = s.containers || len(list) > 0
		s.each(value, []string{"image"})
	case "volumes":
		s.each(value, []string{"image", "reference"})
		s.each(value, []string{"containerDisk", "image"})
	case "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses":
		s.each(value, []string{"image"}, []string{"imageID"})
	}
}

// each reads, from every element of a list, the texts at the given places.
func (s *scan) each(list any, places ...[]string) {
	elements, _ := list.([]any)
	for _, element := range elements {
		var texts []string
		for _, place := range places {
			if t := strings.TrimSpace(text(element, place...)); t != "" {
				texts = append(texts, t)
			}
		}
		s.names(texts)
	}
}

// names protects images that are names of one thing: when any of them is on a
// host that counts, all do.
func (s *scan) names(texts []string) {
	var parsed []image.Reference
	counts := false
	for _, t := range texts {
		s.found = true
		ref, err := parse(t)
		if err != nil {
			s.collector.Warn(fmt.Sprintf("%s: an image has no name that can be read: %v", s.id, err))
		}
		parsed = append(parsed, ref)
		counts = counts || s.collector.rules.counts(ref)
	}
	if !counts {
		return
	}
	for _, ref := range parsed {
		s.collector.mention(s.id, ref)
	}
}

// counts tells whether a reference is on a host that the rules name. A bare
// digest says nothing of its host, so it counts.
func (r *Rules) counts(ref image.Reference) bool {
	return len(r.hosts) == 0 || ref.Repository == "" || r.hosts[canonicalHost(ref.Host)]
}

var (
	scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)
	bareID = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// parse reads a reference in the forms that container runtimes report as well:
// behind a scheme such as docker-pullable://, or as an identifier alone. With
// an error it still returns a digest that the text ends in.
func parse(text string) (image.Reference, error) {
	text = scheme.ReplaceAllString(text, "")
	if bareID.MatchString(text) {
		text = "sha256:" + text
	}
	ref, err := image.ParseReference(text)
	if err == nil {
		return ref, nil
	}
	if _, after, found := strings.Cut(text, "@"); found {
		if d, digestErr := image.ParseDigest(after); digestErr == nil {
			return image.Reference{Digest: &d}, err
		}
	}
	return image.Reference{}, err
}

// mention protects one reference, under each path that it may have here. The
// zero reference, which could not be read, protects nothing.
func (c *Collector) mention(id identity, ref image.Reference) {
	if ref == (image.Reference{}) {
		return
	}
	m := mention{by: id.String(), tag: ref.Tag}
	if ref.Digest != nil {
		m.digest, m.hasDigest = *ref.Digest, true
	}
	if ref.Tag == "" && ref.Digest == nil {
		m.tag = "latest"
	}
	for _, m.repository = range repositories(ref) {
		c.refer(m)
	}
}

// repositories are the paths that a reference may have in this registry. Docker
// Hub's official images have two names, and mirrors hold them under either.
func repositories(ref image.Reference) []string {
	if ref.Repository == "" || canonicalHost(ref.Host) != dockerHub {
		return []string{ref.Repository}
	}
	rest, found := strings.CutPrefix(ref.Repository, "library/")
	switch {
	case found:
		return []string{ref.Repository, rest}
	case !strings.Contains(ref.Repository, "/"):
		return []string{ref.Repository, "library/" + ref.Repository}
	}
	return []string{ref.Repository}
}
