package zktest_test

import (
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

var nodeCases = []conformanceCase{
	{"a node is created, read, changed and deleted", func(s *script) {
		s.create("/a", 0)
		s.get("/a")
		s.set("/a", "xyz", 0)
		s.get("/a")
		s.set("/a", "", 0)
		s.set("/a", "", 1)
		s.set("/a", "", -1)
		s.exists("/a")
		s.delete("/a", 0)
		s.delete("/a", 3)
		s.exists("/a")
		s.delete("/a", -1)
		s.get("/a")
		s.set("/a", "", -1)
	}},
	{"a parent counts its children's comings and goings", func(s *script) {
		s.create("/p", 0)
		s.exists("/p")
		s.create("/p/a", 0)
		s.exists("/p")
		s.create("/p/b", 0)
		s.delete("/p/a", -1)
		s.exists("/p")
		s.set("/p/b", "x", -1)
		s.exists("/p")
		s.children("/p")
		s.delete("/p", -1)
		s.children("/p/b")
		s.children("/absent")
	}},
	{"a node cannot be created twice, nor without a parent", func(s *script) {
		s.create("/a", 0)
		s.create("/a", 0)
		s.create("/a", zk.FlagEphemeral)
		s.create("/b/c", 0)
		s.create("/b/c", zk.FlagSequence)
	}},
	{"an ephemeral node has an owner and no children", func(s *script) {
		s.create("/e", zk.FlagEphemeral)
		s.exists("/e")
		s.create("/e/a", 0)
		s.create("/e/a", zk.FlagSequence)
		s.createBy(1, "/f", "", zk.FlagEphemeral|zk.FlagSequence, open)
		s.children("")
		s.get("/f0000000001")
	}},
	{"sequence numbers count the parent's creations", func(s *script) {
		s.create("/p", 0)
		s.create("/p/a-", zk.FlagSequence)
		s.create("/p/b", 0)
		s.create("/p/a-", zk.FlagSequence|zk.FlagEphemeral)
		s.delete("/p/b", -1)
		s.create("/p/", zk.FlagSequence)
		s.create("/p/a-0000000004", 0)
		s.create("/p/a-", zk.FlagSequence)
		s.create("/p/a-", zk.FlagSequence)
		s.children("/p")
	}},
	{"a name already taken by hand stops a sequence", func(s *script) {
		s.create("/p", 0)
		s.create("/p/a-0000000001", 0)
		s.create("/p/a-", zk.FlagSequence)
		s.create("/p/a-", zk.FlagSequence)
	}},
	{"a container is reaped once it is empty again", func(s *script) {
		s.container("/c")
		s.container("/never-used")
		s.exists("/c")
		s.create("/c/a", 0)
		s.exists("/c")
		_, _, gone, err := s.zk(0).ExistsW(s.at("/c"))
		require.NoError(s.t, err)
		s.delete("/c/a", -1)
		s.event("reaped", gone)
		s.exists("/c")
		s.exists("/never-used")
		s.exists("")
	}},
	{"a container that a multi has made is reaped, too", func(s *script) {
		s.create("/p", 0)
		s.raw(0, 14, rawMulti(1, create(s.at("/p/c"), zk.FlagContainer), 1, create(s.at("/p/c/a"), 0)))
		gone := s.existsW(0, "/p/c")
		s.delete("/p/c/a", -1)
		s.event("reaped", gone)
		s.exists("/p")
	}},
	{"a node with a TTL goes when nobody has touched it", func(s *script) {
		path, err := s.zk(0).CreateTTL(s.at("/t"), []byte("x"), zk.FlagTTL, open, 50*time.Millisecond)
		s.note("createTTL %s %v", path, err)
		s.exists("/t")
		path, err = s.zk(0).CreateTTL(s.at("/s-"), nil, zk.FlagPersistentSequentialWithTTL, open, time.Hour)
		s.note("createTTL %s %v", path, err)
		for found := true; found; {
			found, _, err = s.zk(0).Exists(s.at("/t"))
			require.NoError(s.t, err)
		}
		s.children("")
		_, err = s.zk(0).CreateTTL(s.at("/u"), nil, zk.FlagTTL, open, 0)
		s.note("createTTL without a time: %v", err)
		_, err = s.zk(0).CreateTTL(s.at("/u"), nil, zk.FlagTTL, open, -time.Second)
		s.note("createTTL of a time past: %v", err)
		_, err = s.zk(0).CreateTTL(s.at("/u"), nil, zk.FlagTTL, open, 1<<41*time.Millisecond)
		s.note("createTTL of an age: %v", err)
	}},
	{"the last zxid of a parent follows its children", func(s *script) {
		s.create("/p", 0)
		s.exists("/p")
		s.create("/p/a", 0)
		s.set("/p/a", "1", -1)
		s.exists("/p")
		s.delete("/p/a", -1)
		s.exists("/p")
		s.set("/p", "1", -1)
		s.exists("/p")
	}},
	{"a sync answers with its path", func(s *script) {
		s.sync("/absent")
		s.sync("")
	}},
}
