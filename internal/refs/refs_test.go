package refs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func imageRule(t testing.TB, kind, repository string) Rule {
	return Rule{Name: "images", Kind: kind, Repository: mustPattern(t, repository), Tag: mustPattern(t, "{uid}"), Shortened: true, Objects: 1}
}

func owner(namespace, name, uid string) Owner {
	return Owner{Values: Values{Namespace: namespace, Name: name, UID: uid}}
}

func done(o Owner) Owner {
	o.Done, o.Detail = true, "phase Ready: its disk is filled"
	return o
}

// judge asks the only rule about a tag.
func judge(t testing.TB, rule Rule, owners []Owner, repository, tag string) Verdict {
	t.Helper()
	claims := NewIndex(Set{Rules: []Rule{rule}, Owners: owners}).Claims(repository)
	if len(claims) != 1 {
		t.Fatalf("%s is claimed %d times, want once", repository, len(claims))
	}
	return claims[0].Judge(tag)
}

func TestJudge(t *testing.T) {
	detailed := owner("n", "a", uidA)
	detailed.Detail = "phase Provisioning"
	tests := []struct {
		reason string
		owners []Owner
		tag    string
		keep   bool
		code   reason.Code
		detail string
	}{
		{"no object of that name", []Owner{owner("n", "b", uidA)}, uidA, false, reason.OwnerGone, "VirtualImage n/a does not exist"},
		{"an object of that name in another namespace is another", []Owner{owner("m", "a", uidA)}, uidA, false, reason.OwnerGone, "VirtualImage n/a does not exist"},
		{"the object's own tag", []Owner{owner("n", "a", uidA)}, uidA, true, reason.Owned, "VirtualImage n/a"},
		{"what is known of the object is said", []Owner{detailed}, uidA, true, reason.Owned, "VirtualImage n/a: phase Provisioning"},
		{"the tag of an earlier object of the name", []Owner{owner("n", "a", uidB)}, uidA, false, reason.StaleOwner, "the tag names an earlier VirtualImage n/a; it lives now as " + uidB},
		{"a tag that is no UUID follows the owner", []Owner{owner("n", "a", uidA)}, "latest", true, reason.Owned, "VirtualImage n/a"},
		{"a UUID in upper case is none of Kubernetes", []Owner{owner("n", "a", uidB)}, strings.ToUpper(uidA), true, reason.Owned, "VirtualImage n/a"},
		{"an owner whose UID is not known leaves every tag in doubt", []Owner{owner("n", "a", "")}, uidA, true, reason.Owned, "VirtualImage n/a"},
		{"an owner that is done needs its tag no longer", []Owner{done(owner("n", "a", uidA))}, uidA, false, reason.OwnerDone, "VirtualImage n/a: phase Ready: its disk is filled"},
		{"nor another tag", []Owner{done(owner("n", "a", uidA))}, "latest", false, reason.OwnerDone, "VirtualImage n/a: phase Ready: its disk is filled"},
		{"stale comes before done: it is no secret which object it was", []Owner{done(owner("n", "a", uidB))}, uidA, false, reason.StaleOwner, "the tag names an earlier VirtualImage n/a; it lives now as " + uidB},
		{"two states of one object: the one that needs it counts", []Owner{done(owner("n", "a", uidA)), owner("n", "a", uidA)}, uidA, true, reason.Owned, "VirtualImage n/a"},
		{"two objects of one name: each has its own tag", []Owner{done(owner("n", "a", uidA)), owner("n", "a", uidB)}, uidA, false, reason.OwnerDone, "VirtualImage n/a: phase Ready: its disk is filled"},
		{"two objects of one name: a free tag follows the one that needs it", []Owner{done(owner("n", "a", uidA)), owner("n", "a", uidB)}, "latest", true, reason.Owned, "VirtualImage n/a"},
	}
	for _, test := range tests {
		got := judge(t, imageRule(t, "VirtualImage", "vi/{namespace}/{name}"), test.owners, "vi/n/a", test.tag)
		want := Verdict{Keep: test.keep, Reason: reason.Reason{Code: test.code, Detail: test.detail}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestJudgeNamesTheOwnerOfTheTag: of two finished objects the one is named that
// the tag belongs to.
func TestJudgeNamesTheOwnerOfTheTag(t *testing.T) {
	a, b := done(owner("n", "a", uidA)), done(owner("n", "a", uidB))
	a.Detail, b.Detail = "first", "second"
	got := judge(t, imageRule(t, "VirtualImage", "vi/{namespace}/{name}"), []Owner{a, b}, "vi/n/a", uidA)
	if want := "VirtualImage n/a: first"; got.Reason.Detail != want {
		t.Errorf("detail %q, want %q", got.Reason.Detail, want)
	}
}

func TestJudgeWithoutTagPattern(t *testing.T) {
	rule := imageRule(t, "Golden", "golden/{namespace}/{name}")
	rule.Tag = Pattern{}
	for _, tag := range []string{uidB, "latest"} {
		if got := judge(t, rule, []Owner{owner("n", "a", uidA)}, "golden/n/a", tag); !got.Keep {
			t.Errorf("%s: %+v, want it kept: every tag follows the owner", tag, got)
		}
	}
}

func TestOwnerNames(t *testing.T) {
	tests := []struct{ pattern, repository, want string }{
		{"x/{namespace}/{name}", "x/n/a", "Kind n/a"},
		{"x/{name}", "x/a", "Kind a"},
		{"x/{namespace}", "x/n", "Kind in n"},
		{"x/{uid}", "x/" + uidA, "Kind " + uidA},
	}
	for _, test := range tests {
		claims := NewIndex(Set{Rules: []Rule{imageRule(t, "Kind", test.pattern)}}).Claims(test.repository)
		if len(claims) != 1 || claims[0].Owner() != test.want {
			t.Errorf("%s: claims of %s are %+v, want %q", test.pattern, test.repository, claims, test.want)
		}
	}
}

func TestHeldWithoutASingleObject(t *testing.T) {
	rule := imageRule(t, "VirtualImage", "vi/{namespace}/{name}")
	for objects, want := range map[int]bool{0: true, 1: false} {
		rule.Objects = objects
		claims := NewIndex(Set{Rules: []Rule{rule}}).Claims("vi/n/a")
		if got := claims[0].Held(); got != want {
			t.Errorf("with %d objects Held = %v, want %v", objects, got, want)
		}
	}
}

// TestClusterImageUnderVI: a cluster image made from a snapshot shares its path
// with a namespace, and neither claims what belongs to the other.
func TestClusterImageUnderVI(t *testing.T) {
	x := NewIndex(Set{
		Rules:  []Rule{imageRule(t, "ClusterVirtualImage", "vi/{name}"), imageRule(t, "VirtualImage", "vi/{namespace}/{name}")},
		Owners: []Owner{{Rule: 1, Values: Values{Namespace: "team", Name: "a", UID: uidA}}},
	})
	outer, inner := x.Claims("vi/team"), x.Claims("vi/team/a")
	if len(outer) != 1 || len(inner) != 1 {
		t.Fatalf("vi/team has %d claims and vi/team/a %d, want one each", len(outer), len(inner))
	}
	if got := outer[0].Judge(uidB); got.Reason.Code != reason.OwnerGone || outer[0].Alive() {
		t.Errorf("vi/team: %+v, want OwnerGone: the namespace does not own it", got)
	}
	if got := inner[0].Judge(uidA); !got.Keep || inner[0].Owner() != "VirtualImage team/a" {
		t.Errorf("vi/team/a: %+v, want it owned", got)
	}
}

func TestUnclaimed(t *testing.T) {
	x := NewIndex(Set{Rules: []Rule{imageRule(t, "VirtualImage", "vi/{namespace}/{name}")}})
	for _, repository := range []string{"apps/web", "vi/a", "vi/n/a/b", "vi/N/a", "", "xvi/n/a"} {
		if claims := x.Claims(repository); len(claims) != 0 {
			t.Errorf("%q is claimed by %+v", repository, claims)
		}
	}
}

// long is the name of the platform's own test; its hash is pinned there too.
var long = strings.Repeat("a", 230)

const longHash = "fac846ce42f222ab"

func TestNameHash(t *testing.T) {
	if got := NameHash(long); got != longHash {
		t.Errorf("NameHash of 230 a = %s, want %s as the platform writes it", got, longHash)
	}
	if got := NameHash(""); got != "cbf29ce484222325" {
		t.Errorf("NameHash of nothing = %s, want FNV-1a's offset in 16 digits", got)
	}
}

func TestShortenedNames(t *testing.T) {
	rule := imageRule(t, "ClusterVirtualImage", "cvi/{name}")
	tests := []struct {
		repository string
		alive      bool
		reason     string
	}{
		{"cvi/" + strings.Repeat("a", 207) + "-" + longHash, true, "as the platform's own host name cuts it"},
		{"cvi/" + strings.Repeat("a", 190) + "-" + longHash, true, "as a longer host name cuts it"},
		{"cvi/a-" + longHash, true, "as a very long one does"},
		{"cvi/" + longHash, true, "the hash alone, where no room was left"},
		{"cvi/" + long, true, "not cut at all"},
		{"cvi/" + strings.Repeat("a", 207) + "-" + NameHash("b"), false, "another name's hash"},
		{"cvi/" + strings.Repeat("a", 207), false, "no hash at all"},
		{"cvi/" + longHash + "-a", false, "the hash at another place"},
	}
	for _, test := range tests {
		claims := NewIndex(Set{Rules: []Rule{rule}, Owners: []Owner{owner("", long, uidA)}}).Claims(test.repository)
		if len(claims) != 1 {
			t.Fatalf("%s is claimed %d times, want once", test.repository, len(claims))
		}
		if got := claims[0].Judge(uidA).Keep; got != test.alive || claims[0].Alive() != test.alive {
			t.Errorf("%s: kept %v, want %v: %s", test.repository, got, test.alive, test.reason)
		}
		if got := claims[0].Judge(uidB); got.Keep {
			t.Errorf("%s: the tag of an earlier object is kept: %+v", test.repository, got)
		}
	}
}

func TestShortenedOnlyWhereTheRuleSaysSo(t *testing.T) {
	rule := imageRule(t, "Golden", "golden/{name}")
	rule.Shortened = false
	if got := judge(t, rule, []Owner{owner("", long, uidA)}, "golden/a-"+longHash, uidA); got.Keep {
		t.Errorf("%+v, want OwnerGone: nobody shortens names under this rule", got)
	}
}

func TestReferences(t *testing.T) {
	d := image.SHA256([]byte("x"))
	tagged := Reference{By: "Pod n/a", Repository: "apps/web", Tag: "v1"}
	digested := Reference{By: "Pod n/b", Repository: "apps/web", Digest: &d}
	bare := Reference{By: "Pod n/c", Digest: &d}
	x := NewIndex(Set{References: []Reference{tagged, digested, bare}})
	if diff := cmp.Diff([]string{"Pod n/a", "Pod n/b"}, by(x.ByRepository("apps/web"))); diff != "" {
		t.Errorf("by repository (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Pod n/b", "Pod n/c"}, by(x.ByDigest(d))); diff != "" {
		t.Errorf("by digest (-want +got):\n%s", diff)
	}
	if got := x.ByRepository(""); len(got) != 0 || !x.HasDigests() {
		t.Errorf("a bare digest names no repository: %v", by(got))
	}
	if NewIndex(Set{References: []Reference{tagged}}).HasDigests() {
		t.Error("HasDigests without any")
	}
}

// TestWholeReferenceFollowsShortenedNames: an object that is still to be filled
// knows its source's full name, while the path depends on the writer's host.
func TestWholeReferenceFollowsShortenedNames(t *testing.T) {
	set := Set{
		Rules: []Rule{imageRule(t, "ClusterVirtualImage", "cvi/{name}")},
		References: []Reference{
			{By: "whole", Repository: "cvi/" + longHash, Whole: true},
			{By: "tagged", Repository: "cvi/" + longHash, Tag: "v1"},
		},
	}
	x := NewIndex(set)
	tests := []struct {
		repository string
		want       []string
	}{
		{"cvi/" + strings.Repeat("a", 207) + "-" + longHash, []string{"whole"}},
		{"cvi/" + longHash, []string{"whole", "tagged"}},
		{"vi/a-" + longHash, nil},
		{"cvi/a-" + NameHash("b"), nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, by(x.ByRepository(test.repository))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.repository, diff)
		}
	}
	set.Rules[0].Shortened = false
	if got := NewIndex(set).ByRepository("cvi/a-" + longHash); len(got) != 0 {
		t.Errorf("without shortened names: %v", by(got))
	}
}

func by(references []*Reference) []string {
	var names []string
	for _, r := range references {
		names = append(names, r.By)
	}
	return names
}

// shorten is the writer's side of the rule, as the platform's own writer applies it.
func shorten(host, kindPath, name string) string {
	const most = 255
	room := most - len(host) - 1 - len(kindPath)
	if len(name) <= room {
		return kindPath + name
	}
	hash := NameHash(name)
	cut := strings.TrimRight(name[:max(0, min(len(name), room-len(hash)-1))], "-._")
	if cut == "" {
		return kindPath + hash
	}
	return kindPath + cut + "-" + hash
}

func TestPropertyWritersPathIsOwned(t *testing.T) {
	if got, want := shorten("dvcr.d8-virtualization.svc", "cvi/", long), "cvi/"+strings.Repeat("a", 207)+"-"+longHash; got != want {
		t.Fatalf("shorten = %s, want the platform's %s", got, want)
	}
	rule := imageRule(t, "VirtualImage", "vi/{namespace}/{name}")
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9]|[a-z0-9][-.][a-z0-9]){0,120}`).Draw(rt, "name")
		host := strings.Repeat("h", rapid.IntRange(1, 253).Draw(rt, "host"))
		repository := shorten(host, "vi/team/", name)
		claims := NewIndex(Set{Rules: []Rule{rule}, Owners: []Owner{owner("team", name, uidA)}}).Claims(repository)
		if len(claims) != 1 || !claims[0].Judge(uidA).Keep {
			rt.Fatalf("%s is not kept for %s", repository, name)
		}
	})
}

// world is a set with so few names that its objects meet.
type world struct {
	set        Set
	repository string
	tag        string
}

func genOwner(rules int) *rapid.Generator[Owner] {
	names := []string{"a", "b", "b-" + NameHash("a"), NameHash("a")}
	return rapid.Custom(func(t *rapid.T) Owner {
		return Owner{
			Rule: rapid.IntRange(0, rules-1).Draw(t, "rule"),
			Values: Values{
				Namespace: rapid.SampledFrom([]string{"n", "m"}).Draw(t, "namespace"),
				Name:      rapid.SampledFrom(names).Draw(t, "name"),
				UID:       rapid.SampledFrom([]string{"", uidA, uidB, uidC}).Draw(t, "uid"),
			},
			Done: rapid.Bool().Draw(t, "done"),
		}
	})
}

func genWorld(t testing.TB) *rapid.Generator[world] {
	patterns := []string{"x/{name}", "x/{namespace}", "x/{namespace}/{name}", "x/{namespace}/{uid}"}
	tags := []string{"", "{uid}", "v-{uid}"}
	return rapid.Custom(func(rt *rapid.T) world {
		var w world
		for range rapid.IntRange(1, 3).Draw(rt, "rules") {
			w.set.Rules = append(w.set.Rules, Rule{
				Kind:       "Kind",
				Repository: mustPattern(t, rapid.SampledFrom(patterns).Draw(rt, "pattern")),
				Tag:        mustPattern(t, rapid.SampledFrom(tags).Draw(rt, "tag")),
				Shortened:  rapid.Bool().Draw(rt, "shortened"),
			})
		}
		w.set.Owners = rapid.SliceOfN(genOwner(len(w.set.Rules)), 0, 5).Draw(rt, "owners")
		subject := genOwner(len(w.set.Rules)).Draw(rt, "subject")
		w.repository, _ = w.set.Rules[subject.Rule].Repository.Build(subject.Values)
		w.tag = rapid.SampledFrom([]string{"latest", uidA, uidB, "v-" + uidA, "v-" + uidB, "v-1"}).Draw(rt, "text")
		return w
	})
}

func TestPropertyLivingOwnerKeepsItsImage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := genWorld(t).Draw(rt, "world")
		x := NewIndex(w.set)
		for _, o := range w.set.Owners {
			repository, ok := w.set.Rules[o.Rule].Repository.Build(o.Values)
			if o.Done || !ok {
				continue
			}
			tag, ok := w.set.Rules[o.Rule].Tag.Build(o.Values)
			if !ok {
				tag = w.tag // every tag follows an owner that builds none
			}
			if got := verdictOf(x, o.Rule, repository, tag); !got.Keep || got.Reason.Code != reason.Owned {
				rt.Fatalf("%+v lives and %s:%s is %+v", o, repository, tag, got)
			}
		}
	})
}

func TestPropertyOneMoreOwnerOnlyProtects(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := genWorld(t).Draw(rt, "world")
		more := w.set
		more.Owners = append(append([]Owner{}, w.set.Owners...), genOwner(len(w.set.Rules)).Draw(rt, "added"))
		before, after := NewIndex(w.set), NewIndex(more)
		for i := range w.set.Rules {
			old, now := verdictOf(before, i, w.repository, w.tag), verdictOf(after, i, w.repository, w.tag)
			if old.Keep && !now.Keep {
				rt.Fatalf("rule %d kept %s:%s (%+v) and now says %+v", i, w.repository, w.tag, old, now)
			}
		}
	})
}

func TestPropertyOrderOfOwnersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := genWorld(t).Draw(rt, "world")
		other := w.set
		other.Owners = rapid.Permutation(w.set.Owners).Draw(rt, "order")
		for i := range w.set.Rules {
			a, b := verdictOf(NewIndex(w.set), i, w.repository, w.tag), verdictOf(NewIndex(other), i, w.repository, w.tag)
			if a.Keep != b.Keep || a.Reason.Code != b.Reason.Code {
				rt.Fatalf("%+v in one order, %+v in another", a, b)
			}
		}
	})
}

// verdictOf is what one rule says; a rule without a claim says "delete", as the
// same rule does in every world.
func verdictOf(x *Index, rule int, repository, tag string) Verdict {
	for _, claim := range x.Claims(repository) {
		if claim.Rule == &x.rules[rule] {
			return claim.Judge(tag)
		}
	}
	return Verdict{Reason: reason.Reason{Detail: fmt.Sprintf("rule %d does not claim %s", rule, repository)}}
}
