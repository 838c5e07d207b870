// Package membership keeps the live list of servers: each server joins a path,
// and whoever watches that path sees who is there, and every change.
//
//	member, err := membership.Join(ctx, session, "/servers", []byte("10.0.0.7:8080"))
//	...
//	for peers, err := range membership.Watch(ctx, session, "/servers") {
//		...
//	}
//
// A member is an ephemeral child of the path. It goes with [Member.Leave], with
// [zklock.Session.Close], at the end of [zklock.Session.Shutdown] (leave before that, so
// as to be asked for nothing more), and, when its process dies or is cut off, with its
// ZooKeeper session, after the session's timeout. A member whose process still lives
// registers itself again, in the session that has taken the old one's place. Only a call of
// [WithNotify]'s function or of a logger, a member's or a Watch's, may outlive the session's
// Close.
//
// A list says what was so a moment ago: a server on it may just have died, and one that
// is missing may only be cut off from ZooKeeper. What must have one owner at a time
// needs a lock.
//
// # Costs
//
// [Join] sends a create, and a read that leaves a watch. [Watch] sends a list, and a
// read for each member that it has not seen yet. While nothing changes, a process that
// watches asks each session timeout whether the path, four of the members and one of the
// other children, each in its turn, have changed (see [WithInterval]), and a member whether
// its node has, in case a watch was lost: the server drops the watch of a node that changes
// while the session may not read it. However many watch the same, they ask twice at most in
// the shortest of their intervals. After a reconnect the client sets its watches again, and
// only logs it if that fails: where it was not in time, each node is asked for at the next
// interval, and where the server has not confirmed it, everything is read again. The page on
// costs in the repository says what a change costs.
//
// Watches are shared by all who use the same session and stay when a Watch ends,
// because the client cannot remove one, until the node changes or somebody watches it
// again: calling Watch again and again costs no memory. Only where a server has not confirmed
// the watches yet when a Watch begins after a reconnect, or at the next interval, each is asked
// for anew, and the client keeps some 200 bytes for the one before until its node changes.
package membership
