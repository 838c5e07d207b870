package zktest_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
)

func (s *script) opCreate(path string, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: s.at(path), Acl: open, Flags: flags}
}

func (s *script) opDelete(path string, version int32) *zk.DeleteRequest {
	return &zk.DeleteRequest{Path: s.at(path), Version: version}
}

func (s *script) opSet(path, data string, version int32) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: s.at(path), Data: []byte(data), Version: version}
}

func (s *script) opCheck(path string, version int32) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: s.at(path), Version: version}
}

// rawMulti is a multi of operations that go-zookeeper does not know; each is its number and its body.
func rawMulti(ops ...any) packet {
	var p packet
	for i := 0; i < len(ops); i += 2 {
		p = append(p.int32(int32(ops[i].(int))).byte(0).int32(-1), ops[i+1].(packet)...)
	}
	return p.int32(-1).byte(1).int32(-1)
}

// header is what stands ahead of each result of a multi.
func header(r *reply) string {
	op := asInt(r)
	r.body = r.body[1:]
	return op + "/" + asInt(r)
}

// created is the result of a create in a multi.
func created(r *reply) string {
	op := header(r)
	switch op {
	case "1/0":
		return op + " " + asString(r)
	case "15/0":
		return op + " " + asString(r) + " " + statLine(r.stat())
	}
	return op + " " + asInt(r)
}

