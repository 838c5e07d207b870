package zklock

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// A lock node is named as Curator names it, _c_<uuid>-lock-<sequence>, so that
// Curator's InterProcessMutex and zk.Lock on the same path exclude us and we them.
const nodePrefix = "_c_"

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

// markers are what a contender's name carries before its sequence: Curator's,
// one for each kind of lock node in that order, then kazoo's.
var markers = []struct {
	text string
	kind Kind
}{
	{"-lock-", Exclusive},
	{"-__WRIT__", Write},
	{"-__READ__", Read},
	{"__lock__", Exclusive},
	{"__rlock__", Read},
}

func (k Kind) marker() string { return markers[k].text }

// The server formats a sequence with %010d and counts it in 32 bits. At the top
// the number sticks and repeats, and negative ones follow (ZOOKEEPER-2944), so
// order means nothing from orderEnd on. resetFrom leaves room to start the
// counter afresh before that.
const (
	sequenceDigits = 10
	orderEnd       = 1<<31 - 1<<16
	resetFrom      = 1<<31 - 1<<24
)

// beyondOrder tells whether c's place in the queue means nothing.
func (c *contender) beyondOrder() bool { return c.sequence >= orderEnd || c.sequence < 0 }

// nearTheEnd tells whether the sequence counter should start afresh.
func (c *contender) nearTheEnd() bool {
	return (c.sequence >= resetFrom || c.sequence < 0) && c.queue.dir != "/"
}

// child is a contender as a list of the lock's children shows it.
type child struct {
	name     string
	kind     Kind
	sequence int32
}

// parseChild reads a child's name; false if it is not a contender's.
func parseChild(name string) (child, bool) {
	if len(name) < sequenceDigits {
		return child{}, false
	}
	stem, digits := name[:len(name)-sequenceDigits], name[len(name)-sequenceDigits:]
	for _, m := range markers {
		number := digits // with the sign, if there is one and that leaves room for it
		if !strings.HasSuffix(stem, m.text) {
			if !strings.HasSuffix(stem, m.text+"-") {
				continue
			}
			number = "-" + digits
		}
		if strings.Trim(strings.TrimPrefix(number, "-"), "0123456789") != "" {
			return child{}, false
		}
		sequence, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return child{}, false
		}
		return child{name: name, kind: m.kind, sequence: int32(sequence)}, true
	}
	return child{}, false
}

// contendersIn returns the contenders among names in the order of their
// sequences. Every other child is ignored.
func contendersIn(names []string) []child {
	children := make([]child, 0, len(names))
	for _, name := range names {
		if c, ok := parseChild(name); ok {
			children = append(children, c)
		}
	}
	slices.SortFunc(children, func(a, b child) int { return cmp.Compare(a.sequence, b.sequence) })
	return children
}

// blocks tells whether c, being ahead, keeps a contender of kind k waiting.
func (c child) blocks(k Kind) bool { return k != Read || c.kind != Read }

// identities hands out the UUIDs of one session's nodes. They share a random
// prefix, so that any list shows which nodes are ours: one that belongs to no
// live contender is the late result of a create whose reply was lost.
type identities struct {
	prefix string
	issued atomic.Uint64
}

// uuidLength is the length of a UUID's text, 8-4-4-4-12.
const uuidLength = 36

func newIdentities() *identities {
	var random [8]byte
	rand.Read(random[:]) // never fails since Go 1.24
	n := binary.BigEndian.Uint64(random[:])
	return &identities{prefix: fmt.Sprintf("%08x-%04x-4%03x-", n>>32, n>>16&0xffff, n&0xfff)}
}

// next returns a UUID that this session has not used yet.
func (i *identities) next() string {
	n := i.issued.Add(1)
	id := make([]byte, 0, uuidLength)
	id = append(id, i.prefix...)
	id = append(id, '8')
	id = appendHex(id, n>>48, 3)
	id = append(id, '-')
	return string(appendHex(id, n, 12))
}

// appendHex appends the lowest digits of n.
func appendHex(to []byte, n uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		to = append(to, "0123456789abcdef"[n>>shift&0xf])
	}
	return to
}

// of returns the UUID in a node's name, if it is one of this session's.
func (i *identities) of(name string) (id string, ours bool) {
	rest, ok := strings.CutPrefix(name, nodePrefix)
	if !ok || len(rest) < uuidLength || !strings.HasPrefix(rest, i.prefix) {
		return "", false
	}
	return rest[:uuidLength], true
}
