package registry

import (
	"errors"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/execute/guard"
	"github.com/ebb-io/ebb/internal/source/manifests"
	"github.com/ebb-io/ebb/internal/store/blob"
)

// The exit codes of this group, beside those that all have.
const (
	exitDamaged     = 3
	exitReclaimable = 4
	exitIncomplete  = 10
	exitLocked      = 11
	exitStale       = 12
	exitLimit       = 13
)

var (
	// errDamaged says that the work is done and something is not as it should be.
	errDamaged = errors.New("the storage is damaged")
	// errFailed says that the work is done but for some items.
	errFailed = errors.New("not all could be deleted")
	// errUnmended says the same of a repair.
	errUnmended = errors.New("not all could be mended")
	// errRemembered says that a registry's cache could not be flushed.
	errRemembered = errors.New("the registry still remembers what is gone")
	// errUnreleased says that the lock stays although all is done.
	errUnreleased = errors.New("all is done, but the lock could not be removed, and keeps others out until it has been silent for ten minutes")
	// errHeld says that a run kept what a person must confirm first.
	errHeld = errors.New("held")
)

// code is the one place where errors become exit codes; the first that fits.
func code(err error) (int, bool) {
	var locked *blob.LockedError
	switch {
	case errors.Is(err, app.ErrIncomplete), errors.Is(err, manifests.ErrIncomplete):
		return exitIncomplete, true
	case errors.As(err, &locked), errors.Is(err, blob.ErrLockLost),
		errors.Is(err, guard.ErrWritable), errors.Is(err, guard.ErrUnproven):
		return exitLocked, true
	case errors.Is(err, app.ErrStale):
		return exitStale, true
	case errors.Is(err, app.ErrLimit), errors.Is(err, errHeld):
		return exitLimit, true
	case errors.Is(err, errDamaged), errors.Is(err, errFailed), errors.Is(err, errRemembered), errors.Is(err, errUnreleased), errors.Is(err, errUnmended):
		return exitDamaged, true
	}
	return 0, false
}
