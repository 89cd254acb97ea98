package inventory

import (
	"cmp"
	"slices"
)

// ProblemCode is one word of the closed set of what can be wrong.
type ProblemCode string

// The problems. NotUnderstood and PartsUnseen alone are no damage.
const (
	NotListed         ProblemCode = "NotListed"         // a folder could not be listed or a file not looked at
	NotUnderstood     ProblemCode = "NotUnderstood"     // a manifest of an unknown kind
	ManifestUnread    ProblemCode = "ManifestUnread"    // a manifest's content can not be read or is not what its digest says
	ManifestMissing   ProblemCode = "ManifestMissing"   // a revision whose manifest blob is gone
	LinkDamaged       ProblemCode = "LinkDamaged"       // a link file that does not hold its digest
	TagUnread         ProblemCode = "TagUnread"         // a tag whose current link can not be read
	TagDangling       ProblemCode = "TagDangling"       // a tag that names a manifest that its repository does not have
	BlobMissing       ProblemCode = "BlobMissing"       // content that a manifest needs is gone
	LayerLinkMissing  ProblemCode = "LayerLinkMissing"  // the repository has no right to content that its manifest needs
	SizeMismatch      ProblemCode = "SizeMismatch"      // content has another size than its manifest says
	DigestMismatch    ProblemCode = "DigestMismatch"    // content has another digest than its name says
	PartsUnseen       ProblemCode = "PartsUnseen"       // uploads in parts that could not be listed
	UnexpectedContent ProblemCode = "UnexpectedContent" // something lies where only digests may
)

// Problem is one thing that is wrong, with the path where it is.
type Problem struct {
	Path   string      `json:"path"`
	Code   ProblemCode `json:"code"`
	Detail string      `json:"detail"`
}

// Damage tells whether the problem is damage, and not merely something that is
// not understood.
func (p Problem) Damage() bool { return p.Code != NotUnderstood && p.Code != PartsUnseen }

// Damaged tells whether any of the problems is damage.
func Damaged(problems []Problem) bool { return slices.ContainsFunc(problems, Problem.Damage) }

// SortProblems orders them by path and drops what is said twice.
func SortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(problems)
}
