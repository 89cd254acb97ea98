// Command ebb-host removes images from a Docker host that it no longer needs: it
// is what ebb host does, as a small program of its own.
package main

import (
	"github.com/ebb-io/ebb/cmd/internal/process"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/host"
)

func main() { process.Main(cli.EbbHost(), host.Group()) }
