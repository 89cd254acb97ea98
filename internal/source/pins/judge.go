package pins

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/pin"
)

// pins are a stack's images as pins; unknown says of each image whose
// repository can not be told what is wrong.
func (s services) pins(from string, passive bool) (set pin.Set, unknown []error) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		by := from + ", service " + filepath.Base(name)
		named := append([]string{s[name].image}, s[name].passive...)
		for i, written := range named {
			if written == "" {
				continue
			}
			if err := judge(&set, written, by, passive || i > 0); err != nil {
				unknown = append(unknown, fmt.Errorf("service %s: %w", filepath.Base(name), err))
			}
		}
	}
	return set, unknown
}

// judge adds to a set what an image in a compose file means: a pin, or the
// skip of a repository whose version is not said. It is an error where even
// the repository can not be told.
func judge(set *pin.Set, written, from string, passive bool) error {
	if repository, why, ok := open(written); ok {
		name, err := image.ParseName(repository)
		if err != nil || name.Tag != "" || name.Digested {
			return fmt.Errorf("image %q: %s, and its repository can not be told", written, why)
		}
		set.Skipped = append(set.Skipped, pin.Skip{Repository: name.Repository, Why: fmt.Sprintf("image %q: %s", written, why), From: from})
		return nil
	}
	name, err := image.ParseName(written)
	if err != nil {
		return err
	}
	if name.Tag == "" && !name.Digested {
		name.Tag = "latest"
		from += " (no tag: latest)"
	}
	set.Pins = append(set.Pins, pin.Pin{Name: name, From: from, Passive: passive})
	return nil
}

// open tells whether a version is left open: by a variable without a value, or
// by one that is empty. The repository is "" where it can not be told either.
func open(written string) (repository, why string, ok bool) {
	before, after, ok := strings.Cut(written, "$")
	if !ok {
		if rest, cut := strings.CutSuffix(written, ":"); cut {
			return rest, "its tag is empty", true
		}
		return "", "", false
	}
	why = "a variable has no value"
	if name, _, ok := strings.Cut(strings.TrimPrefix(after, "{"), "}"); ok && name != "" {
		why = fmt.Sprintf("variable %s has no value", name)
	}
	colon, at := strings.LastIndexByte(before, ':'), strings.IndexByte(before, '@')
	switch {
	case strings.Contains(after, "/"):
		return "", why, true
	case at >= 0:
		before, _, _ = strings.Cut(before[:at], ":")
		return before, why, true
	case colon > strings.LastIndexByte(before, '/') && !isHost(before[:colon]):
		return before[:colon], why, true
	}
	return "", why, true
}

// isHost tells whether a name may be a registry's host, behind which a port
// follows and no tag.
func isHost(name string) bool {
	return !strings.Contains(name, "/") && (name == "localhost" || strings.Contains(name, "."))
}
