package report_test

import (
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
)

// TestLostNamesFitTheTerminal: also the longest, with what follows them.
func TestLostNamesFitTheTerminal(t *testing.T) {
	pass := hostPass()
	for i := range pass.Plan.Decisions {
		if names := pass.Plan.Decisions[i].Image.Names; len(names) > 0 {
			names[0].Tag = strings.Repeat("v", 80-len("traefik:"))
		}
		pass.Plan.Decisions[i].Image.Digests = nil
	}
	for line := range strings.SplitSeq(string(report.HostAskText(pass.Plan, report.View{Width: 80})), "\n") {
		if report.Width(line) > 80 {
			t.Errorf("%d columns: %s", report.Width(line), line)
		}
	}
}

// TestPullsInDoubt: of what a containerd store gives a digest to, nobody knows
// whether a registry has it, unless the engine says where it came from.
func TestPullsInDoubt(t *testing.T) {
	const id = "1111111111111111111111111111111111111111111111111111111111111111"
	for _, test := range []struct {
		reason     string
		identified bool
		origins    []string
		ask        string
		explain    string
	}{
		{"pulled", true, []string{"docker.io/library/traefik"}, "", "    docker pull traefik@sha256:" + id},
		{"never pulled", true, nil, "Gone for good: traefik:v2.10.7: no digest, can't be pulled again.", "          no digest: it can't be pulled again"},
		{
			"not known", false, nil, "Perhaps gone for good: traefik:v2.10.7: it may be in no registry.",
			"          it may be in no registry; if it is in one:\n    docker pull traefik@sha256:" + id,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			pass := hostPass()
			pass.Plan.Engine.Store = engine.Containerd
			img := hostImage("1", 1, 0, false, "traefik:v2.10.7")
			img.Identified, img.Origins = test.identified, test.origins
			pass.Plan.Decisions = []retention.Decision{{Image: img, Repository: "docker.io/library/traefik", Delete: true, Reasons: why(reason.OlderThanPrevious, "older")}}
			ask := string(report.HostAskText(pass.Plan, report.View{}))
			if gone := strings.Contains(ask, "one for good"); gone != (test.ask != "") || !strings.Contains(ask, test.ask) {
				t.Errorf("want %q in\n%s", test.ask, ask)
			}
			explained := report.NewHostExplanation(pass, "traefik", []*retention.Decision{&pass.Plan.Decisions[0]})
			if text := string(explained.Text(report.View{})); !strings.Contains(text, "\n"+test.explain+"\n") {
				t.Errorf("want %q in\n%s", test.explain, text)
			}
			step := pass.Plan.Steps()[0]
			var digests []string
			for _, d := range step.Digests {
				digests = append(digests, d.String())
			}
			history := report.NewHistory(pass.Plan.Engine, []journal.Deletion{{ID: step.ID, Digests: digests, InDoubt: step.InDoubt}})
			said := strings.ReplaceAll(test.explain, "          ", "    ")
			if text := string(history.Text(0, report.View{})); !strings.Contains(text, "\n"+said+"\n") {
				t.Errorf("want %q in\n%s", said, text)
			}
		})
	}
}
