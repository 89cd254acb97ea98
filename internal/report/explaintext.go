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
		page.hanging(page.decision(u.Decision), "upload "+Escape(u.ID)+" of "+Escape(u.Repository)+", "+Size(u.Bytes))
		page.reasons(u.Reasons)
	}
	if page.Len() == 0 {
		page.line("%s holds no images.", Escape(e.Image))
	}
	return page.Bytes()
}

// indent is where what belongs to a decision stands.
const indent = "          "

// decision is what happens to something, of a fixed width.
func (p *page) decision(d string) string {
	if d == Delete {
		return p.paint(red, word(d)) + between
	}
	return p.paint(green, word(d)) + "    " + between
}

// word is a decision as explain says it, which deletes nothing.
func word(decision string) string { return phrase(decision == Delete, "would go", "kept") }

func (p *page) explainImage(img ExplainedImage) {
	p.named(img.Decision.Decision, Escape(img.Repository)+"@", img.Digest, "")
	p.particulars(img.Decision)
	p.line("%s%s of its own, %s shared with other images", indent, Size(img.Bytes.Exclusive), Size(img.Bytes.Shared))
	for _, link := range img.Chain {
		p.line("   because this is")
		p.hanging(p.decision(link.Decision), Escape(link.Repository)+"@"+p.digests(link.Digest))
		p.particulars(link)
	}
}

// named is the head line of something with its whole digest, which gets a line
// of its own where it would be broken in the middle.
func (p *page) named(decision, before, digest, after string) {
	head := p.decision(decision)
	if p.Width == 0 || width(unpainted(head)+before+digest+after) <= p.Width {
		p.line("%s%s%s%s", head, before, digest, after)
		return
	}
	p.line("%s%s%s", head, strings.TrimRight(before, "@ "), after)
	p.line("%*s%s", farLeft, "", digest)
}

func (p *page) particulars(d Decision) {
	if len(d.Tags) > 0 {
		p.hanging(indent+"tagged ", Escape(strings.Join(d.Tags, ", ")))
	}
	if d.Owner != "" {
		p.hanging(indent+"owner: ", Escape(d.Owner))
	}
	p.reasons(d.Reasons)
}

func (p *page) reasons(reasons []reason.Reason) {
	longest := len(reason.NeededByKept)
	for _, r := range reasons {
		longest = max(longest, len(r.Code))
	}
	for _, r := range reasons {
		code := p.paint(bold, string(r.Code)) + strings.Repeat(" ", longest-len(r.Code))
		p.hanging(indent+code+between, p.digests(EscapeLine(r.Detail)))
	}
}

func (p *page) explainMany(images []ExplainedImage) {
	t := &table{columns: []column{{"DECISION", false}, {"DIGEST", false}, {"REASON", false}, {"TAGS", false}}}
	for _, img := range images {
		t.add(word(img.Decision.Decision), short(img.Digest), string(img.Reasons[0].Code), orDash(strings.Join(img.Tags, ",")))
	}
	p.capped(t, mostRows)
	p.gap()
	p.prose("For one image: ebb registry explain %s. For all of them: -v.", ShellQuote(images[0].Repository+"@"+short(images[0].Digest)))
}

// short is a digest that explain finds again.
func short(digest string) string {
	if d, err := image.ParseDigest(digest); err == nil {
		return d.Short()
	}
	return digest
}

func (p *page) explainBlob(b ExplainedBlob) {
	p.named(b.Decision, "blob ", b.Digest, ", "+Size(b.Bytes))
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
		p.hanging(indent+p.decision(d.Decision), strings.TrimSpace(Escape(d.Repository)+"@"+short(d.Digest)+" "+Escape(strings.Join(d.Tags, ", "))))
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
