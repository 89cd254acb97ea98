// Package report puts plans, results, verifications, explanations and usage into
// the forms that people and programs read: tables, JSON, YAML and names. It also
// reads a stored plan back.
//
// It decides nothing, and refuses to print a name as it is when it holds what a
// terminal would obey. It knows no store and no source of owners.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// APIVersion stands in every document.
const APIVersion = "ebb.io/v1alpha1"

// The kinds of documents.
const (
	KindPlan         = "Plan"
	KindResult       = "Result"
	KindVerification = "Verification"
	KindExplanation  = "Explanation"
	KindUsage        = "Usage"
	KindRepair       = "Repair"
	KindHistory      = "History"
)

// Kind is what every document begins with.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func kindOf(kind string) Kind { return Kind{APIVersion: APIVersion, Kind: kind} }

// Store names the storage that a document speaks of.
type Store struct {
	URL  string `json:"url"`
	Name string `json:"name"` // what --confirm must repeat
	// Config is the absolute path of the registry's own configuration where that
	// named the storage; else empty.
	Config string `json:"config"`
	// Versioned tells whether the storage keeps old versions, so that what is
	// deleted takes room until they expire: yes, no or unknown.
	Versioned string `json:"versioned"`
}

// What is known of old versions.
const (
	VersionsKept    = "yes"
	VersionsNot     = "no"
	VersionsUnknown = "unknown"
)

// Time is a moment in UTC, written with all nine digits of its second.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000000000Z"

// MarshalJSON writes RFC 3339.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timeFormat + `"`)), nil
}

// UnmarshalJSON reads RFC 3339 in any zone.
func (t *Time) UnmarshalJSON(data []byte) error {
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(data))
	if err != nil {
		return fmt.Errorf("time %s: want RFC 3339", data)
	}
	t.Time = parsed.UTC()
	return nil
}

// JSON is one document, indented, with a newline at its end.
func JSON(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(document)
	return b.Bytes(), err
}

// YAML is the same document in YAML.
func YAML(document any) ([]byte, error) {
	data, err := JSON(document)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// list is never nil, so that no field is null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
