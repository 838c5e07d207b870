package zktest_test

import "fmt"

// badPaths are tried with every operation by a raw client, since go-zookeeper refuses most of them itself.
var badPaths = []string{
	"", "a", "/", "//a", "/a/", "/a//b", "/./a", "/a/.", "/a/./b", "/../a", "/a/..", "/a/../b", "/.a", "/..a", "/a.", "/a..",
	"/...", "/a\x00b", "/\x01", "/a\x1f", "/\x7f", "/\u0085", "/\u00a0", "/\ud7ff", "/\ue000", "/\uf8ff", "/\uf900", "/\uffef",
	"/\ufff0", "/\uffff", "/\U0001f600", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", "/zookeeper/absent",
	"/absent/.", "/absent//a", "/ä",
}

var pathCases = []conformanceCase{
	{"odd paths are refused or not found alike", func(s *script) {
		w := s.wire(0)
		for _, path := range badPaths {
			s.note("%q", path)
			for _, flags := range []int32{0, 2} {
				r := s.raw(0, 1, create(path, flags))
				if r.code == 0 {
					s.raw(0, 2, packet{}.string(r.string()).int32(-1))
				}
			}
			s.note("delete: %d", w.call(s.t, 2, packet{}.string(path).int32(77)).code)
			s.raw(0, 14, rawMulti(13, packet{}.string(path).int32(77)), header, asInt)
			s.note("setData: %d", w.call(s.t, 5, packet{}.string(path).string("").int32(77)).code)
			s.note("setACL: %d", w.call(s.t, 7, packet{}.string(path).openACL().int32(77)).code)
			for _, op := range []int32{3, 4, 8, 12} {
				s.note("read %d: %d", op, w.call(s.t, op, packet{}.string(path).byte(0)).code)
			}
			s.note("getACL: %d", w.call(s.t, 6, packet{}.string(path)).code)
		}
	}},
	{"ZooKeeper's own nodes cannot be deleted", func(s *script) {
		for _, path := range []string{"//", "//zookeeper", "//zookeeper/quota", "//zookeeper/config"} {
			s.delete(path, -1)
			s.delete(path, 5)
		}
		s.getACL("//zookeeper/quota")
		s.getACL("//zookeeper/config")
		s.children("//zookeeper")
	}},
	{"flags that do not exist are refused", func(s *script) {
		for _, flags := range []int32{-1, 4, 5, 6, 7, 100} {
			for _, op := range []int32{1, 15, 19} {
				r := s.raw(0, op, create(s.at(fmt.Sprintf("/f%d-%d", flags, op)), flags))
				if r.code == 0 {
					path := r.string()
					s.note("%s", path)
					s.exists(path[len(s.root):])
				}
			}
			s.raw(0, 21, create(s.at("/ttl"), flags).int64(0))
		}
	}},
}
