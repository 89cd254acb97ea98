package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/execute"
	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/world"
	"github.com/ebb-io/ebb/internal/usage"
)

// long is a world of names that no terminal is wide enough for.
func long(t *testing.T) *plan.Plan {
	return planOf(t, func(w *world.World) {
		for i := range 3 {
			name := fmt.Sprintf("own/%s-%d", strings.Repeat("long", 40), i)
			w.Image(name, world.Tag("v1"), world.ConfigText(name), world.Layers(w.Layer(world.Random(uint64(i), 5000))))
			w.Image(name, world.ConfigText(name+"untagged"))
		}
		w.Image("own/日本語の名前のとても長いリポジトリ名日本語の名前のとても長いリポジトリ名", world.Tag("v1"), world.ConfigText("wide"))
		w.Image("own/kept", world.Tag("v1"))
		w.Image("free/"+strings.Repeat("kept", 40), world.Tag("v1"))
	}, policy.Default(), "kept")
}

func TestFitsTheTerminal(t *testing.T) {
	p := long(t)
	for name, text := range map[string][]byte{
		"plan":    report.PlanText(p, store, nil, report.View{Width: 80, Verbose: true}),
		"colours": report.PlanText(p, store, nil, report.View{Width: 80, Color: true}),
		"ask":     report.AskText(p, store, report.View{Width: 80}),
		"result":  report.ResultText(p, store, outcome(), report.View{Width: 80}),
		"usage":   usageOf(p, usage.Repository, 0).Text(report.View{Width: 80, Color: true}),
		"owners":  usageOf(p, usage.Owner, 1).Text(report.View{Width: 80}),
	} {
		for line := range strings.SplitSeq(string(text), "\n") {
			if report.Width(line) > 80 {
				t.Errorf("%s: %d columns: %s", name, report.Width(line), line)
			}
		}
	}
}

// TestPipesGetWholeNames: nothing is shortened where no terminal is.
func TestPipesGetWholeNames(t *testing.T) {
	text := string(report.PlanText(long(t), store, nil, report.View{}))
	if !strings.Contains(text, strings.Repeat("long", 40)+"-2\n") {
		t.Errorf("a name is shortened:\n%s", text)
	}
}

// TestColumnsStandBelowEachOther measures by what a terminal shows: the last
// column begins at one place in every row, wide characters or not.
func TestColumnsStandBelowEachOther(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		w.Image("free/日本語", world.Tag("日本"), world.ConfigText("1"))
		w.Image("free/e\u0301te\u0301", world.Tag("v1"), world.ConfigText("2"))
		w.Image("free/plain", world.Tag("v1"), world.ConfigText("3"))
	}, policy.Default())
	text := string(report.PlanText(p, store, nil, report.View{Wide: true}))
	at := map[int]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.Index(line, "sha256:"); i >= 0 {
			at[report.Width(line[:i])] = true
		}
	}
	if len(at) != 1 {
		t.Errorf("digests begin at columns %v:\n%s", at, text)
	}
}

func outcome() report.Outcome {
	return report.Outcome{
		Deleted:    execute.Deleted{Tags: 1234567, Manifests: 1234567, LayerLinks: 7654321, Blobs: 7654321, Uploads: 12345, Repositories: 1},
		FreedBytes: 1 << 40, MeasuredFreedBytes: 1 << 39, Memory: report.Memory{Flushed: 1234, Remedy: "restart the registry"},
		Failed:    []report.Failure{{Path: "docker/x", Error: "input/output error"}},
		StartedAt: now, FinishedAt: now.Add(90 * time.Second),
	}
}

