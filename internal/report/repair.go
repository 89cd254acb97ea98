package report

import (
	"time"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/repair"
)

// Repair is the document of what can be mended, and of what became of it.
type Repair struct {
	Kind
	PlannedAt Time          `json:"plannedAt"`
	Store     Store         `json:"store"`
	Options   RepairOptions `json:"options"`
	// Applied says that it was carried out, as far as the actions say; else
	// nothing was touched.
	Applied bool           `json:"applied"`
	Totals  RepairTotals   `json:"totals"`
	Actions []RepairAction `json:"actions"`
	// Failed are those of the actions that have an error.
	Failed []Failure `json:"failed"`
	// Remaining are the problems that no action mends.
	Remaining  []Remaining `json:"remaining"`
	Exceeded   []Exceeded  `json:"exceeded"`
	StartedAt  Time        `json:"startedAt"`
	FinishedAt Time        `json:"finishedAt"`
	// Stopped says why the repair did not come to its end; empty when it did.
	Stopped string `json:"stopped"`
	Memory
}

// RepairOptions are the choices that shaped a repair.
type RepairOptions struct {
	Repository     []string `json:"repository"`
	Exclude        []string `json:"exclude"`
	LeftoverAge    string   `json:"leftoverAge"`
	MaxDeleteShare string   `json:"maxDeleteShare"`
}

// RepairTotals count by what they do the actions that were done, or where
// nothing was carried out all of them.
type RepairTotals struct {
	LostTags       int `json:"lostTags"`
	LostImages     int `json:"lostImages"`
	LostLayerLinks int `json:"lostLayerLinks"`
	WrittenLinks   int `json:"writtenLinks"`
	TemporaryFiles int `json:"temporaryFiles"`
	// TemporaryBytes are what those take.
	TemporaryBytes int64 `json:"temporaryBytes"`
	Folders        int   `json:"folders"`
	Remaining      int   `json:"remaining"`
}

// RepairAction mends one thing.
type RepairAction struct {
	Action     string `json:"action"`
	Path       string `json:"path"`
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest"`
	Reason     string `json:"reason"`
	Loses      string `json:"loses"` // empty: nothing
	Bytes      int64  `json:"bytes"`
	Done       bool   `json:"done"`
	Error      string `json:"error"`
}

// Remaining is a problem that takes a person.
type Remaining struct {
	inventory.Problem
	Remedy string `json:"remedy"`
}

// Repaired is what became of a repair.
type Repaired struct {
	Applied    bool
	Done       []bool        // by action
	Failed     map[int]error // by action
	Stopped    string
	Memory     Memory
	StartedAt  time.Time
	FinishedAt time.Time
}

// RepairChoices writes the choices down.
func RepairChoices(scope policy.Scope, leftoverAge time.Duration, share policy.Share) RepairOptions {
	o := RepairOptions{Repository: []string{}, Exclude: []string{}, LeftoverAge: Age(leftoverAge), MaxDeleteShare: share.String()}
	for _, g := range scope.Include {
		o.Repository = append(o.Repository, g.String())
	}
	for _, g := range scope.Exclude {
		o.Exclude = append(o.Exclude, g.String())
	}
	return o
}

// NewRepair writes a repair down.
func NewRepair(p *repair.Plan, store Store, options RepairOptions, plannedAt time.Time, r Repaired) Repair {
	document := Repair{
		Kind: kindOf(KindRepair), PlannedAt: Time{plannedAt}, Store: store, Options: options, Applied: r.Applied,
		Actions: []RepairAction{}, Failed: []Failure{}, Remaining: []Remaining{}, Exceeded: []Exceeded{}, Stopped: r.Stopped,
		Memory: r.Memory, StartedAt: Time{r.StartedAt}, FinishedAt: Time{r.FinishedAt},
	}
	for i := range p.Actions {
		action := repairAction(&p.Actions[i])
		action.Done = i < len(r.Done) && r.Done[i]
		if err := r.Failed[i]; err != nil {
			action.Error = err.Error()
			document.Failed = append(document.Failed, Failure{Path: action.Path, Error: action.Error})
		}
		document.Actions = append(document.Actions, action)
		if action.Done || !r.Applied {
			document.Totals.add(&p.Actions[i])
		}
	}
	for _, left := range p.Remaining {
		document.Remaining = append(document.Remaining, Remaining{left.Problem, left.Remedy})
	}
	for _, e := range p.Exceeded {
		document.Exceeded = append(document.Exceeded, Exceeded(e))
	}
	document.Totals.Remaining = len(p.Remaining)
	return document
}

func repairAction(a *repair.Action) RepairAction {
	action := RepairAction{
		Action: string(a.Kind), Path: a.Path, Repository: a.Repository, Tag: a.Tag,
		Reason: a.Reason, Loses: a.Loses, Bytes: a.Bytes,
	}
	if a.HasDigest {
		action.Digest = a.Digest.String()
	}
	return action
}

func (t *RepairTotals) add(a *repair.Action) {
	switch a.Kind {
	case repair.RemoveTag:
		t.LostTags++
	case repair.RemoveRevision:
		t.LostImages++
	case repair.RemoveLayerLink:
		t.LostLayerLinks++
	case repair.WriteLink:
		t.WrittenLinks++
	case repair.RemoveTemporary:
		t.TemporaryFiles++
		t.TemporaryBytes += a.Bytes
	case repair.RemoveFolder:
		t.Folders++
	}
}

// Paths are what is mended, one a line; of a repair that was carried out, what
// was.
func (r Repair) Paths() []byte {
	page := &page{}
	for _, a := range r.Actions {
		if a.Done || !r.Applied {
			page.line("%s", Escape(a.Path))
		}
	}
	return page.Bytes()
}
