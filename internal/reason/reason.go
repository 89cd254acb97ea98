// Package reason is the closed set of words that say why an image is kept or
// deleted. The same words stand in tables, JSON, explanations and documents.
//
// It decides nothing; it only names what others decided.
package reason

// Code is one word of the set.
type Code string

// Why something is kept.
const (
	Owned        Code = "Owned"        // a living object needs it
	Referenced   Code = "Referenced"   // a workload or a living object's status names it
	Pinned       Code = "Pinned"       // --keep names it
	Tagged       Code = "Tagged"       // it has a tag and no owner rule claims its repository
	KeptByPolicy Code = "KeptByPolicy" // it may not be cleaned now: out of scope, or its whole kind is held
	NeededByKept Code = "NeededByKept" // a kept index lists it
	SubjectKept  Code = "SubjectKept"  // it describes a kept image: signature, attestation, any referrer
	TooYoung     Code = "TooYoung"     // younger than the minimum age
	AgeUnknown   Code = "AgeUnknown"   // its age can not be told
	Unclaimed    Code = "Unclaimed"    // it has no tag and no owner rule claims its repository
	Unreadable   Code = "Unreadable"   // something it may depend on could not be read or understood
)

// Why an image on a Docker host is kept, beside those.
const (
	InUse           Code = "InUse"           // a container or a service uses it
	NewerThanPin    Code = "NewerThanPin"    // a later version than a pin's
	PreviousOfPin   Code = "PreviousOfPin"   // one step back from a pin
	OtherRepository Code = "OtherRepository" // it has a name in another repository too
	OtherStream     Code = "OtherStream"     // its version can not be compared with a pin's
	NotAVersion     Code = "NotAVersion"     // its tag is no version
	DigestOnly      Code = "DigestOnly"      // it has no tag, and is not proven to have been a pinned repository's
	RecentlyUsed    Code = "RecentlyUsed"    // it was used or pinned not long ago
	RefusedBefore   Code = "RefusedBefore"   // the engine would not delete it, not long ago
	PinMissing      Code = "PinMissing"      // a pin of its repository is not present
)

// Why something is deleted.
const (
	OwnerGone        Code = "OwnerGone"        // no object builds its repository any more
	OwnerDone        Code = "OwnerDone"        // its owner lives and no longer needs the image
	StaleOwner       Code = "StaleOwner"       // its tag names an earlier object of the same name
	Untagged         Code = "Untagged"         // no tag leads to it
	SubjectGone      Code = "SubjectGone"      // it describes an image that no repository will hold
	UnreferencedBlob Code = "UnreferencedBlob" // no kept manifest needs the blob
	AbandonedUpload  Code = "AbandonedUpload"  // an upload that nobody goes on with
	EmptyRepository  Code = "EmptyRepository"  // a repository that holds nothing

	OlderThanPrevious Code = "OlderThanPrevious" // on a host: a version below what is kept as one step back
)

// Reason is a code with the particulars of one case, in words for people.
type Reason struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
}
