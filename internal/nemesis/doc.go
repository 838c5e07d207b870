// Package nemesis runs processes that use locks on an ensemble of three Apache
// ZooKeeper servers, breaks servers, network and processes meanwhile, and judges
// from what the processes report whether the lock kept its promises.
//
// A [Cluster] is the ensemble with a proxy wherever bytes pass: between any two
// servers, and between each process and each server. A [Worker] is a process that
// runs this package's executable again; it reports its [Op]s, stamped by the
// clock that all processes share. The checkers take the ops of a whole run:
//
//	Overlaps          two held one lock, or a lost channel closed after the next grant
//	Linearize         the history of each path fits a reentrant, fenced lock
//	LostUpdates       registers behind a fence, or a token, lost no update
//	Cluster.Remains   no lock node or watch is left at the end
//	Cluster.Sessions  no session is left when all are closed
//
// The lockers of one process are plain, those of others have WithHandoff, WithRetention
// or both, and all stand in the same queues: each soak covers each option, beside
// every other.
//
// The faults are dealt by a seed, each once before any comes again, and the clients'
// programs are drawn from it. The interleaving is real: a seed repeats the kind of
// trouble, not the run.
//
//	make soak DURATION=10m
//	go test ./internal/nemesis -run TestSoak -v -soak 1h -seed 7
package nemesis
