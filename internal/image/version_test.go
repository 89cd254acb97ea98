package image

import (
	"cmp"
	_ "embed"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

//go:embed testdata/versions.txt
var goldenVersions string

type goldenTag struct {
	image, tag, stream string // stream is empty: not a version
	line, rank         int    // rank is the place in the image's stream
	unstable           bool
}

func (g goldenTag) key() string { return g.image + " " + g.stream }

// readGolden reads testdata/versions.txt, which explains itself.
func readGolden(t *testing.T) []goldenTag {
	t.Helper()
	var all []goldenTag
	image, ranks := "", map[string]int{}
	for i, line := range strings.Split(goldenVersions, "\n") {
		if strings.HasPrefix(line, "//") || line == "" {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			image = strings.TrimSuffix(name, "]")
			continue
		}
		text, equal := strings.CutPrefix(line, "=")
		g, ok := readGoldenRow(image, text)
		if !ok {
			t.Fatalf("line %d: %q is no row", i+1, line)
		}
		g.line = i + 1
		if !equal {
			ranks[g.key()]++
		}
		g.rank = ranks[g.key()]
		all = append(all, g)
	}
	return all
}

// readGoldenRow takes the stream's blanks in "<4 digits>" as part of it.
func readGoldenRow(image, text string) (goldenTag, bool) {
	tag, rest, found := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if why, refused := strings.CutPrefix(rest, "- "); refused {
		return goldenTag{image: image, tag: tag}, strings.TrimSpace(why) != ""
	}
	stream, unstable := strings.CutSuffix(rest, " pre")
	return goldenTag{image: image, tag: tag, stream: strings.TrimSpace(stream), unstable: unstable}, found && stream != ""
}

func TestGoldenVersions(t *testing.T) {
	rows, images := readGolden(t), map[string]bool{}
	for _, g := range rows {
		images[g.image] = true
		v, ok := ParseVersion(g.tag)
		switch {
		case ok != (g.stream != ""):
			t.Errorf("line %d: %s: a version: %v (%s), want stream %q", g.line, g.tag, ok, v.Stream(), g.stream)
		case ok && v.Stream().String() != g.stream:
			t.Errorf("line %d: %s: stream %q, want %q", g.line, g.tag, v.Stream(), g.stream)
		case ok && v.Stable() == g.unstable:
			t.Errorf("line %d: %s: stable: %v", g.line, g.tag, v.Stable())
		case ok && v.String() != g.tag:
			t.Errorf("line %d: %s is written back as %s", g.line, g.tag, v)
		}
	}
	if len(rows) < 150 || len(images) < 30 {
		t.Errorf("%d tags of %d images are too few to show anything", len(rows), len(images))
	}
}

func TestGoldenOrder(t *testing.T) {
	streams := map[string][]goldenTag{}
	for _, g := range readGolden(t) {
		if g.stream != "" {
			streams[g.key()] = append(streams[g.key()], g)
		}
	}
	for _, rows := range streams {
		for _, a := range rows {
			for _, b := range rows {
				if got, want := parsed(t, a.tag).Compare(parsed(t, b.tag)), cmp.Compare(a.rank, b.rank); got != want {
					t.Errorf("%s: %s against %s: %d, want %d", a.image, a.tag, b.tag, got, want)
				}
			}
		}
	}
}

func TestNoVersionIsNotStable(t *testing.T) {
	if v, ok := ParseVersion("latest"); ok || v.Stable() || v.String() != "" || v.Stream() != (Stream{}) {
		t.Errorf("latest: %v, %v of stream %q", ok, v, v.Stream())
	}
}

func TestParseVersionRefusesWhatIsHuge(t *testing.T) {
	for _, tag := range []string{
		"", strings.Repeat("1", 1<<20), "1." + strings.Repeat("0", 30), "1.2.3-" + strings.Repeat("a", 128),
		strings.Repeat("1.", 1<<16) + "1",
	} {
		if v, ok := ParseVersion(tag); ok {
			t.Errorf("a tag of %d bytes is a version of stream %s", len(tag), v.Stream())
		}
	}
}

func parsed(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, tag string,
) Version {
	t.Helper()
	v, ok := ParseVersion(tag)
	if !ok {
		t.Fatalf("%q is no version", tag)
	}
	return v
}

// tags draws tags of few numbers, so that many of them meet in one stream.
func tags() *rapid.Generator[string] {
	number := rapid.SampledFrom([]string{"0", "1", "01", "2", "9", "10", "1899", "2024", "2200", "20240901", "20241201", "1234567"})
	pre := rapid.SampledFrom([]string{"", "", "", "rc1", "-rc.2", "-RC10", ".rc1", "_rc1", "a1", "b2", "-beta", "-beta-3", "-alpha.1", "-dev3", "-M2"})
	behind := rapid.SampledFrom([]string{"", "", "", "-1", "-2", "-r0", "-r10", "-ls99", "-ls101", "-20240901", "-0a1b2c3"})
	variant := rapid.SampledFrom([]string{"", "", "-alpine", "-alpine3.20", "-debian-12-r4", ".Final", "_v2"})
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "v", "V"}).Draw(t, "prefix") +
			strings.Join(rapid.SliceOfN(number, 1, 3).Draw(t, "numbers"), ".") +
			pre.Draw(t, "pre") + behind.Draw(t, "behind") + variant.Draw(t, "variant")
	})
}

