package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ebb-io/ebb/internal/refs"
)

// identity is what an object says of itself.
type identity struct {
	group, kind string
	refs.Values
}

func (id identity) String() string {
	switch {
	case id.Name == "":
		return id.kind
	case id.Namespace == "":
		return id.kind + " " + id.Name
	}
	return id.kind + " " + id.Namespace + "/" + id.Name
}

func identify(object map[string]any) identity {
	version, _ := object["apiVersion"].(string)
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = "" // the core API has a version alone
	}
	id := identity{group: group}
	id.kind, _ = object["kind"].(string)
	id.Namespace = text(object, "metadata", "namespace")
	id.Name = text(object, "metadata", "name")
	id.UID = text(object, "metadata", "uid")
	return id
}

// place checks that an object which a rule names builds a repository. One that
// does not would be alive and protect nothing.
func (r *rule) place(id identity, object map[string]any) error {
	if id.Name == "" {
		return errors.New("has no metadata.name that is a text: write it again as kubectl get -o yaml does")
	}
	if r.Repository.Uses("{namespace}") && id.Namespace == "" {
		return fmt.Errorf("has no metadata.namespace, which repository %s needs: write it again as kubectl get -o yaml does", r.Repository)
	}
	if !uidHolds(object) {
		return errors.New("has a metadata.uid that is no lower-case UUID, so it was cut off or is not from a cluster: write it again as kubectl get -o yaml does")
	}
	if _, ok := r.Repository.Build(id.Values); !ok {
		return fmt.Errorf("has no metadata.uid, which repository %s needs: write it again as kubectl get -o yaml does", r.Repository)
	}
	return nil
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// uidHolds tells whether a UID is what a cluster gives. None at all is as good:
// it protects more.
func uidHolds(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	value, present := metadata["uid"]
	uid, _ := value.(string)
	return !present || uuid.MatchString(uid)
}

// at follows keys into an object; nil where one is missing.
func at(value any, keys ...string) any {
	for _, key := range keys {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

func text(value any, keys ...string) string {
	s, _ := at(value, keys...).(string)
	return s
}
