package report

import (
	"strings"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
)

// few is how many images are explained in full; of more there is a table.
const few = 3

// Text shows the explanation to a person: the decision first, then every
// reason, then the chain that keeps it.
func (e Explanation) Text(view View) []byte {
	page := &page{View: view}
	page.Quiet = false
	if len(e.Images) > few && !view.Verbose {
		page.explainMany(e.Images)
	} else {
		for _, img := range e.Images {
			page.gap()
			page.explainImage(img)
		}
	}
	for _, b := range e.Blobs {
		page.gap()
		page.explainBlob(b)
	}
	for _, u := range e.Uploads {
		page.gap()
		page.line("%s  upload %s of %s, %s", page.decision(u.Decision), Escape(u.ID), Escape(u.Repository), Size(u.Bytes))
		page.reasons(u.Reasons)
	}
	if page.Len() == 0 {
		page.line("%s holds no images.", Escape(e.Image))
	}
	return page.Bytes()
}

const indent = "         "

// decision is one word of a fixed width.
func (p *page) decision(d string) string {
	if d == Delete {
		return p.paint(red, "deleted")
	}
	return p.paint(green, "kept   ")
}

func (p *page) explainImage(img ExplainedImage) {
	p.explained(img.Decision)
	p.line("%s%s of its own, %s shared with other images", indent, Size(img.Bytes.Exclusive), Size(img.Bytes.Shared))
	for _, link := range img.Chain {
		p.line("   because this is")
		p.explained(link)
	}
}

func (p *page) explained(d Decision) {
	p.line("%s  %s@%s", p.decision(d.Decision), Escape(d.Repository), d.Digest)
	if len(d.Tags) > 0 {
		p.line("%stagged %s", indent, Escape(strings.Join(d.Tags, ", ")))
	}
	if d.Owner != "" {
		p.line("%sowner: %s", indent, Escape(d.Owner))
	}
	p.reasons(d.Reasons)
}

func (p *page) reasons(reasons []reason.Reason) {
	for _, r := range reasons {
		p.line("%s%s  %s", indent, p.paint(bold, pad(string(r.Code), len(reason.NeededByKept))), EscapeLine(r.Detail))
	}
}

func pad(s string, columns int) string { return s + strings.Repeat(" ", max(columns-len(s), 0)) }

func (p *page) explainMany(images []ExplainedImage) {
	t := &table{columns: []column{{"DECISION", false}, {"DIGEST", false}, {"REASON", false}, {"TAGS", false}}}
	for _, img := range images {
		t.add(img.Decision.Decision, short(img.Digest), string(img.Reasons[0].Code), orDash(strings.Join(img.Tags, ",")))
	}
	p.table(t)
	p.gap()
	p.line("Of one of them ebb registry explain %s@DIGEST tells all, of all of them -v does.", Escape(images[0].Repository))
}

// short is a digest that explain finds again.
func short(digest string) string {
	if d, err := image.ParseDigest(digest); err == nil {
		return d.Short()
	}
	return digest
}

func (p *page) explainBlob(b ExplainedBlob) {
	p.line("%s  blob %s, %s", p.decision(b.Decision), b.Digest, Size(b.Bytes))
	p.reasons(b.Reasons)
	if len(b.NeededBy) == 0 {
		return
	}
	p.line("%sa part of %s:", indent, Count(len(b.NeededBy), "image"))
	const most = 10
	for i, d := range b.NeededBy {
		if i == most && !p.Verbose {
			p.line("%sand %d more, which -v shows", indent, len(b.NeededBy)-most)
			return
		}
		p.line("%s%s  %s@%s %s", indent, p.decision(d.Decision), Escape(d.Repository), short(d.Digest), Escape(strings.Join(d.Tags, ", ")))
	}
}

// Names are the images that were asked for, as repository@digest, one a line.
func (e Explanation) Names() []byte {
	page := &page{}
	for _, img := range e.Images {
		page.line("%s@%s", Escape(img.Repository), img.Digest)
	}
	for _, b := range e.Blobs {
		page.line("%s", b.Digest)
	}
	return page.Bytes()
}
