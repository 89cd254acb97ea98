package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/engine"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/journal"
	"github.com/ebb-io/ebb/internal/pin"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/report"
	"github.com/ebb-io/ebb/internal/retention"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var hostNow = time.Date(2026, 12, 1, 13, 5, 0, 0, time.UTC)

// hostImage is an image with an ID of one repeated digit, and names; a digest
// for each repository, unless it is local.
func hostImage(digit string, size, shared int64, local bool, names ...string) *engine.Image {
	img := &engine.Image{ID: hostID(digit), Size: size, Shared: shared}
	for _, name := range names {
		n := hostName(name)
		img.Names = append(img.Names, n)
		if !local {
			img.Digests = append(img.Digests, image.Name{Repository: n.Repository, Digest: hostID(digit), Digested: true})
		}
	}
	return img
}

func hostID(digit string) image.Digest {
	d, err := image.ParseDigest("sha256:" + strings.Repeat(digit, 64))
	if err != nil {
		panic(err)
	}
	return d
}

func hostName(text string) image.Name {
	n, err := image.ParseName(text)
	if err != nil {
		panic(err)
	}
	return n
}

func why(code reason.Code, detail string) []reason.Reason {
	return []reason.Reason{{Code: code, Detail: detail}}
}

// hostPass is a box with a repository of each kind: judged, waiting, skipped,
// and of no pin.
func hostPass() report.HostPass {
	const traefik, cloudflared, samba = "docker.io/library/traefik", "docker.io/cloudflare/cloudflared", "ghcr.io/example/samba"
	old := &engine.Image{ID: hostID("8"), Size: 120 << 20, Shared: -1}
	p := &retention.Plan{
		Now: hostNow, Policy: policy.DefaultHost(),
		Engine: engine.Engine{ID: "ABCD:EFGH", Name: "box-7", Host: "unix:///var/run/docker.sock", Version: "20.10.24", API: "1.41", Store: engine.GraphDriver, Driver: "overlay2"},
		Decisions: []retention.Decision{
			{Image: hostImage("9", 1<<30, 200<<20, false, "cloudflare/cloudflared:2024.8.0"), Repository: cloudflared, Reasons: why(reason.TooYoung, "first seen now"), Until: hostNow.Add(time.Hour)},
			{Image: hostImage("a", 90<<20, 0, false, "cloudflare/cloudflared:2024.9.1"), Repository: cloudflared, Reasons: why(reason.PreviousOfPin, "one step back from 2024.10.0")},
			{Image: hostImage("b", 92<<20, 0, false, "cloudflare/cloudflared:2024.10.0"), Repository: cloudflared, Reasons: append(why(reason.Pinned, "--pin"), why(reason.InUse, "container tunnel")...)},
			{Image: old, Repository: traefik, Delete: true, Reasons: why(reason.Untagged, "last seen as traefik:v2.9.0")},
			{Image: hostImage("1", 600<<20, 100<<20, false, "traefik:v2.10.7", "registry.example.org/mirror/traefik:v2.10.7"), Repository: traefik, Delete: true, Reasons: why(reason.OlderThanPrevious, "older than v2.11.0, the previous of v3.1.2")},
			{Image: hostImage("2", 80<<20, 0, true, "traefik:v2.10.8"), Repository: traefik, Delete: true, Reasons: why(reason.OlderThanPrevious, "older than v2.11.0, the previous of v3.1.2")},
			{Image: hostImage("3", 150<<20, 0, false, "traefik:v2.11.0"), Repository: traefik, Reasons: why(reason.PreviousOfPin, "one step back from v3.1.2")},
			{Image: hostImage("4", 160<<20, 0, false, "traefik:v3.1.2"), Repository: traefik, Reasons: why(reason.Pinned, "--pin")},
			{Image: hostImage("5", 160<<20, 0, false, "traefik:v3.2.0"), Repository: traefik, Reasons: why(reason.NewerThanPin, "newer than v3.1.2")},
			{Image: hostImage("6", 300<<20, 0, false, "ghcr.io/example/samba:1.0.0"), Repository: samba, Reasons: why(reason.PinMissing, "ghcr.io/example/samba:1.1.0 is not present")},
			{Image: hostImage("7", 1<<30, 0, false, "postgres:16"), Reasons: why(reason.Unclaimed, "no pin names its repository")},
		},
		Repositories: []retention.Repository{
			{Name: cloudflared, Pins: []pin.Pin{{Name: hostName("cloudflare/cloudflared:2024.10.0"), From: "--pin"}}, Previous: []image.Name{hostName("cloudflare/cloudflared:2024.9.1")}, Images: 3, Candidates: 1},
			{Name: traefik, Pins: []pin.Pin{{Name: hostName("traefik:v3.1.2"), From: "--pin"}, {Name: hostName("traefik:v2.11.0"), From: "compose file /srv/old/compose.yml", Passive: true}}, Previous: []image.Name{hostName("traefik:v2.11.0")}, Images: 6, Candidates: 3, Delete: 3, Bytes: 700 << 20},
			{Name: samba, Pins: []pin.Pin{{Name: hostName("ghcr.io/example/samba:1.1.0"), From: "pins.txt:3"}}, Skipped: &reason.Reason{Code: reason.PinMissing, Detail: "ghcr.io/example/samba:1.1.0 is not present"}, Images: 1},
		},
		Totals: retention.Totals{Images: 11, Keep: 8, Delete: 3, Bytes: 3776 << 20, ReclaimableBytes: 700 << 20},
	}
	record := journal.Record{Images: map[image.Digest]journal.Image{
		hostID("1"): {FirstSeen: hostNow.Add(-48 * time.Hour)}, hostID("9"): {FirstSeen: hostNow},
	}}
	options := report.HostPolicyOptions(p.Policy, 0)
	options.Pin = append(options.Pin, "traefik:v3.1.2", "cloudflare/cloudflared:2024.10.0")
	options.PinsFrom = append(options.PinsFrom, "/etc/ebb/pins.txt")
	return report.HostPass{Plan: p, Record: record, Options: options, Warnings: []string{"pins.txt:7: no tag"}}
}

