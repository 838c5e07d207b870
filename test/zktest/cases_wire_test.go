package zktest_test

import (
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// stat reads a Stat.
func (r *reply) stat() *zk.Stat {
	int64s := func() int64 { hi, lo := r.int32(), r.int32(); return int64(hi)<<32 | int64(uint32(lo)) }
	return &zk.Stat{
		Czxid: int64s(), Mzxid: int64s(), Ctime: int64s(), Mtime: int64s(),
		Version: r.int32(), Cversion: r.int32(), Aversion: r.int32(),
		EphemeralOwner: int64s(), DataLength: r.int32(), NumChildren: r.int32(), Pzxid: int64s(),
	}
}

var wireCases = []conformanceCase{
	{"create2 answers with the stat", func(s *script) {
		stat := func(r *reply) string { return statLine(r.stat()) }
		s.raw(0, 15, create(s.at("/a"), 0), asString, stat)
		s.raw(0, 15, create(s.at("/a-"), 3), asString, stat)
		s.raw(0, 15, create(s.at("/a"), 0))
	}},
	{"handshakes that say less or more", func(s *script) {
		hello := packet{}.int32(0).int64(0).int32(4000).int64(0).string(string(make([]byte, 16)))
		for _, h := range []packet{hello, append(slices.Clone(hello), 0), append(slices.Clone(hello), 1), append(slices.Clone(hello), 0, 1, 2), hello[:20], {}} {
			nc, err := s.dial("tcp", s.addr, time.Second)
			require.NoError(s.t, err)
			w := &wire{nc: nc}
			w.write(s.t, h)
			answer, err := w.read()
			s.note("%d bytes, hung up: %t", len(answer), err != nil)
			nc.Close()
		}
	}},
	{"null data is not empty data", func(s *script) {
		s.raw(0, 1, packet{}.string(s.at("/null")).int32(-1).openACL().int32(0))
		s.raw(0, 4, packet{}.string(s.at("/null")).byte(0), asInt)
		s.raw(0, 1, create(s.at("/empty"), 0))
		s.raw(0, 4, packet{}.string(s.at("/empty")).byte(0), asInt)
	}},
	{"an operation nobody knows is refused and hung up on", func(s *script) {
		s.raw(0, 77, nil)
		s.frame(0, "afterwards")
	}},
	{"a body that is cut short is refused", func(s *script) {
		for _, op := range []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 19, 21, 22, 101, 103, 104, 105, 106} {
			s.raw(0, op, packet{}.int32(100))
		}
		s.raw(0, 11, nil)
		s.raw(1, 13, packet{}.int32(100)) // which may end the connection
	}},
	{"a null path is refused", func(s *script) {
		null := func(rest packet) packet { return append(packet{}.int32(-1), rest...) }
		for _, op := range []int32{1, 15, 19} {
			s.raw(0, op, null(packet{}.string("").openACL().int32(0)))
		}
		s.raw(0, 21, null(packet{}.string("").openACL().int32(5).int64(1000)))
		s.raw(0, 5, null(packet{}.string("").int32(-1)))
		s.raw(0, 7, null(packet{}.openACL().int32(-1)))
		for _, op := range []int32{2, 17, 18} {
			s.raw(0, op, null(packet{}.int32(1)))
		}
		for _, op := range []int32{3, 4, 8, 12} {
			s.raw(0, op, null(packet{}.byte(0)))
		}
		for _, op := range []int32{6, 104} {
			s.raw(0, op, null(nil))
		}
		s.raw(1, 13, null(packet{}.int32(1)))
	}},
	{"reconfiguration is off", func(s *script) {
		s.raw(0, 16, packet{}.string("").string("").string("").int64(-1))
	}},
	{"a frame beyond the limit is hung up on", func(s *script) {
		s.create("/a", 0)
		s.wire(0).nc.Write(packet{}.int32(0xfffff + 1))
		s.frame(0, "too long")
		s.wire(1).nc.Write(packet{}.int32(-5))
		s.frame(1, "negative")
		big := strings.Repeat("x", 0xfffff-200)
		s.raw(2, 5, packet{}.string(s.at("/a")).string(big).int32(-1))
		s.exists("/a")
	}},
	{"a session's own nodes can be listed", func(s *script) {
		s.raw(0, 1, create(s.at("/e"), 1))
		s.raw(0, 1, create(s.at("/p"), 0))
		list := func(r *reply) string { return asInt(r) + " " + asString(r) }
		s.raw(0, 103, packet{}.string(s.root), list)
		for _, prefix := range []string{"/absent", "", " ", "\x00\t\x1f", "\u00a0", "/", " / ", "//", "e", " " + s.root, s.root + " "} {
			s.note("prefix %q", prefix)
			s.raw(0, 103, packet{}.string(prefix), asInt)
		}
		s.raw(0, 103, packet{}.int32(-1), asInt)
	}},
	{"descendants can be counted", func(s *script) {
		s.create("/a", 0)
		s.create("/a/b", 0)
		s.create("/ab", 0)
		s.raw(0, 104, packet{}.string(s.at("/a")), asInt)
		s.raw(0, 104, packet{}.string(s.root), asInt)
		s.raw(0, 104, packet{}.string(s.at("/absent")))
	}},
	{"requests sent in one go are answered in order", func(s *script) {
		w := s.wire(0)
		w.send(s.t, 1, create(s.at("/a"), 0))
		w.send(s.t, 3, packet{}.string(s.at("/a")).byte(0))
		w.send(s.t, 9, packet{}.string("/"))
		w.write(s.t, packet{}.int32(4).int32(opPing))
		w.send(s.t, 2, packet{}.string(s.at("/a")).int32(-1))
		w.send(s.t, 3, packet{}.string(s.at("/a")).byte(0))
		for _, what := range []string{"create", "exists", "sync", "ping", "delete", "exists"} {
			r := s.frame(0, what)
			s.note("xid %d", r.xid)
		}
	}},
}
