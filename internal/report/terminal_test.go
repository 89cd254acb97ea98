package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/inventory"
	"github.com/ebb-io/ebb/internal/plan"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

var terminal = report.View{Width: 80}

// many is a world in which n repositories go and as many tags are damaged.
func many(t *testing.T, n int) *plan.Plan {
	return planOf(t, func(w *world.World) {
		for i := range n {
			w.Image(fmt.Sprintf("own/gone%03d", i), world.Tag("v1"), world.ConfigText(fmt.Sprint(i)))
			w.Image("free/x", world.Tag(fmt.Sprint("v", i)), world.ConfigText(fmt.Sprint("x", i)))
			w.EmptyTagLink("free/x", fmt.Sprint("v", i))
		}
		w.Image("own/kept", world.Tag("v1"))
	}, policy.Default(), "kept")
}

// TestTerminalsGetAScreenful: what stands above a list stays in sight, unless
// all of it is asked for; a pipe gets all.
func TestTerminalsGetAScreenful(t *testing.T) {
	p := many(t, 60)
	verbose, quiet := terminal, terminal
	verbose.Verbose, quiet.Quiet = true, true
	for _, test := range []struct {
		name            string
		text            []byte
		groups, damages int
	}{
		{"plan", report.PlanText(p, store, nil, terminal), 20, 20},
		{"verbose plan", report.PlanText(p, store, nil, verbose), 60, 60},
		{"quiet plan", report.PlanText(p, store, nil, quiet), 60, 0},
		{"plan in a pipe", report.PlanText(p, store, nil, report.View{}), 60, 60},
		{"question", report.AskText(p, store, terminal), 10, 3},
		{"verbose question", report.AskText(p, store, verbose), 60, 60},
		{"result", report.ResultText(p, store, report.Outcome{}, terminal), 0, 20},
		{"verify", report.NewVerification(store, false, report.Verified{}, p.Inventory().Problems, now, now).Text(terminal), 0, 60},
	} {
		text := string(test.text)
		if got := strings.Count(text, "own/gone"); got != test.groups {
			t.Errorf("%s: %d groups, want %d", test.name, got, test.groups)
		}
		if got := strings.Count(text, "TagUnread  "); got != test.damages {
			t.Errorf("%s: %d damages, want %d", test.name, got, test.damages)
		}
		for _, more := range []struct {
			shown int
			hint  string
		}{{test.groups, " more; -v shows all\n"}, {test.damages, " more; ebb registry verify shows all\n"}} {
			want := ""
			if more.shown > 0 && more.shown < 60 {
				want = fmt.Sprintf("… and %d%s", 60-more.shown, more.hint)
			}
			if got := strings.Contains(text, more.hint); got != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", test.name, want, text)
			}
		}
		if remedy := strings.Contains(text, "What to do about each: docs/registry.md, Damage.\n"); remedy != (test.damages > 0) {
			t.Errorf("%s says what to do about damage: %v", test.name, remedy)
		}
	}
	// One more row takes no more room than to say that there is one.
	if text := string(report.PlanText(many(t, 21), store, nil, terminal)); strings.Contains(text, "more;") {
		t.Errorf("one row is left out:\n%s", text)
	}
}

// TestManyImagesAreATable of which a terminal shows the first.
func TestManyImagesAreATable(t *testing.T) {
	p := many(t, 60)
	var found report.Found
	for i := range p.Decisions {
		if p.Decisions[i].Repository == "free/x" {
			found.Images = append(found.Images, i)
		}
	}
	e := report.NewExplanation(p, "free/x", found, report.Options{}, store)
	text := string(e.Text(terminal))
	if strings.Count(text, "kept  ") != 20 || !strings.Contains(text, "… and 40 more; -v shows all\n") {
		t.Errorf("want 20 images and how many more there are, got\n%s", text)
	}
	if text := string(e.Text(report.View{})); strings.Count(text, "kept  ") != 60 ||
		!strings.Contains(text, "For one image: ebb registry explain free/x@"+e.Images[0].Digest[:len("sha256:")+12]+". For all of them: -v.\n") {
		t.Errorf("want 60 images and how to see one, got\n%s", text)
	}
}

// TestQuestionShowsWhatIsHeld, and what is damaged, above the figures.
func TestQuestionShowsWhatIsHeld(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		w.Image("own/held", world.Tag("v1"))
		w.Image("free/x", world.Tag("broken"))
		w.EmptyTagLink("free/x", "broken")
		w.OrphanBlob("nobody's")
	}, policy.Default())
	text := string(report.AskText(p, store, report.View{}))
	want := []string{
		"(content of no image)", "Held: there is no Thing at all, so 1 repository of them is kept (rule things).\n",
		"run with --confirm registry.\n", "Damage: 1 problem.", "  TagUnread  ", " will be freed: 1 blob of no image.\n",
	}
	at := 0
	for _, part := range want {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("there is no %q, or not in this order, in\n%s", part, text)
		}
		at += i
	}
}

