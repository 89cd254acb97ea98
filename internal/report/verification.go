package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
)

// Verification is the document of what a storage was found to be.
type Verification struct {
	Kind
	Store      Store               `json:"store"`
	Deep       bool                `json:"deep"` // all content was hashed
	StartedAt  Time                `json:"startedAt"`
	FinishedAt Time                `json:"finishedAt"`
	Totals     Verified            `json:"totals"`
	Problems   []inventory.Problem `json:"problems"`
}

// Verified counts what was looked at.
type Verified struct {
	Repositories int   `json:"repositories"`
	Tags         int   `json:"tags"`
	Images       int   `json:"images"`
	Blobs        int   `json:"blobs"`
	Bytes        int64 `json:"bytes"` // of all blobs
}

// NewVerification writes a verification down.
func NewVerification(store Store, deep bool, totals Verified, problems []inventory.Problem, started, finished time.Time) Verification {
	return Verification{
		Kind: kindOf(KindVerification), Store: store, Deep: deep, Totals: totals, Problems: list(problems),
		StartedAt: Time{started}, FinishedAt: Time{finished},
	}
}

// Text shows the verification to a person.
func (v Verification) Text(view View) []byte {
	page := &page{View: view}
	page.Verbose = true
	how := phrase(v.Deep, "hashed", "not hashed; --deep does it")
	looked := Count(v.Totals.Repositories, "repository") + ", " + Count(v.Totals.Tags, "tag") + ", " + Count(v.Totals.Images, "image") +
		", " + Count(v.Totals.Blobs, "blob") + " (" + Size(v.Totals.Bytes) + ", " + how + ")"
	if !inventory.Damaged(v.Problems) {
		page.prose("%s %s.", page.paint(green, "All is well:"), looked)
	} else {
		page.prose("%s in %s.", page.paint(red, Count(damagedOf(v.Problems), "problem")), looked)
	}
	page.verified(v.Problems)
	return page.Bytes()
}

func damagedOf(problems []inventory.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Damage() {
			n++
		}
	}
	return n
}

func (p *page) verified(problems []inventory.Problem) {
	damaged, odd := split(problems)
	if len(damaged) > 0 {
		p.gap()
		p.problems(damaged)
		p.remedy()
	}
	p.odd(odd)
}

// Paths are where the problems are, one a line.
func (v Verification) Paths() []byte {
	page := &page{}
	for _, p := range v.Problems {
		page.line("%s", Escape(p.Path))
	}
	return page.Bytes()
}
