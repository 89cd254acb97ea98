package engines

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-io/ebb/internal/testkit/engines"
)

// The household: what a box at home has after some updates, and what of it goes.
func householdStays() []string {
	return []string{
		"docker.io/cloudflare/cloudflared:2024.8.3", "docker.io/cloudflare/cloudflared:2024.9.1",
		"docker.io/dperson/samba:4.18.9", "docker.io/dperson/samba:4.19.2",
		"docker.io/filebrowser/filebrowser:v2.30.0", "docker.io/filebrowser/filebrowser:v2.31.2",
		"docker.io/library/postgres:15.1",
		"docker.io/library/traefik:v3.1.0", "docker.io/library/traefik:v3.1.2",
	}
}

func householdGoes() []string {
	return []string{
		"docker.io/cloudflare/cloudflared:2024.4.0", "docker.io/cloudflare/cloudflared:2024.6.1",
		"docker.io/filebrowser/filebrowser:v2.27.0",
		"docker.io/library/traefik:v3.0.4",
	}
}

func householdPins() []string {
	return []string{
		"--pin", "traefik:v3.1.2", "--pin", "cloudflare/cloudflared:2024.9.1",
		"--pin", "filebrowser/filebrowser:v2.31.2", "--pin", "dperson/samba:4.19.2",
	}
}

func TestAHousehold(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		load(t, e, append(householdStays(), householdGoes()...)...)
		e.Create(t, "samba", "dperson/samba:4.19.2")
		before := count(t, e)
		ago := slices.Concat(householdPins(), []string{"--min-age", "0s"})

		t.Run("on a machine that never ran Ebb", func(t *testing.T) { neverRan(t, e, newEbb(t, e)) })
		t.Run("a check deletes nothing", func(t *testing.T) {
			newEbb(t, e).check(t, ago...).deletes(t, householdGoes()...)
		})
		b := newEbb(t, e)
		t.Run("a run", func(t *testing.T) {
			d := b.run(t, ago...)
			d.deleted(t, e, householdGoes()...)
			if d.FreedBytes <= 0 || d.FreedBytes != d.Totals.ReclaimableBytes || !d.Measured {
				t.Errorf("freed %d of %d bytes, measured: %v", d.FreedBytes, d.Totals.ReclaimableBytes, d.Measured)
			}
			before.without(householdGoes()...).is(t, e)
			whole(t, e, householdStays()...)
		})
		t.Run("the second run", func(t *testing.T) { b.run(t, ago...).deleted(t, e) })
	})
}

// neverRan wants the same to go, in an hour: nothing is known of when it came.
func neverRan(t *testing.T, e *engines.Engine, b ebb) {
	before := time.Now()
	d := b.run(t, householdPins()...)
	d.deleted(t, e)
	var wait []string
	for _, one := range d.Decisions {
		if one.Until == nil {
			continue
		}
		wait = append(wait, one.Names...)
		if one.Until.Before(before.Add(time.Hour)) || one.Until.After(time.Now().Add(time.Hour)) {
			t.Errorf("%s waits until %s", one.Names, one.Until)
		}
	}
	slices.Sort(wait)
	if diff := cmp.Diff(householdGoes(), wait); diff != "" {
		t.Errorf("what waits (-want +got):\n%s%s", diff, d.text)
	}
	saysWhen(t, b, d)
}

// saysWhen wants a check to tell a person the same: what waits, until when, and
// what takes it now.
func saysWhen(t *testing.T, b ebb, d document) {
	t.Helper()
	out, err := b.command(t.Context(), t, append([]string{"check"}, householdPins()...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range householdGoes() {
		short := strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/")
		when := d.of(t, name).Until.UTC().Format("15:04 UTC")
		if said := line(t, strings.Split(string(out), "\n"), short); !strings.Contains(said, when) {
			t.Errorf("no %s: %s", when, said)
		}
	}
	if waits := strings.Count(string(out), " UTC  "); waits != len(householdGoes()) || !strings.Contains(string(out), "--min-age 0s takes them now") {
		t.Errorf("%d images wait in: %s", waits, out)
	}
}
