package zktest_test

import (
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// TestEnsemblesAnswerAlike plays what only an ensemble can show against both.
func TestEnsemblesAnswerAlike(t *testing.T) {
	theirs, ours := bothEnsembles(t)
	for _, c := range slices.Concat(ensembleCases, outstandingCases) {
		t.Run(c.name, func(t *testing.T) {
			run := func(s *ensembleScript) string {
				c.run(s)
				for _, w := range s.wires {
					w.nc.Close()
				}
				return s.normal()
			}
			assert.Equal(t, run(theirs(t)), run(ours(t)))
		})
	}
}

// bothEnsembles starts three servers of ZooKeeper and three of zktest, and returns what makes a script for each. The
// last of a script's servers leads.
func bothEnsembles(t *testing.T) (theirs, ours func(testing.TB) *ensembleScript) {
	t.Helper()
	const syncLimit = 50 // so that stopped servers stay in
	apache := apachezk.Run(t, func(c *apachezk.Config) {
		c.Servers, c.TickTime, c.SyncLimit = 3, likeApacheTick, syncLimit
		c.JVM = oneAtATime
	})
	leader, err := apache.Leader(t.Context())
	require.NoError(t, err)
	servers := slices.DeleteFunc(slices.Clone(apache.Servers()), func(s *apachezk.Server) bool { return s == leader })
	servers = append(servers, leader)
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
	}
	keepAwake(t, addrs)
	pause := func(n int, paused bool) {
		if paused {
			require.NoError(t, servers[n].Pause())
		} else {
			require.NoError(t, servers[n].Continue())
		}
	}
	double := zktest.NewEnsemble(t, 3, append(like(t, apache), zktest.WithSyncLimit(syncLimit))...)
	pauseDouble := func(n int, paused bool) {
		if paused {
			double.Server(n).Freeze()
		} else {
			double.Server(n).Thaw()
		}
	}
	script := func(addrs []string, pause func(int, bool)) func(testing.TB) *ensembleScript {
		return func(t testing.TB) *ensembleScript {
			return &ensembleScript{script: script{t: t, dial: net.DialTimeout}, addrs: addrs, pause: pause}
		}
	}
	return script(addrs, pause), script(double.Addrs(), pauseDouble)
}

// oneAtATime makes a server handle its clients' frames one after the other. With several threads a handshake that is
// sent when another has begun may overtake it, and the leader answers a handshake before it notes whom the session
// belongs to now.
var oneAtATime = []string{"-Dzookeeper.nio.numSelectorThreads=1", "-Dzookeeper.nio.numWorkerThreads=0"}

type ensembleScript struct {
	script
	addrs []string
	pause func(server int, paused bool)
}

// at opens a raw session at a server, or resumes one there, and returns its number.
func (s *ensembleScript) at(server int, old ...int) int {
	var before *wire
	if len(old) > 0 {
		before = s.wire(old[0])
	}
	w := dialWire(s.t, s.dial, s.addrs[server], sessionTimeout, before)
	s.note("connected %t, same session %t", w.session != 0, before != nil && before.session == w.session)
	// A follower takes a committed transaction for its own request if session and xid agree, so no xid may come twice.
	w.xid = int32(1000 * len(s.wires))
	s.wires = append(s.wires, w)
	return len(s.wires) - 1
}

var serverNames = []string{"follower", "other follower", "leader"}

type ensembleCase struct {
	name string
	run  func(s *ensembleScript)
}

var ensembleCases = []ensembleCase{
	{"four-letter words say who leads", func(s *ensembleScript) {
		for _, addr := range s.addrs {
			s.word(addr, "srvr")
			s.word(addr, "mntr")
		}
	}},
	{"a session that moves is served at its new place and hung up on at its old", func(s *ensembleScript) {
		for _, way := range [][2]int{{0, 1}, {0, 2}, {2, 0}} {
			for _, op := range []zktest.Op{
				zktest.OpPing, zktest.OpExists, zktest.OpGetChildren, zktest.OpSync, zktest.OpCreate, zktest.OpDelete,
				zktest.OpMulti, zktest.OpCheck, zktest.OpSetWatches,
			} {
				s.note("%v from %s to %s", op, serverNames[way[0]], serverNames[way[1]])
				old := s.at(way[0])
				moved := s.at(way[1], old)
				bodies := map[zktest.Op]packet{
					zktest.OpExists:      packet{}.string("/").byte(1),
					zktest.OpGetChildren: packet{}.string("/absent").byte(0),
					zktest.OpSync:        packet{}.string("/"),
					zktest.OpCreate:      create("/never", 1),
					zktest.OpDelete:      packet{}.string("/absent").int32(-1),
					zktest.OpMulti:       rawMulti(13, packet{}.string("/").int32(-1)),
					zktest.OpCheck:       packet{}.string("/absent").int32(-1),
					zktest.OpSetWatches:  packet{}.int64(0).strings().strings("/absent").strings(),
				}
				s.raw(old, int32(op), bodies[op])
				s.raw(moved, opSync, packet{}.string("/"))
				s.raw(moved, opExists, packet{}.string("/never").byte(0))
			}
		}
	}},
	{"a malformed request is refused at every server", func(s *ensembleScript) {
		for server, name := range serverNames {
			s.note("%s", name)
			w := s.at(server)
			before := s.raw(w, opSync, packet{}.string("/")).zxid
			for _, op := range []zktest.Op{zktest.OpMulti, zktest.OpExists, zktest.OpMulti} { // a create breaks servers of 3.9.6 down
				r := s.raw(w, int32(op), packet{}.int32(100))
				s.note("advances by %d", r.zxid-before)
			}
		}
	}},
	{"an empty multi asks for no session", func(s *ensembleScript) {
		old := s.at(0)
		s.at(1, old)
		s.raw(old, 14, rawMulti())
	}},
	{"a closing by the old server ends the session", func(s *ensembleScript) {
		old := s.at(0)
		moved := s.at(1, old)
		s.raw(moved, opCreate, create("/closing", 1))
		s.raw(old, int32(zktest.OpCloseSession), nil)
		s.frame(moved, "new connection")
		s.raw(s.at(2), opExists, packet{}.string("/closing").byte(0))
	}},
	{"a session closed at one server cannot be resumed at another", func(s *ensembleScript) {
		for _, server := range []int{0, 2} {
			old, other := s.at(server), s.at(1)
			s.raw(old, int32(zktest.OpCloseSession), nil)
			s.raw(other, opSync, packet{}.string("/")) // or the end that it hears of late would cut the handshake off
			s.frame(s.at(1, old), "answer")
		}
	}},
	{"an ephemeral node goes at every server when its session is closed", func(s *ensembleScript) {
		owner := s.at(0)
		s.raw(owner, opCreate, create("/gone", 1))
		var watchers []int
		for _, server := range []int{0, 1, 2} {
			w := s.at(server)
			s.raw(w, opSync, packet{}.string("/"))
			s.raw(w, opExists, packet{}.string("/gone").byte(1))
			watchers = append(watchers, w)
		}
		s.raw(owner, int32(zktest.OpCloseSession), nil)
		for w := range slices.Values(watchers) {
			s.frame(w, "event", eventBody)
		}
	}},
}