func hostOutcome() report.HostOutcome {
	return report.HostOutcome{
		Deleted: report.HostDeleted{Images: 1, Names: 2}, Gone: []image.Digest{hostID("1")},
		FreedBytes: 500 << 20, MeasuredFreedBytes: 498 << 20, Measured: true,
		Failed:    []report.HostFailure{{ID: hostID("8").String(), Error: "engine: input/output error"}},
		Refused:   []report.HostFailure{{ID: hostID("2").String(), Names: []string{"docker.io/library/traefik:v2.10.8"}, Error: "conflict: it is used by a container that is being made"}},
		Skipped:   []report.HostFailure{{ID: hostID("7").String(), Names: []string{"docker.io/library/postgres:15"}, Error: "it got a name"}},
		StartedAt: hostNow, FinishedAt: hostNow.Add(2300 * time.Millisecond),
	}
}

func hostHistory() report.History {
	return report.NewHistory(hostPass().Plan.Engine, []journal.Deletion{
		{At: hostNow.Add(-time.Hour), ID: hostID("2"), Repository: "docker.io/library/traefik", Reasons: []string{"Untagged"}, Bytes: 80 << 20},
		{
			At: hostNow, ID: hostID("1"), Repository: "docker.io/library/traefik", Names: []string{"docker.io/library/traefik:v2.10.7"},
			Digests: []string{"docker.io/library/traefik@" + hostID("1").String()}, Reasons: []string{"OlderThanPrevious"}, Detail: "older than v2.11.0", Bytes: 500 << 20,
		},
	})
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// hostForms are all forms of all documents of a host.
func hostForms() map[string][]byte {
	pass, o := hostPass(), hostOutcome()
	p := report.NewHostPlan(pass)
	explained := report.NewHostExplanation(pass, "traefik:v2.10.7", []*retention.Decision{&pass.Plan.Decisions[4], &pass.Plan.Decisions[3], &pass.Plan.Decisions[0]})
	next := []string{"Next:", "", "  ebb host run --pin traefik:v3.1.2"}
	gone := func(id image.Digest) bool { return id == hostID("1") }
	terminal, wide := report.View{Width: 80}, report.View{Wide: true}
	return map[string][]byte{
		"plan.table":    report.HostPlanText(pass.Plan, next, terminal),
		"plan.verbose":  report.HostPlanText(pass.Plan, next, report.View{Width: 80, Verbose: true}),
		"plan.quiet":    report.HostPlanText(pass.Plan, next, report.View{Quiet: true}),
		"plan.wide":     report.HostPlanText(pass.Plan, nil, wide),
		"plan.name":     report.HostNames(pass.Plan, nil),
		"plan.json":     must(report.JSON(p)),
		"plan.yaml":     must(report.YAML(p)),
		"ask.table":     report.HostAskText(pass.Plan, terminal),
		"result.table":  report.HostResultText(pass.Plan, o, "ebb host explain IMAGE says why.", terminal),
		"result.name":   report.HostNames(pass.Plan, gone),
		"result.json":   must(report.JSON(report.NewHostResult(p, o))),
		"explain.table": explained.Text(terminal),
		"explain.json":  must(report.JSON(explained)),
		"explain.name":  explained.IDs(),
		"history.table": hostHistory().Text(0, terminal),
		"history.wide":  hostHistory().Text(0, wide),
		"history.json":  must(report.JSON(hostHistory())),
		"history.name":  hostHistory().Pullable(),
		"result.wide":   report.HostResultText(pass.Plan, o, "", wide),
		"plan.narrow":   report.HostPlanText(pass.Plan, nil, report.View{Width: 40}),
	}
}

func TestHostForms(t *testing.T) {
	for name, got := range hostForms() {
		t.Run(name, func(t *testing.T) {
			// The digits are retention's affair; that they stand there is not.
			got = bytes.ReplaceAll(got, []byte(hostPass().Plan.Fingerprint()), []byte("FINGERPRINT"))
			file := filepath.Join("testdata", "host", name)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s differs (-update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// TestHostHeadline: the first line says it when something goes later.
func TestHostHeadline(t *testing.T) {
	image := &engine.Image{ID: hostID("1"), Size: 81, Shared: 0}
	waits := func(later time.Duration) retention.Decision {
		return retention.Decision{Image: image, Reasons: why(reason.TooYoung, ""), Until: hostNow.Add(later)}
	}
	stays := retention.Decision{Image: image, Reasons: why(reason.InUse, "")}
	for _, test := range []struct {
		name      string
		decisions []retention.Decision
		want      string
	}{
		{"nothing is there", nil, "Nothing can be reclaimed: there are no images."},
		{"nothing goes", []retention.Decision{stays}, "Nothing can be reclaimed of 162 B in 1 image."},
		{"one goes later", []retention.Decision{waits(time.Hour), stays}, "Nothing can go yet: 1 image (81 B) can from 14:05 UTC."},
		{"all at once", []retention.Decision{waits(time.Hour), waits(time.Hour)}, "Nothing can go yet: 2 images (162 B) can from 14:05 UTC."},
		{"one by one", []retention.Decision{waits(48 * time.Hour), waits(24 * time.Hour)}, "Nothing can go yet: 2 images (162 B) can, the first from 2026-12-02 13:05 UTC."},
	} {
		plan := &retention.Plan{Now: hostNow, Decisions: test.decisions, Totals: retention.Totals{Images: len(test.decisions), Bytes: 162}}
		if plan.Totals.Keep = len(test.decisions); !strings.HasPrefix(string(report.HostPlanText(plan, nil, report.View{})), test.want+"\n") {
			t.Errorf("%s: want %s\n%s", test.name, test.want, report.HostPlanText(plan, nil, report.View{}))
		}
	}
}

// TestHostFitsTheTerminal: but for what is to be copied whole.
func TestHostFitsTheTerminal(t *testing.T) {
	for name, text := range hostForms() {
		if !strings.HasSuffix(name, ".table") {
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if report.Width(line) > 80 && !strings.Contains(line, "docker pull ") && !strings.Contains(line, "@sha256:") {
				t.Errorf("%s: %d columns: %s", name, report.Width(line), line)
			}
		}
	}
}

func TestHostPlanReadBack(t *testing.T) {
	pass := hostPass()
	pass.Plan.Policy = policy.Host{
		MinAge: 90 * time.Minute, UnusedFor: 48 * time.Hour, KeepPrevious: 2, KeepNewer: 3, RequireHealthy: true, MaxDeletes: 7, MaxDeleteShare: 60,
	}
	glob, err := policy.ParseGlob("ghcr.io/**")
	if err != nil {
		t.Fatal(err)
	}
	pass.Plan.Policy.Keep = []policy.Glob{glob}
	pass.Options = report.HostPolicyOptions(pass.Plan.Policy, 5*time.Minute)
	pass.Options.PinRunning = true
	p := report.NewHostPlan(pass)
	for name, data := range map[string][]byte{"JSON": must(report.JSON(p)), "YAML": must(report.YAML(p))} {
		stored, err := report.ReadHostPlan(data, "ebb host check -o json")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := &report.StoredHost{
			PlannedAt: hostNow, Options: pass.Options, Store: p.Store,
			Named: retention.Named{
				hostID("8"): {}, hostID("2"): {"docker.io/library/traefik:v2.10.8"},
				hostID("1"): {"docker.io/library/traefik:v2.10.7", "registry.example.org/mirror/traefik:v2.10.7"},
			},
		}
		if diff := cmp.Diff(want, stored, cmp.Comparer(func(a, b image.Digest) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		read, quiet, err := stored.Options.Policy()
		if err != nil || quiet != 5*time.Minute || report.HostPolicyOptions(read, quiet).MaxDeletes != "7" ||
			!cmp.Equal(report.HostPolicyOptions(read, quiet), report.HostPolicyOptions(pass.Plan.Policy, quiet)) {
			t.Errorf("%s: the policy reads as %+v, %s, %v", name, read, quiet, err)
		}
		if stored.Store.Key() != pass.Plan.Engine.Key() {
			t.Errorf("%s: engine %s, want %s", name, stored.Store.Key(), pass.Plan.Engine.Key())
		}
	}
}

func TestHostPlanIsReadStrictly(t *testing.T) {
	sound := string(must(report.JSON(report.NewHostPlan(hostPass()))))
	id := hostID("1").String()
	for _, test := range []struct{ name, old, new, want string }{
		{"cut short", sound[len(sound)/2:], "", "it ends too early"},
		{"empty", sound, "", "it is empty"},
		{"two", sound, sound + sound, "something follows the plan"},
		{"a result", `"kind": "Plan"`, `"kind": "Result"`, `not a Plan of ebb.io/v1alpha1: write it with ebb host check -o json`},
		{"an unknown field", `"decisions"`, `"blobs": {}, "decisions"`, `unknown field "blobs"`},
		{"no decisions", `"decisions"`, `"repositories2"`, `unknown field`},
		{"no pins", `"pin": [`, `"pin": null, "keep": [`, "it has no options.pin"},
		{"no engine", `"engine": "ABCD:EFGH"`, `"engine": ""`, "it has no store.engine"},
		{"another decision", `"decision": "Delete"`, `"decision": "Drop"`, `decision "Drop"`},
		{"no ID", `"id": "` + id, `"id": "x` + id, "decision on"},
		{"twice", `"id": "` + id, `"id": "` + hostID("2").String(), "stands in it twice"},
		{"an image without its names", `"names": []`, `"names": null`, "has no names"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(sound, test.old) {
				t.Fatalf("the plan holds no %s", test.old)
			}
			_, err := report.ReadHostPlan([]byte(strings.Replace(sound, test.old, test.new, 1)), "ebb host check -o json")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestHostOptionsAreRead(t *testing.T) {
	for _, test := range []struct {
		name string
		slip func(*report.HostOptions)
		want string
	}{
		{"age", func(o *report.HostOptions) { o.MinAge = "soon" }, "minAge: "},
		{"newer", func(o *report.HostOptions) { o.KeepNewer = "-1" }, `keepNewer: "-1" is no number: want 3, or all`},
		{"deletes", func(o *report.HostOptions) { o.MaxDeletes = "all" }, `maxDeletes: "all" is no number: want 3, or none`},
		{"share", func(o *report.HostOptions) { o.MaxDeleteShare = "half" }, "maxDeleteShare: "},
		{"previous", func(o *report.HostOptions) { o.KeepPrevious = -1 }, "keep-previous -1 is negative"},
		{"keep", func(o *report.HostOptions) { o.Keep = []string{"["} }, "["},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := report.HostPolicyOptions(policy.DefaultHost(), 0)
			test.slip(&o)
			if _, _, err := o.Policy(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestHostDocumentsLeaveNothingOut: a list is never null.
func TestHostDocumentsLeaveNothingOut(t *testing.T) {
	empty := report.HostPass{Plan: &retention.Plan{Now: hostNow}, Options: report.HostPolicyOptions(policy.DefaultHost(), 0)}
	p := report.NewHostPlan(empty)
	for name, document := range map[string]any{
		"plan": p, "result": report.NewHostResult(p, report.HostOutcome{}), "history": report.NewHistory(engine.Engine{}, nil),
		"explanation": report.NewHostExplanation(empty, "x", nil),
	} {
		if data := must(report.JSON(document)); bytes.Contains(data, []byte("null")) {
			t.Errorf("%s:\n%s", name, data)
		}
	}
}

func TestHostileHostNamesNeverReachATerminal(t *testing.T) {
	const evil = "\x1b[2J\x07\u202e"
	pass := hostPass()
	for i := range pass.Plan.Decisions {
		pass.Plan.Decisions[i].Reasons[0].Detail += evil
		for j := range pass.Plan.Decisions[i].Image.Names {
			pass.Plan.Decisions[i].Image.Names[j].Tag += evil
		}
	}
	for i := range pass.Plan.Repositories {
		pass.Plan.Repositories[i].Pins[0].From += evil
		pass.Plan.Repositories[i].Pins[0].Tag += evil
	}
	pass.Plan.Engine.Name = evil
	pass.Plan.Exceeded = []policy.Excess{{What: "images", Part: 3, Whole: 4, Allowed: "50%"}}
	o := hostOutcome()
	o.Failed[0].Error, o.Refused[0].Names[0] = evil, evil
	all := []*retention.Decision{&pass.Plan.Decisions[0], &pass.Plan.Decisions[3]}
	for name, text := range map[string][]byte{
		"plan": report.HostPlanText(pass.Plan, nil, report.View{Width: 80, Verbose: true}), "wide": report.HostPlanText(pass.Plan, nil, report.View{Wide: true}),
		"ask": report.HostAskText(pass.Plan, report.View{}), "result": report.HostResultText(pass.Plan, o, "", report.View{}),
		"names": report.HostNames(pass.Plan, nil), "explanation": report.NewHostExplanation(pass, evil, all).Text(report.View{}),
		"history": report.NewHistory(engine.Engine{}, []journal.Deletion{{Names: []string{evil}, Digests: []string{evil}, Reasons: []string{evil}, Repository: evil, Detail: evil}}).Text(0, report.View{}),
	} {
		if bytes.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%s:\n%q", name, text)
		}
	}
}
