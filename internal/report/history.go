package report

import (
	"slices"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
)

// History is the document of what Ebb deleted on a Docker host, as far as its
// journal remembers.
type History struct {
	Kind
	Store     HostStore      `json:"store"`
	Deletions []HostDeletion `json:"deletions"` // the newest last
}

// HostDeletion is an image that Ebb deleted.
type HostDeletion struct {
	At         Time     `json:"at"`
	ID         string   `json:"id"`
	Repository string   `json:"repository"` // in full
	Names      []string `json:"names"`      // in full
	Digests    []string `json:"digests"`    // repository@digest, in full, to pull it by; none: it can't be pulled again
	InDoubt    bool     `json:"inDoubt"`    // it is not certain that any registry has them
	Reasons    []string `json:"reasons"`
	Detail     string   `json:"detail"`
	Bytes      int64    `json:"bytes"` // an estimate
}

// NewHistory writes down what was deleted.
func NewHistory(e engine.Engine, deletions []journal.Deletion) History {
	h := History{Kind: kindOf(KindHistory), Store: NewHostStore(e), Deletions: make([]HostDeletion, len(deletions))}
	for i, d := range deletions {
		h.Deletions[i] = HostDeletion{
			At: Time{d.At}, ID: d.ID.String(), Repository: d.Repository, Names: list(d.Names), Digests: list(d.Digests), InDoubt: d.InDoubt,
			Reasons: list(d.Reasons), Detail: d.Detail, Bytes: d.Bytes,
		}
	}
	return h
}

// Text shows a person what was deleted, the newest last, and how to have it
// again. Since is how far back was looked; 0: to the beginning.
func (h History) Text(since time.Duration, view View) []byte {
	page := &page{View: view}
	if len(h.Deletions) == 0 {
		page.prose("Nothing was deleted %s.", phrase(since == 0, "yet", "in the last "+Age(since)))
	}
	if view.Wide {
		page.historyWide(h.Deletions)
		return page.Bytes()
	}
	for _, d := range h.Deletions {
		page.deletion(d)
	}
	return page.Bytes()
}

func (p *page) deletion(d HostDeletion) {
	p.hanging(stamp(d.At.Time)+between+p.paint(bold, Size(d.Bytes))+between, Escape(d.title()))
	p.hanging("    ", p.digests(EscapeLine(strings.Join(d.Reasons, ", ")+phrase(d.Detail == "", "", ": ")+d.Detail)))
	p.pulls("    ", d.Digests, d.InDoubt)
	for _, command := range d.tags() {
		p.line("    %s", command)
	}
}

// tags are the commands that give an image its names back once it was pulled.
func (d HostDeletion) tags() []string {
	var commands []string
	for _, text := range d.Names {
		n, err := image.ParseName(text)
		if err != nil || n.Tag == "" || len(d.Digests) == 0 {
			continue
		}
		from := d.Digests[max(slices.IndexFunc(d.Digests, func(digest string) bool { return strings.HasPrefix(digest, n.Repository+"@") }), 0)]
		commands = append(commands, "docker tag "+ShellQuote(familiarTexts([]string{from})[0])+" "+ShellQuote(n.Familiar()))
	}
	return commands
}

// pulls are the commands that bring an image back, whole, to be copied. Head
// stands before what is said of them.
func (p *page) pulls(head string, digests []string, inDoubt bool) {
	switch {
	case len(digests) == 0:
		p.line("%sno digest: it can't be pulled again", head)
	case inDoubt:
		p.line("%sit may be in no registry; if it is in one:", head)
	}
	for _, digest := range familiarTexts(digests) {
		p.line("%*sdocker pull %s", farLeft, "", ShellQuote(digest))
	}
}

// DeletionText is in one line what became of an image that Ebb deleted.
func DeletionText(d journal.Deletion) string {
	again := "no digest, it can't be pulled again"
	if len(d.Digests) > 0 {
		again = "docker pull " + ShellQuote(familiarTexts(d.Digests)[0]) + phrase(d.InDoubt, ", but it may be in no registry", "")
	}
	return "Ebb deleted it " + d.At.UTC().Format("2006-01-02 15:04 MST") + " (" + strings.Join(d.Reasons, ", ") + "): " + again
}

func (d HostDeletion) title() string {
	if len(d.Names) > 0 {
		return strings.Join(familiarTexts(d.Names), ", ")
	}
	return strings.TrimSpace(strings.Join(familiarTexts([]string{d.Repository}), "") + " " + short(d.ID))
}

// historyWide has one line for each image.
func (p *page) historyWide(deletions []HostDeletion) {
	t := &table{columns: []column{
		{"WHEN", false},
		{"FREED", true},
		{"IMAGE", false},
		{"ID", false},
		{"REASONS", false},
		{"DIGESTS", false},
	}}
	for _, d := range deletions {
		t.add(stamp(d.At.Time), Size(d.Bytes), d.title(), d.ID, strings.Join(d.Reasons, ", "), orDash(strings.Join(familiarTexts(d.Digests), ", ")))
	}
	p.wideTable(t)
}

// Pullable are the digests by which what is gone can be had again, one a line.
func (h History) Pullable() []byte {
	page := &page{}
	for _, d := range h.Deletions {
		for _, digest := range familiarTexts(d.Digests) {
			page.line("%s", Escape(digest))
		}
	}
	return page.Bytes()
}
