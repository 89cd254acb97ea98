package report

import (
	"slices"
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/retention"
)

// HostExplanation is the document of why images on a Docker host stay or go.
type HostExplanation struct {
	Kind
	PlannedAt    Time             `json:"plannedAt"`
	Options      HostOptions      `json:"options"`
	Store        HostStore        `json:"store"`
	Image        string           `json:"image"` // as it was asked for
	Images       []HostExplained  `json:"images"`
	Repositories []HostRepository `json:"repositories"` // the pinned ones that these images are judged in
	Warnings     []string         `json:"warnings"`
}

// HostExplained is a decision with what its names are as versions.
type HostExplained struct {
	HostDecision
	Versions []HostVersion `json:"versions"`
}

// HostVersion is a name's tag as a version. Only versions of one stream are
// compared.
type HostVersion struct {
	Name   string `json:"name"`   // in full
	Stream string `json:"stream"` // empty: it is no version
	Stable bool   `json:"stable"`
}

// NewHostExplanation writes down what is found of an image, or of a
// repository, that was asked for.
func NewHostExplanation(pass HostPass, query string, found []*retention.Decision) HostExplanation {
	p := pass.Plan
	e := HostExplanation{
		Kind: kindOf(KindExplanation), PlannedAt: Time{p.Now}, Options: pass.Options, Store: NewHostStore(p.Engine), Image: query,
		Images: []HostExplained{}, Repositories: []HostRepository{}, Warnings: list(pass.Warnings),
	}
	judged := map[string]bool{}
	for _, d := range found {
		judged[d.Repository] = true
		e.Images = append(e.Images, HostExplained{newHostDecision(d, p.Engine.Store, pass.Record), hostVersions(d.Image.Names)})
	}
	for i := range p.Repositories {
		if judged[p.Repositories[i].Name] {
			e.Repositories = append(e.Repositories, newHostRepository(&p.Repositories[i]))
		}
	}
	return e
}

// hostVersions says of each tag what it is compared with.
func hostVersions(names []image.Name) []HostVersion {
	versions := []HostVersion{}
	for _, n := range names {
		if n.Tag == "" {
			continue
		}
		v := HostVersion{Name: n.String()}
		if parsed, ok := image.ParseVersion(n.Tag); ok {
			v.Stream, v.Stable = parsed.Stream().String(), parsed.Stable()
		}
		versions = append(versions, v)
	}
	return versions
}

// Text shows the explanation to a person: each decision with every reason, then
// the repositories with their pins and what is kept as one step back.
func (e HostExplanation) Text(view View) []byte {
	page := &page{View: view}
	page.Quiet = false
	for _, img := range e.Images {
		page.gap()
		page.hostExplained(img)
	}
	for _, r := range e.Repositories {
		page.gap()
		page.hostRepository(r)
	}
	return page.Bytes()
}

func (p *page) hostExplained(img HostExplained) {
	title := strings.Join(familiarTexts(img.Names), ", ")
	if title == "" {
		title = "untagged, of " + phrase(img.Repository == "", "no repository", image.FamiliarRepository(img.Repository))
	}
	head := p.decision(img.Decision)
	if img.Until != nil {
		head = p.paint(yellow, "waits") + "   " + between
	}
	p.hanging(head, Escape(title))
	p.line("%*s%s", farLeft, "", img.ID)
	p.reasons(img.Reasons)
	p.line("%s%s of its own, %s shared with other images", indent, Size(img.Bytes.Exclusive), Size(img.Bytes.Shared))
	if img.FirstSeen != nil {
		p.line("%sfirst seen %s", indent, stamp(img.FirstSeen.Time))
	}
	if img.Until != nil {
		p.line("%sit may go at %s", indent, stamp(img.Until.Time))
	}
	for _, text := range versionTexts(img.Versions) {
		p.hanging(indent, Escape(text))
	}
	if img.Decision == "Delete" || !img.InDoubt { // nobody asked where what stays came from
		p.pulls(indent, img.Pullable, img.InDoubt)
	}
}

// versionTexts say it of each tag once.
func versionTexts(versions []HostVersion) []string {
	var texts []string
	for _, v := range versions {
		if text := v.text(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// text is what a tag is compared with, in words.
func (v HostVersion) text() string {
	tag := v.Name
	if n, err := image.ParseName(v.Name); err == nil {
		tag = n.Tag
	}
	if v.Stream == "" {
		return tag + " is no version"
	}
	return tag + " is a " + phrase(v.Stable, "stable version", "pre-release") + " of the stream " + v.Stream
}

func (p *page) hostRepository(r HostRepository) {
	p.line("%s", p.paint(bold, Escape(image.FamiliarRepository(r.Repository))))
	for _, pin := range r.Pins {
		what := phrase(pin.Passive, "kept as a pin, while its stack is down: ", "pinned: ")
		p.hanging("  "+what, Escape(strings.Join(familiarTexts([]string{pin.Name}), ""))+" by "+EscapeLine(pin.From))
	}
	for _, name := range familiarTexts(r.Previous) {
		p.hanging("  one step back: ", Escape(name))
	}
	if r.Skipped != nil {
		p.hanging("  left alone: ", string(r.Skipped.Code)+phrase(r.Skipped.Detail == "", "", ": ")+p.digests(EscapeLine(r.Skipped.Detail)))
	}
	p.line("  %d of %s would go, which frees %s", r.Delete, Count(r.Images, "image"), Size(r.ReclaimableBytes))
}

// IDs are the images that were asked for, one a line.
func (e HostExplanation) IDs() []byte {
	page := &page{}
	for _, img := range e.Images {
		page.line("%s", img.ID)
	}
	return page.Bytes()
}
