package registry

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/spf13/cobra"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/store/registry"
)

func unlockCommand(a *cli.App) *cobra.Command {
	var where storageFlags
	cmd := &cobra.Command{
		Use:     "unlock",
		Short:   "Remove the lock of a run that is gone",
		Example: "  ebb registry unlock --storage /var/lib/registry",
		Long: `A run that ended without giving its lock back does not stand in the way of the
next one on a local disk. On a network file system the next one waits for ten
minutes without a sign of life; this command does not, unless the holder is
known to live. In S3 nobody can know, so there both wait.`,
		Args: cli.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := configure(a, cmd); err != nil {
				return err
			}
			return unlock(a, cmd, &where)
		},
	}
	where.add(cmd.Flags())
	return cmd
}

func unlock(a *cli.App, cmd *cobra.Command, where *storageFlags) error {
	s, err := where.storage(a)
	if err != nil {
		return err
	}
	driver, err := s.openWritable(cmd.Context())
	if err != nil {
		return err
	}
	said := "the lock is removed"
	switch err := app.Unlock(cmd.Context(), driver); {
	case errors.Is(err, iofs.ErrNotExist):
		said = "there is no lock"
	case err != nil:
		return s.explain(&lockError{path: registry.LockFile, unlock: true, err: err})
	}
	_, err = fmt.Fprintf(a.Out, "%s: %s\n", s.name, said)
	return err
}
