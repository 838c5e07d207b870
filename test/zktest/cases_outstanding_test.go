package zktest_test

import (
	"fmt"
	"slices"

	"github.com/zklock/zklock/zktest"
)

// stopped runs fn while servers are stopped.
func (s *ensembleScript) stopped(fn func(), servers ...int) {
	for _, n := range servers {
		s.pause(n, true)
		defer s.pause(n, false)
	}
	fn()
}

// stalled runs fn while the leader can decide requests and commit none of them, as its followers are stopped. A read of
// another session waits for no write, but stands behind them all when they are decided.
func (s *ensembleScript) stalled(fn func()) {
	read := s.at(2)
	s.stopped(func() {
		fn()
		s.raw(read, opExists, packet{}.string("/").byte(0))
	}, 0, 1)
}

// sent sends a request and sees to it that the server has read it: it answers an auth ahead of all that is pending.
func (s *ensembleScript) sent(n int, op int32, body packet) {
	s.wire(n).send(s.t, op, body)
	s.wire(n).send(s.t, 100, packet{}.int32(0).string("digest").string("any:one"))
	s.frame(n, "auth")
}

var outstandingCases = []ensembleCase{
	{"the nodes of a session that is ending count until it has ended", func(s *ensembleScript) {
		owner, other := s.at(2), s.at(2)
		s.raw(other, opCreate, create("/ending", 0))
		s.raw(owner, opCreate, create("/ending/e", 1))
		s.stalled(func() {
			s.sent(owner, int32(zktest.OpCloseSession), nil)
			s.sent(other, opDelete, packet{}.string("/ending/e").int32(-1))
			s.sent(other, opDelete, packet{}.string("/ending").int32(-1))
			s.sent(other, opCreate, create("/ending/e", 0))
			s.sent(other, opDelete, packet{}.string("/ending/e").int32(-1))
			s.sent(other, opDelete, packet{}.string("/ending").int32(-1))
		})
		for _, what := range []string{"delete", "parent", "again", "delete", "parent"} {
			s.frame(other, what)
		}
		s.raw(other, opDelete, packet{}.string("/ending").int32(-1))
	}},
	{"requests are decided by what those ahead of them will have done", func(s *ensembleScript) {
		w := s.at(2)
		ops := []struct {
			op   zktest.Op
			body packet
		}{
			{zktest.OpCreate, create("/o", 0)},
			{zktest.OpCreate, create("/o/s-", 2)},
			{zktest.OpCreate, create("/o/e", 1)},
			{zktest.OpCreate, create("/o/e/kid", 0)},
			{zktest.OpSetData, packet{}.string("/o").string("x").int32(0)},
			{zktest.OpSetData, packet{}.string("/o").string("x").int32(0)},
			{zktest.OpMulti, rawMulti(1, create("/o/m", 0), 5, packet{}.string("/o").string("x").int32(1), 13, packet{}.string("/absent").int32(-1))},
			{zktest.OpMulti, rawMulti(1, create("/o/m", 0), 5, packet{}.string("/o").string("x").int32(1), 1, create("/o/s-", 2))},
			{zktest.OpSetData, packet{}.string("/o").string("x").int32(2)},
			{zktest.OpCreate, create("/o/s-", 2)},
			{zktest.OpDelete, packet{}.string("/o").int32(-1)},
			{zktest.OpMulti, rawMulti(2, packet{}.string("/o/m").int32(-1), 2, packet{}.string("/o/e").int32(-1), 2, packet{}.string("/o").int32(-1))},
			{zktest.OpDelete, packet{}.string("/o/m").int32(0)},
			{zktest.OpDelete, packet{}.string("/o/m").int32(0)},
			{zktest.OpSetACL, packet{}.string("/o").int32(1).int32(1).string("world").string("anyone").int32(0)},
			{zktest.OpCreate, create("/o/after", 0)},
			{zktest.OpSetData, packet{}.string("/o").string("x").int32(-1)},
			{zktest.OpSetACL, packet{}.string("/o").openACL().int32(-1)},
			{zktest.OpExists, packet{}.string("/o").byte(0)},
			{zktest.OpExists, packet{}.string("/o/e").byte(0)},
		}
		s.stalled(func() {
			for _, o := range ops {
				s.sent(w, int32(o.op), o.body)
			}
		})
		for _, o := range ops {
			s.frame(w, o.op.String())
		}
	}},
	{"a session that ends takes what it will own by then", func(s *ensembleScript) {
		owner, other := s.at(2), s.at(2)
		s.raw(owner, opCreate, create("/own", 0))
		s.raw(owner, opCreate, create("/own/old", 1))
		s.raw(owner, opCreate, create("/own/gone", 1))
		failing := packet{}.string("/absent").int32(-1)
		s.stalled(func() {
			s.sent(owner, opCreate, create("/own/new", 1))
			s.sent(owner, opDelete, packet{}.string("/own/gone").int32(-1))
			s.sent(owner, opMulti, rawMulti(1, create("/own/never", 1), 2, packet{}.string("/own/old").int32(-1), 13, failing))
			s.sent(owner, opMulti, rawMulti(1, create("/own/n-", 3), 1, create("/own/n-", 3)))
			s.sent(other, opCreate, create("/own/gone", 1))
			s.sent(other, 5, packet{}.string("/own/old").string("x").int32(-1))
			s.sent(owner, int32(zktest.OpCloseSession), nil)
			s.sent(other, opCreate, create("/own/never", 1))
			s.sent(other, opCreate, create("/own/n-", 2))
		})
		for range 4 {
			s.frame(other, "reply")
		}
		list := func(r *reply) string {
			names := make([]string, r.int32())
			for i := range names {
				names[i] = r.string()
			}
			slices.Sort(names)
			return fmt.Sprint(names)
		}
		s.raw(other, 12, packet{}.string("/own").byte(0), list)
		for range 6 {
			s.frame(owner, "reply")
		}
	}},
	{"what waits for a commit and what does not", func(s *ensembleScript) {
		writer, reader, syncer, moving := s.at(2), s.at(2), s.at(2), s.at(2)
		path := packet{}.string("/late").byte(1)
		s.stalled(func() {
			s.sent(writer, opCreate, create("/late", 0))
			s.sent(writer, opExists, path)
			s.wire(writer).write(s.t, packet{}.int32(-2).int32(opPing))
			s.raw(reader, opExists, path)
			s.raw(reader, opPing, nil)
			s.raw(syncer, opSync, packet{}.string("/"))
			s.raw(syncer, opExists, path)
			moved := s.at(2, moving)
			s.frame(moving, "old connection")
			s.raw(moved, opExists, path)
			s.raw(moved, 18, packet{}.string("/late").int32(2))
		})
		for _, n := range []int{writer, writer, writer, reader, syncer} {
			s.note("xid %d", s.frame(n, "late").xid)
		}
	}},
	{"a handshake that waits is hung up on when its session is resumed again", func(s *ensembleScript) {
		old := s.at(0)
		resume := func() int {
			s.wires = append(s.wires, sayHello(s.t, s.dial, s.addrs[0], sessionTimeout, s.wire(old)))
			return len(s.wires) - 1
		}
		var second int
		s.stopped(func() {
			first := resume()
			s.frame(old, "old connection")
			second = resume()
			s.frame(first, "first handshake")
		}, 2)
		s.wire(second).welcomed(s.t)
		s.note("same session %t", s.wire(second).session == s.wire(old).session)
	}},
	{"a follower whose leader hangs answers whatever needs no leader", func(s *ensembleScript) {
		w, other := s.at(0), s.at(0)
		root := packet{}.string("/").byte(0)
		s.stopped(func() {
			s.raw(w, opExists, root)
			s.raw(w, opPing, nil)
			s.sent(w, opSync, packet{}.string("/"))
			s.sent(w, opExists, root)
			s.sent(other, opCreate, create("/waiting", 1))
			s.sent(other, opPing, nil)
		}, 2)
		for _, n := range []int{w, w, other, other} {
			s.note("xid %d", s.frame(n, "late").xid)
		}
	}},
}