func TestResultText(t *testing.T) {
	p := long(t)
	for _, test := range []struct {
		name    string
		outcome report.Outcome
		want    []string
		not     []string
	}{
		{"all", outcome(), []string{
			"1.0 TiB freed: 1,234,567 images, 1,234,567 tags, 7,654,321 layer links, 7,654,321 blobs, 12,345 uploads, 1 repository deleted in 1m30s.\n",
			"The volume's free space grew by 512.0 GiB (others may write there too).\n", "Failed: 1 item could not be deleted", "  docker/x\n      input/output error\n",
			"1,234 entries removed from the registry's cache in Redis.\n", "Next: restart the registry.\n",
		}, []string{"Nothing"}},
		{"nothing", report.Outcome{Memory: report.Memory{Remedy: "restart the registry"}}, []string{"There was nothing to delete.\n"}, []string{"restart", "grew"}},
		{
			"stopped",
			report.Outcome{Stopped: "by a signal", Deleted: execute.Deleted{Blobs: 1}, FreedBytes: 5, FinishedAt: now, StartedAt: now},
			[]string{"5 B freed: 1 blob deleted in 0s.\n", "Stopped: the run did not come to its end. Run again"},
			[]string{"stay"},
		},
		{"room was taken meanwhile", report.Outcome{Deleted: execute.Deleted{Blobs: 1}, MeasuredFreedBytes: -112 << 10}, []string{"1 blob deleted"}, []string{"free space", "-112"}},
		{"stopped at once", report.Outcome{Stopped: "lock"}, []string{"Nothing was deleted.\n"}, []string{"There was"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := string(report.ResultText(p, store, test.outcome, report.View{}))
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			for _, not := range test.not {
				if strings.Contains(text, not) {
					t.Errorf("there is %q in\n%s", not, text)
				}
			}
		})
	}
}

// TestQuietIsDataAlone: no sentence, and no line without its number.
func TestQuietIsDataAlone(t *testing.T) {
	p := long(t)
	text := string(report.PlanText(p, store, []string{"next"}, report.View{Quiet: true, NoHeaders: true}))
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(strings.Fields(line)[1], "B") {
			t.Errorf("no row: %q", line)
		}
	}
	if strings.Count(text, "\n") != 3 {
		t.Errorf("want one row for each repository, got\n%s", text)
	}
}

func TestHostileNamesNeverReachATerminal(t *testing.T) {
	const evil = "own/\x1b[2J\x07\u202e\x9b31m"
	p := planOf(t, func(w *world.World) {
		w.Image(evil, world.ConfigText("a"))
		w.Image(evil, world.Tag("\x1b]0;owned\x07"), world.ConfigText("c"))
		w.Image("own/kept\x1b[1m", world.Tag("\x1b[5m"), world.ConfigText("b"))
	}, policy.Policy{DeleteUntagged: true}, "kept\x1b[1m")
	problems := []inventory.Problem{{Path: evil, Code: inventory.BlobMissing, Detail: evil}}
	all := report.Found{Images: []int{0, 1, 2}, Repository: evil}
	failed := report.Outcome{Failed: []report.Failure{{Path: evil, Error: errors.New(evil).Error()}}}
	for name, text := range map[string][]byte{
		"plan":    report.PlanText(p, store, nil, report.View{Verbose: true}),
		"wide":    report.PlanText(p, store, nil, report.View{Wide: true}),
		"names":   report.Names(p, nil),
		"ask":     report.AskText(p, store, report.View{}),
		"result":  report.ResultText(p, store, failed, report.View{}),
		"verify":  report.NewVerification(store, true, report.Verified{}, problems, now, now).Text(report.View{}),
		"paths":   report.NewVerification(store, true, report.Verified{}, problems, now, now).Paths(),
		"explain": report.NewExplanation(p, evil, all, report.Options{}, store).Text(report.View{}),
		"usage":   usageOf(p, usage.Repository, 0).Text(report.View{}),
		"widest":  usageOf(p, usage.Repository, 0).Text(report.View{Wide: true}),
		"groups":  usageOf(p, usage.Repository, 0).Names(),
		"none":    report.NewExplanation(p, evil, report.Found{}, report.Options{}, store).Text(report.View{}),
	} {
		if strings.ContainsAny(string(text), "\x1b\x07\u202e\u009b") || !strings.Contains(string(text), `\x1b`) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
