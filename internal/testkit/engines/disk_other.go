//go:build !linux

package engines

import "testing"

// OwnDisk needs Linux.
func OwnDisk(t testing.TB) string {
	t.Helper()
	need(t)
	return ""
}
