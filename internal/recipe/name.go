// Package recipe is the order of waiting: what the nodes of a lock are called, who has to wait
// for whom, and what the end of a node proves. It is ZooKeeper's recipe for locks and for
// shared locks (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks), with
// the names of Curator. It has no state, no clock and no I/O: everything is said by the names
// of nodes and by what the caller has seen.
package recipe

import (
	"fmt"
	"strconv"
	"strings"
)

// Prefix begins the name of every lock node, as with Curator: _c_<uuid>-lock-<sequence>.
const Prefix = "_c_"

// Kind is what a contender asks for, or has.
type Kind int

const (
	Exclusive Kind = iota // a lock: Locker, Curator's InterProcessMutex, zk.Lock, kazoo's Lock
	Write                 // the write side of a read/write lock
	Read                  // the read side
	Permit                // one permit of a semaphore
)

func (k Kind) String() string {
	names := [...]string{"exclusive", "write", "read", "permit"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// markers are what a contender's name carries before its sequence: Curator's, one for each kind
// of lock node in that order, then kazoo's.
var markers = []struct {
	text string
	kind Kind
}{
	{"-lock-", Exclusive},
	{"-__WRIT__", Write},
	{"-__READ__", Read},
	{kazoosWriter, Exclusive},
	{kazoosReader, Read},
}

// plain is all that some locks have ahead of the sequence.
const plain = "lock-"

// permitMarker stands where a permit's name has its marker. Permits do not queue.
const permitMarker = "-lease-"

// The two nodes below the path of a semaphore: the queue of those who want permits, and the
// permits that are out.
const (
	Turns   = "locks"
	Permits = "leases"
)

// Stem returns what the name of a node of kind k begins with: all but its sequence.
func Stem(id string, k Kind) string {
	return Prefix + id + Marker(k)
}

// Ours reports whether a node's name is one that this library gives, in whatever session. The end of
// its UUID counts, from zero on: of random ones, one in a thousand million has that form.
func Ours(name string) bool {
	const random, counter = "xxxxxxxx-xxxx-xxxx-", "8000-000000000000"
	id, ok := strings.CutPrefix(name, Prefix)
	return ok && len(id) > len(random)+len(counter) && strings.HasPrefix(id[len(random):], "8000-0000")
}

// Marker returns what stands between the id and the sequence of a node of kind k.
func Marker(k Kind) string {
	if k == Permit {
		return permitMarker
	}
	return markers[k].text
}

// Blocks reports whether a contender of kind k that is ahead keeps one of kind other waiting.
// Readers share the lock with readers.
func (k Kind) Blocks(other Kind) bool { return k != Read || other != Read }

// The server formats a sequence with %010d and counts it in 32 bits. At the top the number
// sticks and repeats, and negative ones follow (ZOOKEEPER-2944), so order means nothing from
// orderEnd on.
const (
	sequenceDigits = 10
	orderEnd       = 1<<31 - 1<<16
)

// Node is a lock node, as a list of the lock's children shows it.
type Node struct {
	Name     string
	Kind     Kind
	Sequence int32
	// Foreign says that the name ends in a sequence, and that nothing else in it tells of a lock. The
	// node may be one of another library's lock, or of no lock: see Contends.
	Foreign bool
}

// Parse reads the name of a node that may be a lock's; false if it ends in no sequence, or is one
// of a permit.
func Parse(name string) (Node, bool) {
	for _, m := range markers {
		if sequence, ok := sequenceAfter(m.text, name); ok {
			return Node{Name: name, Kind: m.kind, Sequence: sequence}, true
		}
	}
	if sequence, ok := sequenceAfter(plain, name); ok && strings.HasPrefix(name, plain) && len(name) <= len(plain)+len("-")+sequenceDigits {
		return Node{Name: name, Sequence: sequence}, true
	}
	// In a name of a form that is not known a hyphen is no sign.
	if sequence, ok := sequenceAfter("", name); ok && name[len(name)-sequenceDigits] != '-' && !IsPermit(name) {
		return Node{Name: name, Sequence: sequence, Foreign: true}, true
	}
	return Node{}, false
}

// Contends reports whether n, which is ephemeral or not, stands in the queue of a lock. A node with a
// lock's name always does. A foreign one does if it is ephemeral: any other need never end.
func (n Node) Contends(ephemeral bool) bool { return ephemeral || !n.Foreign }

// Bare reports whether n is called by its sequence alone.
func (n Node) Bare() bool { return len(n.Name) == sequenceDigits }

// IsPermit reports whether name is that of a permit's node.
func IsPermit(name string) bool {
	_, ok := sequenceAfter(permitMarker, name)
	return ok
}

// sequenceAfter reads the sequence that follows marker at the end of name; false if none does.
func sequenceAfter(marker, name string) (sequence int32, ok bool) {
	if len(name) < sequenceDigits {
		return 0, false
	}
	stem, digits := name[:len(name)-sequenceDigits], name[len(name)-sequenceDigits:]
	number := digits // with the sign, if there is one and that leaves room for it
	if !strings.HasSuffix(stem, marker) {
		if !strings.HasSuffix(stem, marker+"-") {
			return 0, false
		}
		number = "-" + digits
	}
	if strings.Trim(strings.TrimPrefix(number, "-"), "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(number, 10, 32)
	return int32(n), err == nil
}

// Unordered reports whether n's place in the queue means nothing: its sequence is too near the
// end of the counter, or beyond.
func (n Node) Unordered() bool { return n.Sequence >= orderEnd || n.Sequence < 0 }

// Sequential returns the name of the sequential node that a server makes of stem.
func Sequential(stem string, sequence int32) string {
	return fmt.Sprintf("%s%0*d", stem, sequenceDigits, sequence)
}
