// Package election has one of several processes lead, and tells everybody who that is.
//
//	e, err := election.New(session, "/app/leader", election.WithValue([]byte("10.0.0.7:8080")))
//	...
//	err = e.Run(ctx, func(ctx context.Context, term *election.Term) error {
//		... // this process leads until ctx ends or the function returns
//	})
//
//	for leader, err := range election.Observe(ctx, session, "/app/leader") {
//		...
//	}
//
// A leader holds the lock of that path: see [zklock.Locker]. So all that package zklock promises
// of a lock holds of an election, with the same exceptions: at most one leads, its context ends
// before another can lead, and candidates lead in the order in which they came. Curator's
// LeaderSelector stands in the same queue, and so does zklock run; Curator's LeaderLatch does not.
// What a leader writes elsewhere is guarded by [Term.Token], and what it writes in ZooKeeper by
// [Term.Check].
//
// # What a node says
//
// A candidate's node says who it is, as any lock's does. When it leads, it says so by one more
// write, with its value, and for that its function does not wait. So observers see nobody as the
// leader who never was: the first in line may have died before its turn came. Of others than this
// package's leaders (a LeaderSelector, a lock) the first in line is taken for the leader, since
// nothing tells more of them. What its node says is its value, unless that has host= and pid=, as a
// lock's node has: then it says whose it is.
//
// The value stands on the leader's own node because that goes with the term, by itself: nobody has
// to take a dead leader's value away, and a write by a leader that is none any more finds no node.
// Who asks a leader to go writes on that node too, and does not wipe the value: [zklock.Revoke]
// writes its mark ahead of what is there, under the condition that it is still so. Curator's
// Revoker replaces what is there by its mark. The leader writes it anew then; who has seen the
// leader before goes on seeing it, and who has not sees nobody until that is done.
//
// # What it costs
//
// A term costs a lock's requests and one write. While nothing changes, observers ask once a minute
// whether that is so, in case a watch was lost: they read the leader's node, or list the path if
// there is none, and have ZooKeeper's leader confirm that the node is there, for 128 elections of a
// session at most.
// All those of a path in a session share their requests. A change of the leader or of its value
// costs them one read, and a list of the candidates more where they know of none in line. A connection
// after the first costs nothing, or the same if a change may have been missed, as after two breaks in
// a row; a ZooKeeper session after the first costs the same.
// Candidates that come and go cost observers nothing, and no candidate wakes another: only the
// next in line watches a leader.
//
// Watches are shared by all who use the same session and stay when an Observe ends, until what
// they are on changes.
package election
