package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// resume opens raw session n again on a new connection, as it is or changed a little.
func (s *script) resume(n int, change func(*wire)) *wire {
	old := *s.wire(n)
	if change != nil {
		change(&old)
	}
	w := dialWire(s.t, s.dial, s.addr, sessionTimeout, &old)
	s.wires = append(s.wires, w)
	s.note("resumed: same id %t, same password %t, timeout %v, id zero %t",
		w.session == old.session, string(w.password) == string(old.password), w.timeout, w.session == 0)
	return w
}

var sessionCases = []conformanceCase{
	{"timeouts are fitted between 2 and 20 ticks", func(s *script) {
		for _, ask := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, 3 * time.Second, time.Hour, -time.Second} {
			w := dialWire(s.t, s.dial, s.addr, ask, nil)
			s.note("asked %v got %v", ask, w.timeout)
			w.nc.Close()
		}
	}},
	{"a session goes over to a new connection", func(s *script) {
		s.raw(0, 1, create(s.at("/e"), 1))
		w := s.resume(0, nil)
		s.frame(0, "old connection")
		s.note("%d", w.call(s.t, 3, packet{}.string(s.at("/e")).byte(0)).code)
	}},
	{"a session cannot be taken over with a wrong password", func(s *script) {
		s.raw(0, 1, create(s.at("/e"), 1))
		s.resume(0, func(w *wire) { w.password = make([]byte, 16) })
		s.frame(1, "refused connection")
		s.frame(0, "old connection")
		s.exists("/e")
		s.resume(0, nil)
	}},
	{"a session that never was is refused", func(s *script) {
		s.resume(0, func(w *wire) { w.session = 4711 })
		s.frame(1, "refused connection")
	}},
	{"closing a session deletes its nodes and hangs up", func(s *script) {
		s.raw(0, 1, create(s.at("/e"), 1))
		s.raw(0, 1, create(s.at("/p"), 0))
		s.raw(0, -11, nil)
		s.frame(0, "afterwards")
		s.children("")
		s.resume(0, nil)
	}},
	{"a silent session ends and its nodes go", func(s *script) {
		s.raw(1, 106, packet{}.string(s.at("/e")).int32(0), asInt) // so that only one request has to come before the end
		s.wires[0] = dialWire(s.t, s.dial, s.addr, time.Second, nil)
		s.raw(0, 1, create(s.at("/e"), 1))
		s.frame(1, "created", eventBody)
		s.frame(1, "expired", eventBody)
		s.frame(0, "hung up")
		s.resume(0, nil)
	}},
	{"the nodes of a session go in one transaction", func(s *script) {
		for i := range 5 {
			s.createBy(2, fmt.Sprintf("/e%d", i), "", zk.FlagEphemeral, open)
		}
		kids := s.childrenW(1, "")
		s.zk(2).Close()
		s.conns[2] = nil
		s.event("gone", kids)
		s.children("")
	}},
	{"a client that has seen the future is turned away", func(s *script) {
		nc, err := s.dial("tcp", s.addr, time.Second)
		require.NoError(s.t, err)
		w := &wire{nc: nc}
		s.wires = append(s.wires, w)
		w.write(s.t, packet{}.int32(0).int64(1<<60).int32(4000).int64(0).string(string(make([]byte, 16))))
		s.frame(0, "answer")
	}},
	{"every decided request takes a zxid, even one that fails", func(s *script) {
		s.zk(0).Close()
		s.conns[0] = nil
		zxid := func(op int32, body packet) int64 { return s.wire(0).call(s.t, op, body).zxid }
		for _, failing := range []func() int64{
			func() int64 { return zxid(1, create(s.at("/absent/a"), 0)) },
			func() int64 { return zxid(2, packet{}.string(s.at("/absent")).int32(0)) },
			func() int64 { return zxid(14, rawMulti(13, packet{}.string(s.at("/absent")).int32(0))) },
			func() int64 { return zxid(14, rawMulti()) },
			func() int64 { return zxid(1, create("nonsense", 0)) },
			func() int64 { return zxid(1, create(s.at("/f"), 9)) },
			func() int64 { return zxid(1, packet{}.int32(100)) },
			func() int64 { return zxid(14, packet{}.int32(100)) },
			func() int64 { return zxid(14, rawMulti(1, create(s.at("/f"), 5))) },
			func() int64 { return zxid(16, packet{}.string("").string("").string("").int64(-1)) },
		} {
			advances := true
			for range 20 { // cases run side by side, so a zxid in between may be another's
				before := zxid(11, nil)
				advances = failing() > before && advances
			}
			s.note("advances: %t", advances)
		}
	}},
}
