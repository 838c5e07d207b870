package mutants

import (
	"slices"
	"strings"
)

// room is a package that carries promises, and which of its files do; all if none is named.
type room struct {
	directory string
	files     []string
}

// rooms are what generated mutants change.
var rooms = []room{
	{directory: "internal/recipe"},
	{directory: "internal/lease"},
	{directory: "internal/queue"},
	{directory: "internal/client"},
	{directory: "internal/wire"},
	{directory: "election"},
	{directory: ".", files: []string{
		"context.go", "do.go", "gate.go", "hold.go", "locker.go", "multi.go", "multihold.go", "reentrant.go", "rwlocker.go", "semaphore.go",
		"trylock.go", "while.go",
	}},
}

func (r room) has(file string) bool { return len(r.files) == 0 || slices.Contains(r.files, file) }

// judges are the packages whose tests judge generated mutants, the quick ones first.
var judges = []string{
	"internal/recipe", "internal/lease", "internal/wire", "internal/client", "internal/queue",
	"election", ".", "membership", "test/election", "test/membership", "test/lock", "test/nemesis", simulator,
}

// judging are the judges that the flags choose.
func judging() []string {
	if *by == "" {
		return judges
	}
	return strings.Split(*by, ",")
}

// simulator is the package that has TestSimulation.
const simulator = "test/sim"

// withoutServers has the tests find no Apache ZooKeeper, so that those skip which need one.
const withoutServers = "ZOOKEEPER_HOME=/nonexistent"
