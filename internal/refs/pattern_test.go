package refs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	uidA = "aaaaaaaa-0000-4000-8000-000000000001"
	uidB = "bbbbbbbb-0000-4000-8000-000000000002"
	uidC = "cccccccc-0000-4000-8000-000000000003"
)

func mustPattern(t testing.TB, text string) Pattern {
	t.Helper()
	if text == "" {
		return Pattern{}
	}
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParsePatternRefuses(t *testing.T) {
	tests := []struct{ text, want, reason string }{
		{"", "empty segment", "no pattern at all"},
		{"/vi/{name}", "empty segment", "a leading slash is no repository"},
		{"vi//{name}", "empty segment", "two slashes in a row"},
		{"vi/{name}/", "empty segment", "a trailing slash"},
		{"vi/{namespace}{name}", "can not be read backwards", "nothing says where the first ends"},
		{"vi/{namespace}-{name}", "can not be read backwards", "both may hold the dash"},
		{"{name}/x/{name}", "{name} stands in it twice", "a variable twice"},
		{"golden/images", "names no object", "every object would build one path"},
		{"vi/{title}", "{title} is unknown", "an unknown variable"},
		{"vi/{}", "{} is unknown", "an empty variable"},
		{"vi/{name", "unpaired brace", "a brace that is not closed"},
		{"vi/name}", "unpaired brace", "a brace that was not opened"},
		{"vi/{{name}}", "unpaired brace", "braces in braces"},
	}
	for _, test := range tests {
		_, err := ParsePattern(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("ParsePattern(%q) = %v, want %q: %s", test.text, err, test.want, test.reason)
		}
	}
}

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          Values
		ok            bool
		reason        string
	}{
		{"cvi/{name}", "cvi/ubuntu", Values{Name: "ubuntu"}, true, "the plain case"},
		{"cvi/{name}", "cvi/a.b-c", Values{Name: "a.b-c"}, true, "dots and dashes stand in names"},
		{"cvi/{name}", "cvi", Values{}, false, "too few segments"},
		{"cvi/{name}", "cvi/a/b", Values{}, false, "a nested repository is another one"},
		{"cvi/{name}", "cvi/Ubuntu", Values{}, false, "no object has upper case in its name"},
		{"cvi/{name}", "cvi/a_b", Values{}, false, "no object has an underscore in its name"},
		{"cvi/{name}", "cvi/a..b", Values{}, false, "no object has two dots in a row"},
		{"cvi/{name}", "cvi/a-.b", Values{}, false, "no part of a name ends in a dash"},
		{"cvi/{name}", "cvi/-a", Values{}, false, "no name starts with a dash"},
		{"cvi/{name}", "cvi/" + strings.Repeat("a", 253), Values{Name: strings.Repeat("a", 253)}, true, "the longest name"},
		{"cvi/{name}", "cvi/" + strings.Repeat("a", 254), Values{}, false, "longer than any name"},
		{"vi/{name}", "vi/team", Values{Name: "team"}, true, "a cluster image under vi/"},
		{"vi/{name}", "vi/team/image", Values{}, false, "which is not the images of a namespace of that name"},
		{"vi/{namespace}/{name}", "vi/team/image", Values{Namespace: "team", Name: "image"}, true, "those are these"},
		{"vi/{namespace}/{name}", "vi/te.am/image", Values{}, false, "no namespace has a dot"},
		{"vi/{namespace}/{name}", "vi/" + strings.Repeat("n", 64) + "/image", Values{}, false, "longer than any namespace"},
		{"x/img-{name}-raw", "x/img-a-raw-raw", Values{Name: "a-raw"}, true, "text around a variable is taken once"},
		{"x/img-{name}-raw", "x/img-raw", Values{}, false, "prefix and suffix may not overlap"},
		{"x/{uid}", "x/" + uidA, Values{UID: uidA}, true, "a UID"},
		{"x/{uid}", "x/" + strings.ToUpper(uidA), Values{}, false, "Kubernetes writes UIDs in lower case"},
		{"x/{uid}", "x/latest", Values{}, false, "no UID"},
	}
	for _, test := range tests {
		got, ok := mustPattern(t, test.pattern).Match(test.text)
		if ok != test.ok || test.ok && got != test.want {
			t.Errorf("%s: Match(%q) = %+v, %v: %s", test.pattern, test.text, got, ok, test.reason)
		}
	}
}

func TestPatternBuildNeedsEveryValue(t *testing.T) {
	p := mustPattern(t, "vi/{namespace}/{name}")
	if got, ok := p.Build(Values{Name: "a"}); ok {
		t.Errorf("Build without a namespace = %q, want none", got)
	}
	if got, ok := p.Build(Values{Namespace: "n", Name: "a"}); !ok || got != "vi/n/a" {
		t.Errorf("Build = %q, %v", got, ok)
	}
}

