// Package queue carries out ZooKeeper's recipe for locks
// (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks): a contender creates
// its node, waits behind those ahead of it, is granted the lock, and has its node deleted.
//
// A [Session] is what one process has in the queues of one ZooKeeper session. A [Queue] is
// where the contenders for one path stand, a contender is one node there, from before its
// create until it is gone, and a [Hold] is one possession of the lock. Who asks for a lock asks
// a [Source]: a Queue, or what [NewHandoff] returns, by which several owners share one node. A
// [Semaphore] is a queue for the turn to take permits.
//
// All that makes a hold, or ends one, is judged under one mutex, that of [Session]: which
// connection there is, which incarnation of the ZooKeeper session it carries, whether the lease
// runs, and who stands where. It is the only mutex that is held while another package is
// called, and only packages below are: client, wire, lease, recipe. Of the caller's functions,
// those of [Options], the notes of a [History], and what is given to [Hold.Release] and
// [Hold.WhenEnded] run under it: they must not call back.
//
// Begin with [Queue.Acquire] for what a call does, and with state.go for what may become of a
// contender.
package queue