var multiCases = []conformanceCase{
	{"a multi is one transaction", func(s *script) {
		s.multi(s.opCreate("/a", 0), s.opCreate("/a/b", 0), s.opSet("/a", "x", 0), s.opCheck("/a", 1), s.opCreate("/c", 1))
		s.exists("/a")
		s.exists("/a/b")
		s.exists("/c")
		s.multi(s.opDelete("/a/b", 0), s.opDelete("/a", 1), s.opCreate("/a", 0))
		s.exists("/a")
		s.exists("")
	}},
	{"a path is made by a multi only if each node's own list lets the next be made, and read", func(s *script) {
		lists := map[string][]zk.ACL{
			"open": open, "no create": zk.WorldACL(zk.PermAll &^ zk.PermCreate), "no read": zk.WorldACL(zk.PermAll &^ zk.PermRead),
			"another's": zk.DigestACL(zk.PermAll, "ann", "ann"), "auth without": zk.AuthACL(zk.PermAll), "no digest": {{Perms: zk.PermAll, Scheme: "digest", ID: "ann"}},
		}
		s.create("/ephemeral", zk.FlagEphemeral)
		s.createBy(0, "/closed", "", 0, lists["no create"])
		for _, above := range []string{"", "/absent", "/ephemeral", "/closed"} {
			for _, list := range slices.Sorted(maps.Keys(lists)) {
				s.note("%s in %s", list, above)
				top, node := s.opCreate(above+"/c", zk.FlagContainer), s.opCreate(above+"/c/d/x-", zk.FlagEphemeralSequential)
				next := s.opCreate(above+"/c/d", zk.FlagContainer)
				next.Acl = lists[list]
				s.multi(top, next, node, node, s.opCheck(above+"/c/d", -1))
				s.exists(above + "/c/d")
				s.children(above)
			}
		}
		s.children("/c/d")
	}},
	{"a multi that fails changes nothing and says where", func(s *script) {
		s.create("/a", 0)
		s.multi(s.opCreate("/b", 0), s.opCheck("/a", 0), s.opDelete("/a", 7), s.opCreate("/c", 0), s.opDelete("/absent", 0))
		s.multi(s.opCheck("/absent", -1))
		s.multi(s.opCreate("/a", 0))
		s.multi(s.opCreate("/b", 0), s.opCreate("/b", 0))
		s.multi(s.opDelete("/a", 0), s.opSet("/a", "", 0))
		s.children("")
		s.exists("/a")
		s.exists("")
	}},
	{"sequences count inside a multi and start again when it fails", func(s *script) {
		s.create("/p", 0)
		s.multi(s.opCreate("/p/a-", 2), s.opCreate("/p/a-", 2), s.opDelete("/p/a-0000000000", 0), s.opCreate("/p/a-", 3))
		s.multi(s.opCreate("/p/a-", 2), s.opCreate("/p/a-", 2), s.opCheck("/absent", 0))
		s.create("/p/a-", 2)
		s.children("/p")
	}},
	{"a parent deleted and made again starts its counter afresh", func(s *script) {
		s.create("/p", 0)
		s.create("/p/a-", 2)
		s.multi(s.opDelete("/p/a-0000000000", -1), s.opDelete("/p", -1), s.opCreate("/p", 0), s.opCreate("/p/a-", 2))
		s.exists("/p")
	}},
	{"a multi of nothing succeeds", func(s *script) { s.multi() }},
	{"a multi makes every kind of node", func(s *script) {
		s.raw(0, 14, rawMulti(15, create(s.at("/a"), 0), 19, create(s.at("/c"), 4),
			21, create(s.at("/t"), 5).int64(3600000)), created, created, created, header)
		s.children("")
	}},
	{"a create in a multi is what its flags say, whatever its number", func(s *script) {
		for flags := int32(-1); flags <= 7; flags++ {
			try := func(number int, name string, ttl packet) {
				s.note("create %d, flags %d, ttl %q", number, flags, ttl)
				body := append(create(s.at(fmt.Sprintf("/%d-%d%s", number, flags, name)), flags), ttl...)
				s.raw(0, 14, rawMulti(number, body), created, header)
			}
			try(1, "", nil)
			try(15, "", nil)
			try(19, "", nil)
			for _, ttl := range []int64{-1, 0, 3600000} {
				try(21, fmt.Sprintf("-%d", ttl), packet{}.int64(ttl))
			}
		}
		s.children("")
	}},
	{"a multi that cannot be decided fails as a whole, if it gets there", func(s *script) {
		ttl := create(s.at("/t"), 5) // needs its own number
		s.multi(s.opCreate("/a", 0))
		s.raw(0, 14, rawMulti(1, create(s.at("/b"), 0), 1, ttl))
		s.raw(0, 14, rawMulti(1, create(s.at("/a"), 0), 1, ttl), header, asInt, header, asInt, header)
		s.children("")
	}},
	{"a multi of something else is refused", func(s *script) {
		s.raw(0, 14, rawMulti(3, packet{}.string("/").byte(0)))
		s.raw(0, 11, nil)
	}},
	{"reads in one request fail one by one", func(s *script) {
		s.createBy(0, "/a", "data", 0, open)
		stat := func(r *reply) string { return statLine(r.stat()) }
		list := func(r *reply) string { r.int32(); return asString(r) }
		s.raw(0, 22, rawMulti(4, packet{}.string(s.at("/a")).byte(0), 8, packet{}.string(s.root).byte(0),
			4, packet{}.string("/absent").byte(0)),
			header, asString, stat, header, list, header, asInt, header)
	}},
	{"reads in one request leave no watch", func(s *script) {
		s.create("/a", 0)
		s.raw(0, 22, rawMulti(4, s.watching("/a"), 8, s.watching("/a")))
		s.set("/a", "x", -1)
		s.create("/a/kid", 0)
		s.raw(0, 9, packet{}.string("/"))
	}},
	{"every operation of a multi needs its permission", func(s *script) {
		s.createBy(0, "/read", "", 0, zk.WorldACL(zk.PermRead|zk.PermAdmin))
		s.createBy(0, "/unread", "", 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		s.create("/a", 0)
		s.create("/e", zk.FlagEphemeral)
		for _, op := range []any{
			s.opCheck("/unread", -1), s.opSet("/read", "", -1), s.opCreate("/read/kid", 0), s.opDelete("/read/kid", -1),
			s.opCreate("/e/kid", 0), &zk.CreateRequest{Path: s.at("/b")}, s.opCreate("/b", 9), s.opCreate("/b//c", 0),
		} {
			s.multi(s.opSet("/a", "x", -1), op, s.opDelete("/a", -1))
		}
		s.children("")
	}},
	{"a check on its own that fails says why, if it is known", func(s *script) {
		s.create("/a", 0)
		s.raw(0, 13, packet{}.string(s.at("/a")).int32(1))
		s.raw(1, 13, packet{}.string(s.at("/absent")).int32(1))
	}},
}

// checkCase is for servers before 3.9, which hang up on it at once since then.
var checkCase = conformanceCase{"a check on its own that succeeds has no answer, and what follows it has", func(s *script) {
	s.create("/a", 0)
	before := s.raw(0, 11, nil).zxid
	w := s.wire(0)
	w.send(s.t, 13, packet{}.string(s.at("/a")).int32(0))
	xid := w.send(s.t, 3, packet{}.string(s.at("/a")).byte(0))
	r := s.frame(0, "exists behind a check")
	s.note("its answer: %t, advances: %t", r.xid == xid, r.zxid > before)
	s.raw(0, 2, packet{}.string(s.at("/a")).int32(0))
}}
