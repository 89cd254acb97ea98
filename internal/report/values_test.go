package report_test

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
)

func TestSize(t *testing.T) {
	const ki, mi, gi, ti = 1 << 10, 1 << 20, 1 << 30, 1 << 40
	for _, test := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{ki, "1.0 KiB"},
		{ki + ki/2, "1.5 KiB"},
		{mi - 1, "1.0 MiB"}, // not 1024.0 KiB
		{1023*ki + 900, "1023.9 KiB"},
		{mi, "1.0 MiB"},
		{gi, "1.0 GiB"},
		{10*gi + gi/4, "10.2 GiB"},
		{ti - 1, "1.0 TiB"},
		{3 * ti, "3.0 TiB"},
		{1 << 50, "1.0 PiB"},
		{1 << 60, "1.0 EiB"},
		{math.MaxInt64, "8.0 EiB"},
		{-1, "-1 B"},
		{-mi, "-1.0 MiB"},
		{math.MinInt64, "-8.0 EiB"},
	} {
		if got := report.Size(test.bytes); got != test.want {
			t.Errorf("Size(%d) = %q, want %q", test.bytes, got, test.want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, test := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "image", "0 images"},
		{1, "image", "1 image"},
		{2, "repository", "2 repositories"},
		{1, "repository", "1 repository"},
		{1234567, "blob of no image", "1,234,567 blobs of no image"},
		{1000, "layer link", "1,000 layer links"},
		{999, "tag", "999 tags"},
	} {
		if got := report.Count(test.n, test.noun); got != test.want {
			t.Errorf("Count(%d, %s) = %q, want %q", test.n, test.noun, got, test.want)
		}
	}
	if got := report.Number(-1234); got != "-1,234" {
		t.Errorf("Number(-1234) = %q", got)
	}
}

func TestAge(t *testing.T) {
	for _, test := range []struct {
		age  time.Duration
		want string
	}{
		{0, "0s"},
		{time.Hour, "1h"},
		{90 * time.Minute, "1h30m"},
		{24 * time.Hour, "1d"},
		{168 * time.Hour, "7d"},
		{25 * time.Hour, "25h"},
		{time.Minute, "1m"},
		{10*time.Minute + time.Second, "10m1s"},
		{time.Nanosecond, "1ns"},
		{10 * time.Hour, "10h"},
		{20 * time.Minute, "20m"},
	} {
		if got := report.Age(test.age); got != test.want {
			t.Errorf("Age(%s) = %q, want %q", test.age, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		age := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "age"))
		if got, err := policy.ParseAge(report.Age(age)); err != nil || got != age {
			t.Fatalf("%s written as %s is read as %s, %v", age, report.Age(age), got, err)
		}
	})
}

func TestEscape(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"apps/web", "apps/web"},
		{"приложение", "приложение"},
		{"日本", "日本"},
		{"", ""},
		{"a\x1b[31mb", `"a\x1b[31mb"`},
		{"a\nb", `"a\nb"`},
		{"\u202egnp", `"\u202egnp"`},
		{"a\xffb", `"a\xffb"`},
		{"bell\a", `"bell\a"`},
		{"zero\u200bwidth", `"zero\u200bwidth"`},
		{"nbsp\u00a0", `"nbsp\u00a0"`},
	} {
		if got := report.Escape(test.name); got != test.want {
			t.Errorf("Escape(%q) = %s, want %s", test.name, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		for _, text := range []string{report.Escape(raw), report.EscapeLine(raw), report.Fit(raw, 10)} {
			if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }); i >= 0 {
				t.Fatalf("%q keeps what a terminal may obey: %q", raw, text)
			}
		}
	})
}

func TestEscapeIsUnambiguous(t *testing.T) {
	raw := rapid.OneOf(rapid.StringMatching(`[a\\"nx1b]{0,6}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		a, b := raw.Draw(t, "a"), raw.Draw(t, "b")
		if a != b && report.Escape(a) == report.Escape(b) && report.Escape(a) != a && report.Escape(b) != b {
			t.Fatalf("%q and %q look alike", a, b)
		}
	})
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 10, "short"},
		{"exactly10!", 10, "exactly10!"},
		{"registry/apps/web", 10, "regi…s/web"},
		{"日本語日本語", 7, "日…本語"},
		{"ab", 1, "…"},
	} {
		if got := report.Fit(test.text, test.columns); got != test.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-z]{1,8}`)).Draw(t, "words")
		columns := rapid.IntRange(8, 40).Draw(t, "columns")
		lines := report.Wrap(strings.Join(words, " "), columns)
		for i, line := range lines {
			if len(line) > columns {
				t.Fatalf("%q is wider than %d", line, columns)
			}
			if i > 0 && len(lines[i-1])+1+len(strings.Fields(line)[0]) <= columns {
				t.Fatalf("%q would have fit behind %q", line, lines[i-1])
			}
		}
		if got := strings.Fields(strings.Join(lines, " ")); strings.Join(got, " ") != strings.Join(words, " ") {
			t.Fatalf("%q became %q", words, lines)
		}
	})
	if got := report.Wrap("first seen; --min-age 0s takes it, or --yes, nevermind", 21); !slices.Equal(got, []string{"first seen;", "--min-age 0s takes", "it, or --yes,", "nevermind"}) {
		t.Errorf("a flag is not beside its value: %q", got)
	}
	if got := report.Wrap("one two", 0); len(got) != 1 {
		t.Errorf("without a width it is broken: %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for _, word := range []string{
		"/var/lib/registry", "with space", "it's", `back\slash`, "$HOME", "*", "", "~/x", "new\nline", "\x1b[31m'", `"quoted"`, "a;b&c|d", "日本",
	} {
		out, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+report.ShellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is quoted as %s, which a shell reads as %q (%v)", word, report.ShellQuote(word), out, err)
		}
	}
}
