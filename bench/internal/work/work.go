// Package work is what the benchmark has every party do: the kinds of work, and
// the bench that they all stand on.
package work

import (
	"context"
	"slices"

	"github.com/zklock/zklock/bench/internal/result"
)

// Party is a row of the tables.
type Party struct {
	Name    string
	Role    result.Role
	Process string // that does the work
	Variant string // an option of zklock's
}

// The parties. zklock's further options are rows of their own.
var (
	zklock        = Party{Name: "zklock", Role: result.Subject, Process: "zklock"}
	withoutOwner  = option("WithoutOwner", "WithoutOwner")
	withHandoff   = option("WithHandoff(64)", "WithHandoff")
	withRetention = option("WithRetention", "WithRetention")

	goZK    = Party{Name: "zk.Lock", Role: result.Peer, Process: "zk.Lock"}
	curator = Party{Name: "Curator", Role: result.Peer, Process: "Curator"}
	kazoo   = Party{Name: "kazoo", Role: result.Peer, Process: "kazoo"}
	etcd    = Party{Name: "etcd", Role: result.Other, Process: "etcd"}
	redsync = Party{Name: "redsync", Role: result.Other, Process: "redsync"}

	createPair = floor("floor: create, delete")
	pipelined  = floor("floor: create, delete sent behind")
	watchEvent = floor("floor: delete to event")

	// Each is a peer of package election, etcd's too.
	latch        = Party{Name: "Curator LeaderLatch", Role: result.Peer, Process: curator.Process, Variant: "LeaderLatch"}
	selector     = Party{Name: "Curator LeaderSelector", Role: result.Peer, Process: curator.Process, Variant: "LeaderSelector"}
	etcdElection = Party{Name: "etcd Election", Role: result.Peer, Process: etcd.Process}

	elections = []Party{zklock, latch, selector, kazoo, etcdElection}
	locks     = []Party{zklock, goZK, curator, kazoo}
	triers    = []Party{zklock, curator, kazoo, etcd, redsync}
	everybody = []Party{zklock, goZK, curator, kazoo, etcd, redsync}
)

func option(name, variant string) Party {
	return Party{Name: "zklock, " + name, Role: result.Subject, Process: "zklock", Variant: variant}
}

func floor(name string) Party { return Party{Name: name, Role: result.Floor, Process: "floor"} }

func with(parties []Party, more ...Party) []Party { return slices.Concat(parties, more) }

// Work is something that each of some parties does in every round.
type Work struct {
	ID      string
	Parties []Party
	Shows   []Quantity
	// Measure has a party do it, on a path that is the party's alone.
	Measure Measure

	Large      bool // takes long
	MostRounds int  // of a work that takes long; no limit if zero
}

// Measure has a party do something once, on a path.
type Measure func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error)

// Numbers are what one measurement gave, by name.
type Numbers map[string]float64

// Quantity is one of a work's numbers as it is shown.
type Quantity struct {
	Number string // its name
	Title  string
	Unit   string
	Per    float64 // how many of the number's own unit make one of Unit
}

func micros(title string) Quantity {
	return Quantity{Number: "ns", Title: title, Unit: "µs", Per: 1e3}
}

func clientCPU(of string) Quantity {
	return Quantity{Number: "cpu_ns", Title: "Client CPU of " + of, Unit: "µs", Per: 1e3}
}

// All returns every work, in the order of the tables.
func All() []Work {
	var all []Work
	add := func(works ...Work) { all = append(all, works...) }
	add(uncontended(direct), uncontended(delayed))
	add(goroutines(8), goroutines(64), goroutines(1024))
	add(sessions(2, direct), sessions(8, direct), sessions(64, direct))
	add(sessions(2, delayed), sessions(8, delayed), sessions(64, delayed))
	add(handOver(1), handOver(100), handOver(1000), handOver(3000), handOver(5000))
	add(resigned(1), resigned(100), deposed(1), deposed(100), observed(200))
	add(reentry(), try(), refused(), readMostly(), cold(), waiters())
	add(
		traffic("uncontended", locks, "an uncontended lock and unlock", cycle{way: counted}.measure),
		traffic("contended", locks, "a lock and unlock, 8 sessions contending", cycle{way: counted, sessions: 8}.measure),
		traffic("refused", []Party{zklock, curator, kazoo}, "a TryLock that fails", attempt(counted)),
	)
	return all
}
