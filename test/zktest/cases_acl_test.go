package zktest_test

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

func (s *script) auth(n int, scheme, credentials string) {
	s.note("auth %s: %v", scheme, s.zk(n).AddAuth(scheme, []byte(credentials)))
}

var aclCases = []conformanceCase{
	{"permissions are asked for one by one", func(s *script) {
		digest := zk.DigestACL(zk.PermAll, "user", "secret")
		for _, perm := range []int32{zk.PermRead, zk.PermWrite, zk.PermCreate, zk.PermDelete, zk.PermAdmin, 0} {
			s.auth(0, "digest", "user:secret")
			s.createBy(0, "/n", "", 0, append(zk.WorldACL(perm), digest...))
			s.createBy(0, "/n/kid", "", 0, open)
			s.note("perm %d", perm)
			s.getBy(1, "/n")
			s.setBy(1, "/n", "x", -1)
			s.childrenBy(1, "/n")
			s.createBy(1, "/n/new", "", 0, open)
			s.deleteBy(1, "/n/kid", -1)
			s.getACLBy(1, "/n")
			s.setACLBy(1, "/n", append(zk.WorldACL(perm), digest...), -1)
			s.delete("/n/kid", -1)
			s.delete("/n/new", -1)
			s.delete("/n", -1)
		}
	}},
	{"auth stands for who the client is", func(s *script) {
		me := zk.AuthACL(zk.PermAll)
		s.createBy(0, "/nobody", "", 0, me)
		s.auth(0, "digest", "user:secret")
		s.createBy(0, "/a", "", 0, me)
		s.getACL("/a")
		s.getACLBy(1, "/a")
		s.getBy(1, "/a")
		s.auth(1, "digest", "user:other")
		s.getBy(1, "/a")
		s.auth(1, "digest", "user:secret")
		s.getBy(1, "/a")
		s.auth(0, "digest", "second:secret")
		s.setACL("/a", me, 1)
		s.setACL("/a", me, 0)
		s.getACL("/a")
	}},
	{"an ACL that says nothing or nonsense is refused", func(s *script) {
		for _, acl := range [][]zk.ACL{
			{},
			{{Perms: 31, Scheme: "world", ID: "nobody"}},
			{{Perms: 31, Scheme: "nonsense", ID: "x"}},
			{{Perms: 31, Scheme: "digest", ID: "nocolon"}},
			{{Perms: 31, Scheme: "digest", ID: "two:colons:here"}},
			{{Perms: 31, Scheme: "digest", ID: "trailing:"}},
			{{Perms: 31, Scheme: "digest", ID: "trailing:x:"}},
			{{Perms: 31, Scheme: "ip", ID: "127.0.0.1"}},
			{{Perms: 31, Scheme: "ip", ID: "127.0.0.0/8"}},
			{{Perms: 31, Scheme: "ip", ID: "nonsense"}},
			{{Perms: 31, Scheme: "", ID: ""}},
			{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 31, Scheme: "world", ID: "anyone"}},
			{{Perms: 1, Scheme: "world", ID: "anyone"}, {Perms: 31, Scheme: "world", ID: "anyone"}},
			{{Perms: 31, Scheme: "super", ID: "x:y"}},
		} {
			s.note("%v", acl)
			s.createBy(0, "/a", "", 0, acl)
			s.getACL("/a")
			s.delete("/a", -1)
			s.create("/b", 0)
			s.setACL("/b", acl, -1)
			s.get("/b")
			s.setACL("/b", open, -1)
			s.delete("/b", -1)
		}
	}},
	{"a scheme nobody knows ends the connection", func(s *script) {
		s.raw(0, 100, packet{}.int32(0).string("nonsense").string("x"))
		s.frame(0, "afterwards")
	}},
	{"an ID is held against what its scheme knows", func(s *script) {
		named := func(perms int32, scheme string, ids ...string) {
			for _, id := range ids {
				s.note("%q %q %d", scheme, id, perms)
				s.createBy(0, "/a", "", 0, []zk.ACL{{Perms: perms, Scheme: scheme, ID: id}})
				s.getACL("/a")
				s.delete("/a", -1)
			}
		}
		named(31, "ip", "", "a", "127.0.0.1", "127.0.0.0", "127.0.0.1/32", "127.0.0.1/33", "127.0.0.1/-1", "127.0.0.1/", "127.0.0.1/a", "127.0.0/8", "1.2.3.4.5",
			"127.0.0.1/8/9", "127.0.0.256", "127.0.0.-1", "127.0.0.1.", "127.0.0.a", " 127.0.0.1", "127.0.0.1/ 8", "99999999999.0.0.1",
			"01.2.3.4", "127.0.00.+1", "127.-0.0.1", "127.0.0.1/08", "126.1.2.3/+7", "126.1.2.3/8", "127.255.0.0/9", "1.2.3.4/0", "1.2.3.4/-0",
			"::1", "::1/128", "fe80::1%eth0", "1::2::3", "::ffff:127.0.0.1", "::ffff:127.0.0.1/8", "0:0:0:0:0:0:0:1")
		named(31, "digest", "", ":", "::", ":b", "::b", "a::", "a:b", "a b:c")
		for _, scheme := range []string{"WORLD", "auth", "sasl", "x509", "host", "ensemble"} {
			named(31, scheme, "", "anyone")
		}
		for _, perms := range []int32{32, 63, 64, -1, 255} {
			named(perms, "world", "anyone")
		}
	}},
	{"whether a node is there is told to who may read it, or to all", func(s *script) {
		s.createBy(0, "/unread", "", 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		s.exists("/unread")
		s.exists("/unread/absent")
	}},
	{"the address a client comes from is an identity", func(s *script) {
		s.createBy(0, "/here", "", 0, []zk.ACL{{Perms: 31, Scheme: "ip", ID: "127.0.0.0/8"}})
		s.get("/here")
		s.createBy(0, "/there", "", 0, []zk.ACL{{Perms: 31, Scheme: "ip", ID: "10.1.2.3"}})
		s.get("/there")
	}},
	{"the order of checks shows in the error", func(s *script) {
		s.createBy(0, "/locked", "", 0, zk.WorldACL(zk.PermAdmin))
		s.create("/locked/a", 0)
		s.createBy(0, "/absent/a", "", 0, nil)
		s.delete("/locked/a", -1)
		s.set("/locked", "", 9)
		s.setACL("/absent", nil, -1)
		s.setACL("/locked", nil, 9)
		s.create("/e", zk.FlagEphemeral)
		s.createBy(0, "/e/a", "", 0, nil)
		s.create("/e/a/b", 0)
		if !errors.Is(s.zk(0).Delete(s.at("/e"), 3), zk.ErrBadVersion) {
			s.note("no bad version")
		}
	}},
	{"who a client is grows by each identity once", func(s *script) {
		auth := func(credentials string) {
			s.raw(0, 100, packet{}.int32(0).string("digest").string(credentials))
			s.raw(0, 107, nil, asInt)
		}
		auth("user:secret")
		auth("user:secret")
		auth("other:secret")
		s.raw(0, 100, packet{}.int32(0).string("ip").string(""))
		s.raw(0, 107, nil, asInt)
		s.raw(0, 1, packet{}.string(s.at("/a")).string("").int32(1).int32(31).string("auth").string("").int32(0))
		s.raw(0, 6, packet{}.string(s.at("/a")), asInt)
		s.raw(1, 100, packet{}.int32(0).string("digest").int32(-1))
		s.frame(1, "afterwards")
		s.raw(2, 100, nil)
	}},
	{"a client can ask who it is", func(s *script) {
		pair := func(r *reply) string { return asString(r) + ":" + asString(r) }
		s.raw(0, 107, nil, asInt, pair)
		s.raw(0, 100, packet{}.int32(0).string("digest").string("user:secret"))
		s.raw(0, 107, nil, asInt)
	}},
}
