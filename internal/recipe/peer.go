package recipe

import "regexp"

// Peer is a lock of another library that gets in though one of this library is held: it does not see the
// names of such nodes.
type Peer struct {
	Lock string // what it is
	Cure string // so that it waits
	// Never says that nothing makes it wait on the same path.
	Never bool
}

const (
	latchMarker = "-latch-" // of Curator's LeaderLatch

	kazoosWriter = "__lock__"
	kazoosReader = "__rlock__"
)

// PeerOf returns whose lock a node is that another library has made, if who stands in its queue does not wait
// for one of kind self; false if they wait, or if the name does not tell. Permits wait for none in a queue.
func PeerOf(name string, self Kind) (p Peer, ok bool) {
	if self == Permit || Ours(name) {
		return Peer{}, false
	}
	_, isLatch := sequenceAfter(latchMarker, name)
	_, writes := sequenceAfter(kazoosWriter, name)
	_, reads := sequenceAfter(kazoosReader, name)
	n, isLock := Parse(name)
	switch {
	case (writes || reads) && self == Exclusive:
		return Peer{"kazoo's lock", `make it with extra_lock_patterns=["-lock-"]`, false}, true
	case writes || reads:
		return Peer{"kazoo's lock", `make its WriteLock with extra_lock_patterns=["-__WRIT__", "-__READ__", "-lock-"], and its ReadLock with ["-__WRIT__", "-lock-"]`, false}, true
	case !isLock || !curators.MatchString(name):
	case isLatch:
		return Peer{"Curator's LeaderLatch", "give it a path of its own, or use LeaderSelector there", true}, true
	case n.Foreign:
	case n.Kind == Exclusive && self != Exclusive:
		return Peer{"Curator's InterProcessMutex or LeaderSelector", "use InterProcessReadWriteLock there, or a Locker here", false}, true
	case n.Kind != Exclusive && self == Exclusive:
		return Peer{"Curator's InterProcessReadWriteLock", "use InterProcessMutex there, or an RWLocker here", false}, true
	}
	return Peer{}, false
}

// curators begins the names that Curator gives. zk.Lock, which waits for whatever has a sequence, has no hyphens
// in its UUID.
var curators = regexp.MustCompile("^" + Prefix + "[^-]{8}-[^-]{4}-[^-]{4}-[^-]{4}-[^-]{12}-")
