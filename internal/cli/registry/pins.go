package registry

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
)

// pin is an image, or a repository, that a person keeps.
type pin struct {
	text       string
	references []refs.Reference
}

// cutDigest is a digest as tables show it, which would pass for a repository
// called sha256.
var cutDigest = regexp.MustCompile(`^sha(256|384|512):[0-9a-f]+$`)

// parsePin reads a reference. A first part that looks like a host may as well
// be a part of the path, so both readings are kept.
func parsePin(text string) (pin, error) {
	ref, err := image.ParseReference(text)
	if err != nil {
		return pin{}, err
	}
	if ref.Digest == nil && cutDigest.MatchString(text) {
		return pin{}, fmt.Errorf("digest %q is cut short: write all of its digits", text)
	}
	p := pin{text: text}
	p.add(ref, ref.Repository)
	if ref.Host != "" {
		p.add(ref, ref.Host+"/"+ref.Repository)
	}
	return p, nil
}

func (p *pin) add(ref image.Reference, repository string) {
	p.references = append(p.references, refs.Reference{
		Code: reason.Pinned, By: "--keep " + p.text, Repository: repository, Tag: ref.Tag, Digest: ref.Digest,
		Whole: ref.Tag == "" && ref.Digest == nil,
	})
}

func checkPin(text string) error {
	_, err := parsePin(text)
	return err
}

func parsePins(texts []string) ([]pin, error) {
	var pins []pin
	for _, text := range texts {
		p, err := parsePin(text)
		if err != nil {
			return nil, err
		}
		pins = append(pins, p)
	}
	return pins, nil
}

// readPins reads a file of references, one a line, with comments behind #.
func readPins(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("keep-from: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var texts []string
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := checkPin(text); err != nil {
			return nil, cli.Usagef("%s:%d: %w", path, n, err)
		}
		texts = append(texts, text)
	}
	if err := lines.Err(); err != nil {
		return nil, cli.Usagef("keep-from %s: %w", path, err)
	}
	return texts, nil
}

// keepsNothing tells whether nothing in the storage is what the pin names.
func (p pin) keepsNothing(made *plan.Plan) bool {
	return !slices.ContainsFunc(p.references, func(ref refs.Reference) bool { return made.Matched(ref.By) })
}
