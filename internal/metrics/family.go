package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The kinds of families.
const (
	gauge   = "gauge"
	counter = "counter" // never falls
)

// family is one metric with the values of its labels, in Prometheus' text
// format: it is small enough to be written here, and a library for it makes
// the program larger by half.
type family struct {
	name, kind, help string
	labels           []string
	values           map[string]float64 // by the labels as they are written
}

func newFamily(kind, name, help string, labels ...string) *family {
	f := &family{name: name, kind: kind, help: help, labels: labels, values: map[string]float64{}}
	if len(labels) == 0 {
		f.set(0)
	}
	return f
}

func (f *family) set(value float64, labels ...string) { f.values[f.key(labels)] = value }

func (f *family) add(value float64, labels ...string) { f.values[f.key(labels)] += value }

func (f *family) reset() { clear(f.values) }

// key writes labels as the format wants them.
func (f *family) key(values []string) string {
	if len(values) == 0 {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	pairs := make([]string, len(values))
	for i, value := range values {
		pairs[i] = f.labels[i] + `="` + escape.Replace(strings.ToValidUTF8(value, "�")) + `"`
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// writeTo writes the family. One without a value is left out.
func (f *family) writeTo(w io.Writer) {
	if len(f.values) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		_, _ = fmt.Fprintf(w, "%s%s %s\n", f.name, key, strconv.FormatFloat(f.values[key], 'g', -1, 64))
	}
}
