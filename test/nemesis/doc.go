// Package nemesis runs processes that use locks on an ensemble of three Apache
// ZooKeeper servers, breaks servers, network and processes meanwhile, and checks
// from what the processes report whether the lock kept its promises. Its words are
// those of Jepsen.
//
// A [Cluster] is the ensemble with a proxy wherever bytes pass: between any two
// servers, and by [Links] between each process and each server. A [Worker] is a
// process that runs this package's executable again. Its clients report their [Op]s,
// stamped by the clock that all processes share, from which a [History] is made.
// A nemesis injects one fault after the other. The checkers take the whole history:
//
//	Linearizable      the grants and ends at each path fit a fenced lock
//	LostUpdates       registers behind a fence, or a token, lost no update
//	Cluster.Remains   no lock node or watch is left at the end
//	Cluster.Sessions  no session is left when all are closed
//
// The lockers of one process are plain, those of others have WithHandoff, WithRetention
// or both, and all stand in the same queues: each soak covers each option, beside
// every other.
//
// The faults are drawn by a seed, each once before any comes again, and so are the
// clients' workloads. The interleaving is real: a seed repeats the kind of trouble,
// not the run.
//
//	make soak DURATION=10m
//	go test ./test/nemesis -run TestSoak -v -soak 1h -seed 7
package nemesis
