package zktest_test

import (
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func (s *script) getW(n int, path string) <-chan zk.Event {
	_, _, events, err := s.zk(n).GetW(s.at(path))
	require.NoError(s.t, err)
	return events
}

func (s *script) existsW(n int, path string) <-chan zk.Event {
	_, _, events, err := s.zk(n).ExistsW(s.at(path))
	require.NoError(s.t, err)
	return events
}

func (s *script) childrenW(n int, path string) <-chan zk.Event {
	_, _, events, err := s.zk(n).ChildrenW(s.at(path))
	require.NoError(s.t, err)
	return events
}

// watching is the body of a read that leaves a watch.
func (s *script) watching(path string) packet { return packet{}.string(s.at(path)).byte(1) }

// eventBody shows an event's type, state and path.
func eventBody(r *reply) string { return asInt(r) + " " + asInt(r) + " " + asString(r) }

var watchCases = []conformanceCase{
	{"a data watch fires once, on a change", func(s *script) {
		s.create("/a", 0)
		w := s.getW(1, "/a")
		s.create("/a/kid", 0)
		s.quiet(1, "for a child", w)
		s.setACL("/a", open, -1)
		s.quiet(1, "for an ACL", w)
		s.set("/a", "x", -1)
		s.event("changed", w)
		w = s.getW(1, "/a")
		s.delete("/a/kid", -1)
		s.delete("/a", -1)
		s.event("deleted", w)
	}},
	{"an exist watch waits for a node to come", func(s *script) {
		w := s.existsW(1, "/a")
		s.create("/a", 0)
		s.event("created", w)
		w = s.existsW(1, "/a")
		s.set("/a", "", -1)
		s.event("changed", w)
		w = s.existsW(1, "/a")
		s.delete("/a", -1)
		s.event("deleted", w)
	}},
	{"a child watch fires for children and for the node's own end", func(s *script) {
		s.create("/a", 0)
		w := s.childrenW(1, "/a")
		s.set("/a", "x", -1)
		s.quiet(1, "for data", w)
		s.create("/a/b", 0)
		s.event("created", w)
		w = s.childrenW(1, "/a")
		s.set("/a/b", "x", -1)
		s.create("/a/b/c", 0)
		s.delete("/a/b/c", -1)
		s.quiet(1, "for grandchildren", w)
		s.delete("/a/b", -1)
		s.event("deleted", w)
		w = s.childrenW(1, "/a")
		s.delete("/a", -1)
		s.event("own end", w)
	}},
	{"one connection learns of one deletion once", func(s *script) {
		s.create("/a", 0)
		s.raw(0, 4, s.watching("/a"))
		s.raw(0, 3, s.watching("/a"))
		s.raw(0, 8, s.watching("/a"))
		s.raw(0, 8, s.watching(""))
		s.delete("/a", -1)
		s.frame(0, "first", eventBody)
		s.frame(0, "second", eventBody)
		s.raw(0, 11, nil)
	}},
	{"an event comes before a read that shows it", func(s *script) {
		s.create("/a", 0)
		s.raw(0, 4, s.watching("/a"))
		s.wire(0).send(s.t, 5, packet{}.string(s.at("/a")).string("x").int32(-1))
		s.wire(0).send(s.t, 4, s.watching("/a"))
		s.frame(0, "event", eventBody)
		s.frame(0, "own write")
		s.frame(0, "read")
	}},
	{"the end of a session fires watches", func(s *script) {
		s.createBy(2, "/e", "", zk.FlagEphemeral, open)
		data, kids := s.getW(1, "/e"), s.childrenW(1, "")
		s.zk(2).Close()
		s.conns[2] = nil
		s.event("ephemeral", data)
		s.event("its parent", kids)
		s.exists("")
	}},
	{"a failed multi fires nothing, one that works fires for each part", func(s *script) {
		s.create("/a", 0)
		w, gone := s.getW(1, "/a"), s.existsW(1, "/b")
		s.multi(s.opSet("/a", "x", -1), s.opCreate("/b", 0), s.opCheck("/absent", 0))
		s.quiet(1, "data", w)
		s.multi(s.opCreate("/b", 0), s.opSet("/a", "x", -1))
		s.event("data", w)
		s.event("created", gone)
	}},
	{"watches put back fire for what was missed", func(s *script) {
		for _, path := range []string{"/changed", "/deleted", "/same", "/kids", "/kidless", "/gone"} {
			s.create(path, 0)
		}
		before := s.raw(0, 9, packet{}.string("/"))
		s.set("/changed", "x", -1)
		s.delete("/deleted", -1)
		s.create("/kids/a", 0)
		s.create("/new", 0)
		s.delete("/gone", -1)
		for _, lists := range [][3][]string{
			{{"/changed"}, {}, {}},
			{{"/deleted"}, {}, {}},
			{{"/same"}, {}, {}},
			{{}, {"/new"}, {}},
			{{}, {"/deleted"}, {}},
			{{}, {}, {"/kids"}},
			{{}, {}, {"/kidless"}},
			{{}, {}, {"/gone"}},
		} {
			s.note("%v", lists)
			body := packet{}.int64(before.zxid)
			for _, list := range lists {
				for i := range list {
					list[i] = s.at(list[i])
				}
				body = body.strings(list...)
			}
			w := dialWire(s.t, s.dial, s.addr, sessionTimeout, nil)
			s.wires = append(s.wires, w)
			n := len(s.wires) - 1
			if r := s.raw(n, 101, body, eventBody); r.xid == -1 {
				s.frame(n, "reply")
			}
			s.raw(n, 11, nil)
		}
	}},
	{"watches put back fire in the order of the client's lists", func(s *script) {
		var paths []string
		for _, path := range []string{"/c", "/a", "/d", "/b"} {
			s.create(path, 0)
			s.set(path, "x", -1)
			s.create(path+"/kid", 0)
			paths = append(paths, s.at(path))
		}
		s.raw(0, 101, packet{}.int64(0).strings(paths...).strings(paths...).strings(paths...), eventBody)
		for range 3 * len(paths) {
			s.frame(0, "next", eventBody)
		}
	}},
	{"watches put back that missed nothing are armed", func(s *script) {
		s.create("/a", 0)
		now := s.raw(0, 9, packet{}.string("/")).zxid
		s.raw(0, 101, packet{}.int64(now).strings(s.at("/a")).strings(s.at("/b")).strings(s.at("/a")))
		s.create("/b", 0)
		s.frame(0, "created", eventBody)
		s.create("/a/kid", 0)
		s.frame(0, "child", eventBody)
		s.set("/a", "", -1)
		s.frame(0, "data", eventBody)
	}},
	{"watches put back on the empty path are the root's", func(s *script) {
		for i := range 3 {
			var lists [3][]string
			lists[i] = []string{""}
			body := packet{}.int64(0).strings(lists[0]...).strings(lists[1]...).strings(lists[2]...)
			if r := s.raw(0, 101, body, eventBody); r.xid == -1 {
				s.frame(0, "reply")
			}
		}
	}},
	{"a persistent watch stays, a recursive one looks below", func(s *script) {
		s.create("/p", 0)
		s.create("/r", 0)
		s.raw(0, 106, packet{}.string(s.at("/p")).int32(0), asInt)
		s.raw(1, 106, packet{}.string(s.at("/r")).int32(1), asInt)
		s.raw(0, 106, packet{}.string(s.at("/p")).int32(7))
		s.set("/p", "1", -1)
		s.frame(0, "data", eventBody)
		s.set("/p", "2", -1)
		s.frame(0, "data again", eventBody)
		s.create("/p/a", 0)
		s.frame(0, "child", eventBody)
		s.delete("/p/a", -1)
		s.frame(0, "child again", eventBody)
		s.create("/r/a", 0)
		s.frame(1, "created", eventBody)
		s.create("/r/a/b", 0)
		s.frame(1, "created below", eventBody)
		s.set("/r/a/b", "", -1)
		s.frame(1, "changed below", eventBody)
		s.delete("/r/a/b", -1)
		s.frame(1, "deleted below", eventBody)
		s.delete("/r/a", -1)
		s.frame(1, "deleted", eventBody)
		s.delete("/r", -1)
		s.frame(1, "own end", eventBody)
		s.create("/r", 0)
		s.frame(1, "own return", eventBody)
	}},
	{"a watch can be taken back", func(s *script) {
		s.create("/a", 0)
		for _, kind := range []int32{1, 2, 3, 4} {
			s.note("kind %d", kind)
			s.raw(0, 18, packet{}.string(s.at("/a")).int32(kind))
			s.raw(0, 4, s.watching("/a"))
			s.raw(0, 17, packet{}.string(s.at("/a")).int32(kind))
			s.raw(0, 18, packet{}.string(s.at("/a")).int32(kind))
			s.raw(0, 8, s.watching("/a"))
			s.raw(0, 17, packet{}.string(s.at("/a")).int32(kind))
			s.raw(0, 18, packet{}.string(s.at("/a")).int32(kind))
		}
		s.raw(0, 18, packet{}.string(s.at("/a")).int32(3))
		s.set("/a", "", -1)
		s.raw(0, 11, nil)
	}},
	{"a check for watches finds those of others", func(s *script) {
		s.create("/a", 0)
		s.raw(0, 4, s.watching("/a"))
		for _, kind := range []int32{1, 2, 3, 4} {
			for _, op := range []int32{17, 18} {
				s.raw(1, op, packet{}.string(s.at("/a")).int32(kind))
			}
		}
	}},
	{"a check for watches needs a path with a slash", func(s *script) {
		for _, kind := range []int32{1, 2, 3, 4} {
			for _, op := range []int32{17, 18} {
				s.raw(0, op, packet{}.string("relative").int32(kind))
			}
		}
	}},
	{"a multi's events come in the order of its operations", func(s *script) {
		s.create("/a", 0)
		s.create("/b", 0)
		s.raw(0, 3, s.watching("/a/kid"))
		s.raw(0, 8, s.watching("/a"))
		s.raw(0, 4, s.watching("/a"))
		s.raw(0, 4, s.watching("/b"))
		s.raw(0, 8, s.watching("/b"))
		s.multi(s.opSet("/a", "x", -1), s.opCreate("/a/kid", 0), s.opDelete("/a/kid", -1), s.opDelete("/b", -1), s.opCreate("/b", 0))
		for range 4 {
			s.frame(0, "event", eventBody)
		}
	}},
	{"a client that may not read a node is not told of it, and its watch is used up", func(s *script) {
		secret := zk.WorldACL(zk.PermAll &^ zk.PermRead)
		created := s.existsW(1, "/a")
		s.createBy(0, "/a", "", 0, secret)
		s.quiet(1, "created", created)
		s.setACL("/a", open, -1)
		s.set("/a", "x", -1)
		s.quiet(1, "changed", created)
		kids, gone := s.childrenW(1, "/a"), s.getW(1, "/a")
		s.setACL("/a", secret, -1)
		s.create("/a/kid", 0)
		s.quiet(1, "child", kids)
		s.delete("/a/kid", -1)
		s.delete("/a", -1)
		s.quiet(1, "deleted", gone)
	}},
}
