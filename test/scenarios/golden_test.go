package scenarios

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// golden writes a plan for readers: each image with all its reasons, then all
// else that goes.
func golden(p *plan.Plan) string {
	var b strings.Builder
	for i := range p.Decisions {
		writeDecision(&b, &p.Decisions[i])
	}
	writeSweep(&b, p)
	for _, h := range p.Held {
		fmt.Fprintf(&b, "held: rule %s, no %s at all, repositories: %d\n", h.Rule, h.Kind, h.Repositories)
	}
	for _, e := range p.Exceeded {
		fmt.Fprintf(&b, "exceeded: %s\n", e.Text("deleted"))
	}
	for _, problem := range p.Inventory().Problems {
		fmt.Fprintf(&b, "problem: %s %s: %s\n", problem.Code, strings.TrimPrefix(problem.Path, world.Root+"/"), withoutRoot(problem.Detail))
	}
	t := p.Totals
	fmt.Fprintf(&b, "totals: %d images, %d kept, %d deleted; %d bytes, %d reclaimable\n", t.Images, t.Keep, t.Delete, t.Bytes, t.ReclaimableBytes)
	return b.String()
}

// withoutRoot leaves out where the test's folder is.
func withoutRoot(detail string) string {
	if i := strings.Index(detail, "store /"); i >= 0 {
		rest := detail[i:]
		if j := strings.Index(rest, ": "); j >= 0 {
			return detail[:i] + rest[j+2:]
		}
	}
	return detail
}

func writeDecision(b *strings.Builder, d *plan.Decision) {
	verdict := "keep"
	if d.Delete {
		verdict = "DELETE"
	}
	fmt.Fprintf(b, "%s %s %s %s\n", verdict, d.Repository, d.Digest, strings.Join(d.Tags, " "))
	if d.Owner != "" {
		fmt.Fprintf(b, "  owner %s\n", d.Owner)
	}
	for _, r := range d.Reasons {
		fmt.Fprintf(b, "  - %s: %s\n", r.Code, r.Detail)
	}
}

// writeSweep writes what goes beside images and their tags.
func writeSweep(b *strings.Builder, p *plan.Plan) {
	var lines []string
	for _, phase := range p.Steps(nil) {
		for _, item := range phase {
			if line := sweepLine(item); line != "" {
				lines = append(lines, line)
			}
		}
	}
	for _, line := range slices.Sorted(slices.Values(lines)) {
		b.WriteString(line)
	}
}

func sweepLine(item inventory.Item) string {
	switch item.Kind {
	case inventory.LayerLink:
		return fmt.Sprintf("sweep layer link %s %s\n", item.Repository, item.Digest)
	case inventory.Blob, inventory.ManifestBlob:
		return fmt.Sprintf("sweep blob %s, %d bytes\n  - %s: %s\n", item.Digest, item.Size, plan.Unreferenced().Code, plan.Unreferenced().Detail)
	case inventory.UploadFolder:
		return fmt.Sprintf("sweep upload %s %s, %d bytes\n  - %s: \n", item.Repository, item.Upload, item.Size, reason.AbandonedUpload)
	case inventory.RepositoryFolder:
		return fmt.Sprintf("sweep repository %s\n  - %s: \n", item.Repository, reason.EmptyRepository)
	}
	return ""
}

// hostOnly are codes that no registry gives.
var hostOnly = []string{
	"NewerThanPin", "PreviousOfPin", "InUse", "NotAVersion", "OtherStream", "OtherRepository", "DigestOnly",
	"RecentlyUsed", "RefusedBefore", "PinMissing", "BeyondPolicy", "OlderThanPrevious",
}

// codes reads the closed set from its source, so that a new one is not
// forgotten here.
func codes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/reason/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && !slices.Contains(hostOnly, spec.Names[0].Name) {
			found = append(found, spec.Names[0].Name)
		}
		return true
	})
	if len(found) < 15 {
		t.Fatalf("found only the codes %v", found)
	}
	return found
}
