// Command ebb brings container-image storage down to what is still in use.
package main

import (
	"github.com/ebb-io/ebb/cmd/internal/process"
	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/cli/demo"
	"github.com/ebb-io/ebb/internal/cli/host"
	"github.com/ebb-io/ebb/internal/cli/registry"
)

func main() {
	manageMemory()
	process.Main(cli.Ebb(), registry.Group(), host.Group(), demo.Group(registry.Group()))
}