func TestPatternZeroValue(t *testing.T) {
	var p Pattern
	if _, ok := p.Build(Values{Namespace: "n", Name: "a", UID: uidA}); ok || !p.IsZero() || p.HasLiteral() {
		t.Error("the zero pattern must build nothing")
	}
	if _, ok := p.Match(""); ok {
		t.Error("the zero pattern must match nothing")
	}
}

func TestPatternHasLiteral(t *testing.T) {
	for text, want := range map[string]bool{"{namespace}/{name}": false, "{name}": false, "x{name}": true, "{name}-x": true, "x/{name}": true} {
		if got := mustPattern(t, text).HasLiteral(); got != want {
			t.Errorf("%s: HasLiteral = %v, want %v", text, got, want)
		}
	}
}

// genValues are values that Kubernetes would take, drawn from its own grammar.
func genValues() *rapid.Generator[Values] {
	part := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?`)
	return rapid.Custom(func(t *rapid.T) Values {
		return Values{
			Namespace: part.Draw(t, "namespace"),
			Name:      strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "name"), "."),
			UID:       rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "uid"),
		}
	})
}

func genPattern() *rapid.Generator[Pattern] {
	literal := rapid.SampledFrom([]string{"", "", "a", "x-", "-x", "vi", "sha256-"})
	return rapid.Custom(func(t *rapid.T) Pattern {
		vars := rapid.Permutation(known()).Draw(t, "variables")[:rapid.IntRange(1, 3).Draw(t, "count")]
		var parts []string
		for _, v := range vars {
			if fixed := literal.Draw(t, "between"); fixed != "" {
				parts = append(parts, fixed)
			}
			parts = append(parts, literal.Draw(t, "prefix")+v+literal.Draw(t, "suffix"))
		}
		p, err := ParsePattern(strings.Join(parts, "/"))
		if err != nil {
			t.Fatalf("a pattern of the generator: %v", err)
		}
		return p
	})
}

// only leaves the values that a pattern holds: no other can be read back.
func only(p Pattern, v Values) Values {
	var kept Values
	for _, variable := range known() {
		if p.Uses(variable) {
			kept.set(variable, v.get(variable))
		}
	}
	return kept
}

func TestPropertyMatchUndoesBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, v := genPattern().Draw(t, "pattern"), genValues().Draw(t, "values")
		built, ok := p.Build(v)
		if !ok {
			t.Fatalf("%s does not build %+v", p, v)
		}
		got, ok := p.Match(built)
		if !ok {
			t.Fatalf("%s does not match %q, which it built", p, built)
		}
		if diff := cmp.Diff(only(p, v), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPropertyMatchTakesOnlyWhatCanBeBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPattern().Draw(t, "pattern")
		built, _ := p.Build(genValues().Draw(t, "values"))
		at := rapid.IntRange(0, len(built)).Draw(t, "at")
		text := built[:at] + rapid.StringOfN(rapid.RuneFrom([]rune("a0-._/A{ é")), 0, 3, -1).Draw(t, "insert") + built[at:]
		checkMatch(t, p, text)
	})
}

// checkMatch tests a match against another reading of what Kubernetes takes.
func checkMatch(t interface{ Fatalf(string, ...any) }, p Pattern, text string) {
	v, ok := p.Match(text)
	if !ok {
		return
	}
	if again, ok := p.Build(v); !ok || again != text {
		t.Fatalf("%s reads %q as %+v, which builds %q", p, text, v, again)
	}
	dns := regexp.MustCompile(`^[a-z0-9]$|^[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	for _, part := range strings.Split(v.Name, ".") {
		if p.Uses("{name}") && (!dns.MatchString(part) || len(v.Name) > 253) {
			t.Fatalf("%s reads %q as the name %q, which no object has", p, text, v.Name)
		}
	}
	if p.Uses("{namespace}") && (!dns.MatchString(v.Namespace) || len(v.Namespace) > 63) {
		t.Fatalf("%s reads %q as the namespace %q, which no cluster has", p, text, v.Namespace)
	}
	if p.Uses("{uid}") && len(v.UID) != 36 {
		t.Fatalf("%s reads %q as the UID %q", p, text, v.UID)
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{"cvi/{name}", "vi/{namespace}/{name}", "x-{uid}-y", "{name}{uid}", "a//b", "{", "}{name}{"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		if p.String() != text || p.IsZero() {
			t.Fatalf("%q became %q", text, p)
		}
		v := Values{Namespace: "n", Name: "a.b", UID: uidA}
		built, ok := p.Build(v)
		if got, matched := p.Match(built); !ok || !matched || got != only(p, v) {
			t.Fatalf("%q builds %q, which it reads as %+v, %v", text, built, got, matched)
		}
	})
}

func FuzzPatternMatch(f *testing.F) {
	for _, seed := range []string{"cvi/a", "vi/n/a", "vi/n/a/b", "x-" + uidA + "-y", "cvi/a..b", "", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, pattern := range []string{"cvi/{name}", "vi/{namespace}/{name}", "x-{uid}-y", "{name}"} {
			checkMatch(t, mustPattern(t, pattern), text)
		}
	})
}
