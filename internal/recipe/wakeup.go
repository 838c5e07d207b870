package recipe

// Wakeup is what a waiter knows when the nearest contender ahead of it changes.
type Wakeup struct {
	Self     Kind     // what the waiter asks for
	Position Position // by its last list
	Deleted  bool     // the nearest one ahead is gone, as an event or a refused watch told

	// SameSession says that the waiter's session may own that node too. False also if the node
	// was gone before it could be watched.
	SameSession bool

	// OwnWatched says that a watch on the waiter's own node stands and has not fired.
	OwnWatched bool

	// SameConnection says that the list, both watches and what they told came over one
	// connection, which still stands.
	SameConnection bool
}

// Proves reports whether the wake-up alone, without another list, shows that the lock is the
// waiter's.
func (w Wakeup) Proves() bool {
	return w.Deleted &&
		// Further ahead, somebody else may hold the lock.
		w.Position.Ahead == 1 &&
		// A downgrade leaves a reader with its writer's sequence.
		(w.Position.Nearest.Kind != Write || w.Self == Read) &&
		// And so may whatever another library makes.
		!w.Position.Nearest.Foreign &&
		// The end of a session that has both nodes deletes them in any order, but both before
		// anything is answered.
		!w.SameSession &&
		// Without a watch on the own node, its deletion would have gone unseen.
		w.OwnWatched &&
		// Watches that are set again after a reconnect fire in any order.
		w.SameConnection
}
