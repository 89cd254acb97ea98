package host

import (
	"errors"

	app "github.com/ebb-io/ebb/internal/app/host"
	"github.com/ebb-io/ebb/internal/store/docker"
	"github.com/ebb-io/ebb/internal/store/state"
)

// The exit codes of this group, beside those that all have.
const (
	exitFailed      = 3
	exitReclaimable = 4
	exitIncomplete  = 10
	exitBusy        = 11
	exitStale       = 12
	exitLimit       = 13
)

// errFailed says that the work is done but for some images.
var errFailed = errors.New("not all could be deleted")

// code is the one place where errors become exit codes; the first that fits.
func code(err error) (int, bool) {
	var command notStarted
	switch {
	case errors.As(err, &command):
		return command.code(), true
	case errors.Is(err, docker.ErrAway), errors.Is(err, docker.ErrIncomplete),
		errors.Is(err, app.ErrImplausible), errors.Is(err, app.ErrPins), errors.Is(err, app.ErrNoPins):
		return exitIncomplete, true
	case errors.Is(err, app.ErrBusy), errors.Is(err, state.ErrBusy):
		return exitBusy, true
	case errors.Is(err, app.ErrStale):
		return exitStale, true
	case errors.Is(err, app.ErrLimit):
		return exitLimit, true
	case errors.Is(err, errFailed):
		return exitFailed, true
	}
	return 0, false
}