func versions() *rapid.Generator[Version] {
	return rapid.Custom(func(t *rapid.T) Version {
		tag := tags().Filter(func(tag string) bool { _, ok := ParseVersion(tag); return ok }).Draw(t, "tag")
		return parsed(t, tag)
	})
}

func TestCompareIsATotalOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkOrder(rt, versions().Draw(rt, "a"), versions().Draw(rt, "b"), versions().Draw(rt, "c"))
	})
}

// TestCompareIsATotalOrderInOneStream draws only what stands behind one
// release, where most mistakes would hide.
func TestCompareIsATotalOrderInOneStream(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) Version {
		release := rapid.SampledFrom([]string{"1.2", "v1.2", "1.02", "1.3", "1.10"}).Draw(t, "release")
		pre := rapid.SampledFrom([]string{"", "-rc1", "rc2", "-RC.10", "a1", "b1", "-beta.2", "-alpha-3"}).Draw(t, "pre")
		return parsed(t, release+pre+rapid.SampledFrom([]string{"-ls9", "-ls10"}).Draw(t, "build"))
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := one.Draw(rt, "a"), one.Draw(rt, "b"), one.Draw(rt, "c")
		if a.Stream() != b.Stream() || b.Stream() != c.Stream() {
			rt.Fatalf("%s, %s and %s are not in one stream", a, b, c)
		}
		checkOrder(rt, a, b, c)
	})
}

func checkOrder(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, a, b, c Version,
) {
	t.Helper()
	if a.Compare(a) != 0 {
		t.Fatalf("%s is not as old as itself", a)
	}
	if a.Compare(b) != -b.Compare(a) {
		t.Fatalf("%s and %s: %d and %d", a, b, a.Compare(b), b.Compare(a))
	}
	if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
		t.Fatalf("%s <= %s <= %s, but not from end to end", a, b, c)
	}
	if a.Compare(b) == 0 && (a.Stream() != b.Stream() || a.Compare(c) != b.Compare(c) || a.Stable() != b.Stable()) {
		t.Fatalf("%s and %s are equal, but not to %s, or not in stream or stability", a, b, c)
	}
}

func TestPreReleaseIsBelowItsRelease(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		release := rapid.StringMatching(`v?(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){1,5}`).Draw(rt, "release")
		pre := rapid.StringMatching(`([-._]?(alpha|beta|rc|RC|Beta|CR)[-._]?|a|b)[0-9]{1,2}`).Draw(rt, "pre")
		variant := rapid.SampledFrom([]string{"", "-alpine", "-ls7", "_v2.0"}).Draw(rt, "variant")
		before, after := parsed(rt, release+pre+variant), parsed(rt, release+variant)
		if before.Stream() != after.Stream() || before.Compare(after) >= 0 || before.Stable() || !after.Stable() {
			rt.Fatalf("%s (%s) is not below %s (%s)", before, before.Stream(), after, after.Stream())
		}
	})
}

// TestNumbersCountAsNumbers compares versions that differ in one number only.
func TestNumbersCountAsNumbers(t *testing.T) {
	forms := []string{"N", "1.N", "vN.2.3", "1.2.N-alpine", "1.2.3-rcN", "1.2.3bN", "1.2.3-N", "1.2.3-lsN", "1-debian-12-rN", "1.2.3_buildN", "2024.N.1"}
	number := rapid.StringMatching(`0?(0|[1-9][0-9]{0,2})`)
	rapid.Check(t, func(rt *rapid.T) {
		form := rapid.SampledFrom(forms).Draw(rt, "form")
		m, n := number.Draw(rt, "m"), number.Draw(rt, "n")
		a, b := parsed(rt, strings.Replace(form, "N", m, 1)), parsed(rt, strings.Replace(form, "N", n, 1))
		if want := cmp.Compare(atoi(m), atoi(n)); a.Stream() != b.Stream() || a.Compare(b) != want {
			rt.Fatalf("%s against %s: %d, want %d; streams %s and %s", a, b, a.Compare(b), want, a.Stream(), b.Stream())
		}
	})
}

func atoi(digits string) (n int) {
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

func FuzzParseVersion(f *testing.F) {
	for _, line := range strings.Split(goldenVersions, "\n") {
		if words := strings.Fields(strings.TrimPrefix(line, "=")); len(words) > 1 {
			f.Add(words[0], "1.2.3", "v1.2.3-rc1")
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var read []Version
		for _, tag := range []string{a, b, c} {
			v, ok := ParseVersion(tag)
			if ok != (v.Stream() != Stream{}) {
				t.Fatalf("%q: %v with stream %q", tag, ok, v.Stream())
			}
			if !ok {
				return
			}
			if again, _ := ParseVersion(tag); v.String() != tag || again.Compare(v) != 0 {
				t.Fatalf("%q is read as %q, then as %q", tag, v, again)
			}
			read = append(read, v)
		}
		checkOrder(t, read[0], read[1], read[2])
	})
}