// TestTerminalsGetShortDigests, which are not broken in their middle; pipes get
// all digits.
func TestTerminalsGetShortDigests(t *testing.T) {
	var index world.Image
	p := planOf(t, func(w *world.World) {
		child := w.Image("free/x", world.ConfigText("child"))
		index = w.Index("free/x", []world.Image{child}, world.Tag("v1"))
		w.OrphanBlob("nobody's")
		w.RemoveBlob(w.Image("free/y", world.Tag("v1"), world.ConfigText("lost")).Config)
	}, policy.Default())
	chained := 0
	if p.Decisions[0].Digest.String() == index.Digest {
		chained = 1
	}
	wide := terminal
	wide.Wide = true
	e := report.NewExplanation(p, "x", report.Found{Images: []int{chained}, Blobs: []inventory.ID{0}}, report.Options{}, store)
	for name, test := range map[string]struct {
		text []byte
		full int // digests
	}{
		"wide":            {report.PlanText(p, store, nil, wide), 0},
		"explain":         {e.Text(terminal), 2},
		"wide in a pipe":  {report.PlanText(p, store, nil, report.View{Wide: true}), 6},
		"explain, a pipe": {e.Text(report.View{}), 5},
	} {
		full, any := 0, 0
		for _, part := range strings.Split(string(test.text), "sha256:")[1:] {
			any++
			if digits := strings.IndexFunc(part+" ", func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }); digits == 64 {
				full++
			}
		}
		if full != test.full || any < 4 {
			t.Errorf("%s: %d of %d digests have all digits, want %d:\n%s", name, full, any, test.full, test.text)
		}
	}
}

// TestExplanationFitsTheTerminal but for names that are longer than it.
func TestExplanationFitsTheTerminal(t *testing.T) {
	p := planOf(t, func(w *world.World) {
		child := w.Image("own/kept", world.ConfigText("child"), world.Layers(w.Layer(world.Random(1, 100))))
		index := w.Index("own/kept", []world.Image{child}, world.Tag("a-tag-of-some-length"), world.Tag("another-tag-of-some-length"), world.Tag("one-more-tag-to-make-it-long"))
		w.Referrer("own/kept", index.Digest)
		w.CosignTag("own/kept", index.Digest, ".sig")
		w.Upload("own/kept", "0aa8ed90-0000-4000-8000-00000000-upload", now, world.Random(2, 100))
	}, policy.Default(), "kept")
	found := report.Found{Repository: "own/kept"}
	for i := range p.Decisions {
		found.Images = append(found.Images, i)
	}
	for id := range p.Inventory().Contents.Len() {
		found.Blobs = append(found.Blobs, inventory.ID(id))
	}
	view := terminal
	view.Verbose = true
	for _, color := range []bool{false, true} {
		view.Color = color
		text := string(report.NewExplanation(p, "own/kept", found, report.Options{}, store).Text(view))
		for line := range strings.SplitSeq(text, "\n") {
			if report.Width(line) > 80 {
				t.Errorf("%d columns: %s", report.Width(line), line)
			}
		}
		if !strings.Contains(text, "\n                        ") {
			t.Errorf("no long reason goes on below its beginning:\n%s", text)
		}
	}
}

func TestUntaggedImagesThatAreKept(t *testing.T) {
	fill := func(w *world.World) {
		child := w.Image("free/x", world.ConfigText("child")) // needed by the index
		w.Index("free/x", []world.Image{child}, world.Tag("v1"))
		lone := w.Image("free/x", world.ConfigText("lone"), world.Layers(w.Layer(world.Random(1, 3<<10))))
		w.Image("free/x", world.ConfigText("young"), world.Age(0), world.Layers(w.Layer(world.Random(2, 3<<10))))
		w.Referrer("free/x", lone.Digest)
		w.Image("own/kept", world.ConfigText("claimed"))
		w.Image("own/gone", world.Tag("v1"), world.ConfigText("gone"))
	}
	const want = "2 untagged images (6.8 KiB of their own) would also go with --delete-untagged, when older than 30d.\n"
	text := string(report.PlanText(planOf(t, fill, policy.Default(), "kept"), store, nil, report.View{}))
	if !strings.Contains(text, want) {
		t.Errorf("there is no %q in\n%s", want, text)
	}
	asked := policy.Default()
	asked.DeleteUntagged = true
	if text := string(report.PlanText(planOf(t, fill, asked, "kept"), store, nil, report.View{})); strings.Contains(text, "would also go") {
		t.Errorf("it is said although it is done:\n%s", text)
	}
	one := policy.Default()
	one.UntaggedAge = 0
	text = string(report.PlanText(planOf(t, func(w *world.World) { w.Image("free/x") }, one), store, nil, report.View{}))
	if !strings.Contains(text, "Nothing can be reclaimed") || !strings.Contains(text, "1 untagged image (") || !strings.Contains(text, "of its own) would also go with --delete-untagged.\n") {
		t.Errorf("one image where nothing goes:\n%s", text)
	}
}
