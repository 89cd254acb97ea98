package policy_test

import (
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
)

func TestParseShare(t *testing.T) {
	for text, want := range map[string]policy.Share{"50%": 50, "50": 50, "0%": 0, "100%": 100, "12.5%": 12.5} {
		if got, err := policy.ParseShare(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "half", "-1%", "101%", "NaN", "Inf", "50%%", "1e3"} {
		if got, err := policy.ParseShare(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	if got := policy.Share(12.5).String(); got != "12.5%" {
		t.Errorf("12.5%% is written %q", got)
	}
}

func TestExceeded(t *testing.T) {
	for _, test := range []struct {
		share       policy.Share
		part, whole int64
		want        bool
		why         string
	}{
		{50, 5, 10, false, "exactly the share is allowed"},
		{50, 6, 10, true, "more than it"},
		{0, 0, 10, false, "nothing is always allowed"},
		{0, 1, 10, true, "anything is more than nothing"},
		{100, 10, 10, false, "all may be allowed"},
		{50, 0, 0, false, "nothing of nothing"},
		{50, 1 << 62, 1 << 62, true, "large numbers do not overflow"},
	} {
		if got := test.share.Exceeded(test.part, test.whole); got != test.want {
			t.Errorf("%s of %d: %d exceeds: %v; %s", test.share, test.whole, test.part, got, test.why)
		}
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "1h": time.Hour, "90m": 90 * time.Minute, "30d": 720 * time.Hour, "0d": 0, "168h": 168 * time.Hour,
	} {
		if got, err := policy.ParseAge(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "d", "-1h", "-1d", "1.5d", "1d12h", "1w", "99999999999d", "4294967295d", "soon"} {
		if got, err := policy.ParseAge(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"apps/web", "apps/web", true},
		{"apps/web", "apps/web/nested", false},
		{"apps/*", "apps/web", true},
		{"apps/*", "apps/web/nested", false},
		{"apps/*", "apps", false},
		{"apps/**", "apps/web/nested", true},
		{"**/web", "apps/web", true},
		{"*", "apps", true},
		{"*", "apps/web", false},
		{"**", "apps/web", true},
		{"a.c", "abc", false},
		{"team-*/x", "team-a/x", true},
	} {
		glob, err := policy.ParseGlob(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := glob.Match(test.name); got != test.want {
			t.Errorf("%q matches %q: %v", test.pattern, test.name, got)
		}
	}
	for _, text := range []string{"", "a?", "[ab]", "{a,b}", `a\b`, "a b"} {
		if _, err := policy.ParseGlob(text); err == nil {
			t.Errorf("%q is taken for a pattern", text)
		}
	}
}

func TestScope(t *testing.T) {
	scope := policy.Scope{Include: globs(t, "apps/**"), Exclude: globs(t, "**/prod", "other/*")}
	for _, test := range []struct {
		name    string
		aliases []string
		want    bool
		why     string
	}{
		{"apps/web", nil, true, "it is included"},
		{"team/web", nil, false, "it is not included"},
		{"apps/prod", nil, false, "an exclusion wins"},
		{"apps/web", []string{"other/web"}, false, "it is excluded under another name"},
		{"other/web", []string{"apps/web"}, false, "another name does not include it"},
	} {
		if got := scope.Contains(test.name, test.aliases...); got != test.want {
			t.Errorf("%s %v is in scope: %v; %s", test.name, test.aliases, got, test.why)
		}
	}
	if !(policy.Scope{}).Contains("anything") {
		t.Error("without a scope something is left out")
	}
}

func globs(t *testing.T, patterns ...string) []policy.Glob {
	t.Helper()
	var all []policy.Glob
	for _, pattern := range patterns {
		glob, err := policy.ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, glob)
	}
	return all
}

func TestValidate(t *testing.T) {
	if err := policy.Default().Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*policy.Policy){
		"min-age":      func(p *policy.Policy) { p.MinAge = -1 },
		"upload-age":   func(p *policy.Policy) { p.UploadAge = -1 },
		"untagged-age": func(p *policy.Policy) { p.UntaggedAge = -1 },
		"share":        func(p *policy.Policy) { p.MaxDeleteShare = 101 },
		"no share":     func(p *policy.Policy) { p.MaxDeleteShare = -1 },
	} {
		p := policy.Default()
		if change(&p); p.Validate() == nil {
			t.Errorf("a bad %s is valid", name)
		}
	}
}

func FuzzParseGlob(f *testing.F) {
	f.Add("apps/**", "apps/web")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		glob, err := policy.ParseGlob(pattern)
		if err != nil {
			return
		}
		if pattern == name && !glob.Match(name) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}
