package zktest_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// aloneInBubble runs the test against a server that stands alone, in virtual time.
func aloneInBubble(t *testing.T, fn func(t *testing.T, s *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { fn(t, zktest.NewServer(t, opts...)) })
}

func exists(t testing.TB, w *wire, path string) bool {
	t.Helper()
	return w.call(t, opExists, packet{}.string(path).byte(0)).code == 0
}

func TestAHeldRequestIsExecutedAfterItsClientIsGone(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := at(t, s), at(t, s)
		held := s.HoldRequest(zktest.OpCreate, zktest.OnPath("/late"))
		a.send(t, opCreate, create("/late", 0))
		<-held.Struck()
		a.nc.Close()
		require.False(t, exists(t, b, "/late"))
		held.Release()
		require.True(t, exists(t, b, "/late"))
	})
}

func TestARequestThatWasHeldMeetsNoOtherFault(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Server, zktest.Op, ...zktest.Filter) *zktest.Fault{
		"drop request": (*zktest.Server).DropRequest,
		"drop reply":   (*zktest.Server).DropReply,
		"hold request": (*zktest.Server).HoldRequest,
		"hold reply":   (*zktest.Server).HoldReply,
		"refuse": func(s *zktest.Server, op zktest.Op, filters ...zktest.Filter) *zktest.Fault {
			return s.RefuseRequest(op, -127, filters...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
				a := at(t, s)
				held, second := s.HoldRequest(zktest.OpCreate), fault(s, zktest.OpCreate)
				a.send(t, opCreate, create("/a", 0))
				<-held.Struck()
				third := fault(s, zktest.OpCreate)
				held.Release()
				require.False(t, hasStruck(second))
				r, err := a.next()
				require.NoError(t, err)
				require.Zero(t, r.code)
				a.send(t, opCreate, create("/b", 0))
				synctest.Wait()
				require.True(t, hasStruck(second))
				require.False(t, hasStruck(third))
			})
		})
	}
}

func hasStruck(f *zktest.Fault) bool {
	select {
	case <-f.Struck():
		return true
	default:
		return false
	}
}

func TestAHeldReplyHoldsUpWhatFollowsAndNothingElse(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := at(t, s), at(t, s)
		held := s.HoldReply(zktest.OpCreate)
		created := a.send(t, opCreate, create("/a", 0))
		read := a.send(t, opExists, packet{}.string("/a").byte(0))
		<-held.Struck()
		require.True(t, exists(t, b, "/a"))
		start := time.Now()
		time.AfterFunc(time.Second, held.Release)
		r, err := a.next()
		require.NoError(t, err)
		require.Equal(t, created, r.xid)
		require.Equal(t, time.Second, time.Since(start))
		r, err = a.next()
		require.NoError(t, err)
		require.Equal(t, read, r.xid)
	})
}

func TestAReplyThatIsNotSentIsLostAndHeldLikeOthers(t *testing.T) {
	const opCheck = int32(zktest.OpCheck) // has none in 3.8 if it succeeds
	check := packet{}.string("/").int32(-1)
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := at(t, s), at(t, s)
		held := s.HoldReply(zktest.OpCheck)
		a.send(t, opCheck, check)
		xid := a.send(t, opExists, packet{}.string("/").byte(0))
		<-held.Struck()
		require.True(t, exists(t, b, "/"))
		time.AfterFunc(time.Second, held.Release)
		sent := time.Now()
		r, err := a.next()
		require.NoError(t, err)
		require.Equal(t, xid, r.xid)
		require.Equal(t, time.Second, time.Since(sent))
		s.DropReply(zktest.OpCheck)
		a.send(t, opCheck, check)
		a.closed(t)
	}, zktest.WithVersion("3.8"))
}

func TestAFaultMeetsOnlyTheRequestItIsMeantFor(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		place := s.Client("elsewhere")
		a, b := at(t, s), dialWire(t, place.Dial, s.PipeAddr(), time.Second, nil)
		f := s.DropReply(zktest.OpMulti, zktest.OnPath("/x"), zktest.OnClient(place), zktest.OnSession(b.session))
		check := func(path string) packet { return rawMulti(13, packet{}.string(path).int32(-1)) }
		a.call(t, int32(zktest.OpMulti), check("/x"))
		b.call(t, int32(zktest.OpMulti), check("/y"))
		b.call(t, opExists, packet{}.string("/x").byte(0))
		b.send(t, int32(zktest.OpMulti), check("/x/y"))
		b.closed(t)
		<-f.Struck()
	})
}

func TestARequestIsRefusedInItsTurnAndNotExecuted(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		for _, refuse := range []func(zktest.Op, int32, ...zktest.Filter) *zktest.Fault{s.RefuseRequest, s.Ensemble().RefuseRequest} {
			f := refuse(zktest.OpCreate, -127, zktest.OnPath("/busy"))
			other := a.send(t, opCreate, create("/other", 0))
			refused := a.send(t, opCreate, create("/busy", 0))
			read := a.send(t, opExists, packet{}.string("/busy").byte(0))
			for _, want := range []struct{ xid, code int32 }{{other, 0}, {refused, -127}, {read, noNode}} {
				r, err := a.next()
				require.NoError(t, err)
				require.Equal(t, want, struct{ xid, code int32 }{r.xid, r.code})
			}
			<-f.Struck()
			require.Zero(t, a.call(t, int32(zktest.OpDelete), packet{}.string("/other").int32(-1)).code)
		}
		require.Zero(t, a.call(t, opCreate, create("/busy", 0)).code, "the next one is executed")
		require.Equal(t, 7, s.Requests()[zktest.OpCreate]+s.Requests()[zktest.OpDelete])
	})
}

func TestHandshakesAndCredentialsAreNotRefused(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		connect, auth := s.RefuseRequest(zktest.OpConnect, -1), s.RefuseRequest(zktest.OpAuth, -1)
		a := at(t, s)
		require.Zero(t, a.call(t, int32(zktest.OpAuth), packet{}.int32(0).string("digest").string("user:secret")).code)
		require.False(t, hasStruck(connect))
		require.False(t, hasStruck(auth))
	})
}

func TestAFaultThatIsReleasedBeforeItStrikesDoesNotStrike(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		s.DropReply(zktest.OpExists).Release()
		require.True(t, exists(t, at(t, s), "/"))
	})
}

func TestALostHandshakeLeavesASessionBehind(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		s.DropReply(zktest.OpConnect)
		nc, err := s.Dial("", "", time.Second)
		require.NoError(t, err)
		w := &wire{nc: nc}
		w.write(t, packet{}.int32(0).int64(0).int32(4000).int64(0).string(strings.Repeat("\x00", 16)))
		w.closed(t)
		require.Len(t, s.Sessions(), 1)
		require.Nil(t, s.Sessions()[0].Server)
	})
}

func TestACutEndsTheConnectionsItIsMeantFor(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		place := s.Client("place")
		require.Equal(t, "place", place.Name())
		a, b, c := at(t, s), at(t, s), dialWire(t, place.Dial, s.PipeAddr(), time.Second, nil)
		s.CutSession(a.session)
		a.closed(t)
		place.Cut()
		c.closed(t)
		require.True(t, exists(t, b, "/"))
		s.Ensemble().CutSession(b.session)
		b.closed(t)
		require.Len(t, s.Sessions(), 3)
	})
}

func TestRequestsAreCounted(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		exists(t, a, "/")
		exists(t, a, "/absent")
		a.call(t, opPing, nil)
		require.Equal(t, map[zktest.Op]int{zktest.OpConnect: 1, zktest.OpExists: 2, zktest.OpPing: 1}, s.Requests())
	})
}

func TestAFrameBeyondTheLimitIsHungUpOn(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		require.Equal(t, noNode, a.call(t, opExists, packet{}.string("/"+strings.Repeat("x", 86)).byte(0)).code)
		_, err := a.nc.Write(packet{}.int32(101))
		require.NoError(t, err)
		a.closed(t)
	}, zktest.WithMaxBuffer(100))
}

func TestASessionsRequestsWaitForItsHandshake(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		nc, err := s.Dial("", "", time.Second)
		require.NoError(t, err)
		w := &wire{nc: nc}
		w.write(t, packet{}.int32(0).int64(0).int32(4000).int64(0).string(strings.Repeat("\x00", 16)))
		w.send(t, opExists, packet{}.string("/").byte(0))
		_, err = w.read()
		require.NoError(t, err)
		r, err := w.next()
		require.NoError(t, err)
		require.Equal(t, int32(1), r.xid)
		require.Zero(t, r.code)
		nc.Close()
	}, zktest.WithDiskLatency(time.Second, time.Second))
}

func TestWhatIsBlockedArrivesWhenTheWayIsFree(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		place := s.Client("a")
		a, b := dialWire(t, place.Dial, s.PipeAddr(), 4*time.Second, nil), at(t, s)
		place.Block(zktest.ToClient)
		a.send(t, opCreate, create("/a", 0))
		require.True(t, exists(t, b, "/a"))
		place.Block(zktest.ToServer)
		a.send(t, opCreate, create("/b", 0))
		require.False(t, exists(t, b, "/b"))
		start := time.Now()
		_, err := place.Dial("tcp", s.PipeAddr(), time.Second)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		time.AfterFunc(time.Second, func() { place.Unblock() })
		for range 2 {
			r, err := a.next()
			require.NoError(t, err)
			require.Zero(t, r.code)
		}
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestAFrozenServerAnswersNothingAndExpiresNobody(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		a.call(t, opCreate, create("/e", 1))
		s.Freeze()
		time.Sleep(time.Minute)
		require.Len(t, s.Nodes(), 1)
		nc, err := s.Dial("", "", time.Second)
		require.NoError(t, err)
		nc.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = nc.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		nc.Close()
		s.Thaw()
		a.closed(t)
		require.Empty(t, s.Nodes())
	})
}

func TestALoneServerThatIsFrozenDuringItsElectionLeadsWhenItGoesOn(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		s.Stop()
		s.Restart()
		s.Freeze()
		time.Sleep(time.Minute)
		s.Thaw()
		require.True(t, exists(t, at(t, s), "/"))
	})
}

func TestAServerThatRefusesKeepsWhatItHas(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		s.Refuse(true)
		_, err := s.Dial("", "", time.Second)
		require.True(t, errors.Is(err, syscall.ECONNREFUSED))
		require.True(t, exists(t, a, "/"))
		s.Refuse(false)
		require.True(t, exists(t, at(t, s), "/"))
	})
}

func TestNewConnectionsOverTCPAreRefusedAndLaterTakenAtTheSameAddress(t *testing.T) {
	for name, way := range map[string]struct{ off, on func(*zktest.Server) }{
		"stopped":  {(*zktest.Server).Stop, (*zktest.Server).Restart},
		"refusing": {func(s *zktest.Server) { s.Refuse(true) }, func(s *zktest.Server) { s.Refuse(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, late := zktest.NewServer(t), zktest.NewServer(t)
			late.Refuse(true) // before anybody asks where it is
			for _, s := range []*zktest.Server{s, late} {
				s.Addr()
				way.off(s)
				_, err := net.Dial("tcp", s.Addr())
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				way.on(s)
			}
			late.Refuse(false)
			for _, s := range []*zktest.Server{s, late} {
				connect(t, net.DialTimeout, s.Addr())
			}
		})
	}
}

func TestAClockThatJumpsEndsSessions(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		s.JumpClock(time.Second)
		require.True(t, exists(t, a, "/"))
		s.JumpClock(time.Hour)
		a.closed(t)
		b := at(t, s)
		time.Sleep(1900 * time.Millisecond)
		require.True(t, exists(t, b, "/"))
	})
}

func TestASessionEndsWhenItIsSaidToWhateverTheClockOfTheServerSays(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		s.JumpClock(time.Hour)
		at(t, s)
		s.JumpClock(time.Second)
		time.Sleep(time.Until(s.Sessions()[0].Ends) - 1)
		require.Len(t, s.Sessions(), 1)
		time.Sleep(2 * time.Nanosecond)
		require.Empty(t, s.Sessions())
	})
}

func TestASessionThatIsAgedEndsEarlierByAsMuchAndNoOtherDoes(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := at(t, s), at(t, s)
		ids := s.Ensemble().Sessions()
		left := s.Ensemble().AgeSession(ids[0].ID, 0)
		require.Positive(t, left)
		require.Equal(t, left-time.Second, s.Ensemble().AgeSession(ids[0].ID, time.Second))
		require.True(t, exists(t, a, "/"), "which touches it")
		require.Zero(t, s.Ensemble().AgeSession(ids[0].ID, time.Hour))
		a.closed(t)
		require.True(t, exists(t, b, "/"))
		require.Zero(t, s.Ensemble().AgeSession(ids[0].ID, 0))
	})
}

func TestLatencyIsPaidEachWayAndRequestsOverlap(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		start := time.Now()
		for range 10 {
			a.send(t, opExists, packet{}.string("/").byte(0))
		}
		for range 10 {
			_, err := a.next()
			require.NoError(t, err)
		}
		require.Equal(t, 10*time.Millisecond, time.Since(start))
	}, zktest.WithLatency(5*time.Millisecond, 5*time.Millisecond))
}

func TestARestartedServerKeepsNodesAndSessions(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		a.call(t, opCreate, create("/e", 1))
		s.Stop()
		a.closed(t)
		_, err := s.Dial("", "", time.Second)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		time.Sleep(time.Hour)
		s.Restart()
		time.Sleep(time.Second)
		b := dialWire(t, s.Dial, "", 2*time.Second, a)
		require.Equal(t, a.session, b.session)
		require.True(t, exists(t, b, "/e"))
		b.nc.Close()
		time.Sleep(3 * time.Second)
		require.Empty(t, s.Nodes())
	})
}

func TestWatchesGoWithTheirConnection(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a := at(t, s)
		a.call(t, opExists, packet{}.string("/absent").byte(1))
		a.call(t, int32(zktest.OpGetChildren), packet{}.string("/").byte(1))
		a.call(t, int32(zktest.OpGetData), packet{}.string("/").byte(1))
		require.Equal(t, map[string]int{"/absent": 1, "/": 2}, s.Watches())
		a.nc.Close()
		synctest.Wait()
		require.Empty(t, s.Watches())
	})
}

// eventsAtTheEndOf returns the order in which a watcher learns of the end of a session's two nodes.
func eventsAtTheEndOf(t *testing.T, s *zktest.Server) string {
	owner, watcher := at(t, s), at(t, s)
	for _, path := range []string{"/1", "/2"} {
		owner.call(t, opCreate, create(path, 1))
		watcher.call(t, opExists, packet{}.string(path).byte(1))
	}
	s.ExpireSession(owner.session)
	var order string
	for range 2 {
		r, err := watcher.next()
		require.NoError(t, err)
		r.int32()
		r.int32()
		order += r.string()
	}
	return order
}

func TestADelayTakesTheDirectionItIsMeantFor(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		place := s.Client("far")
		far, near := dialWire(t, place.Dial, s.PipeAddr(), time.Second, nil), at(t, s)
		place.Delay(zktest.ToClient, 100*time.Millisecond, 100*time.Millisecond)
		start := time.Now()
		far.send(t, opCreate, create("/a", 0))
		synctest.Wait()
		require.True(t, exists(t, near, "/a"))
		require.Zero(t, time.Since(start))
		_, err := far.next()
		require.NoError(t, err)
		require.Equal(t, 100*time.Millisecond, time.Since(start))
	})
}

func TestTheNodesOfASessionGoInAnyOrder(t *testing.T) {
	orders := make(map[string]int)
	for seed := range int64(40) {
		aloneInBubble(t, func(t *testing.T, s *zktest.Server) { orders[eventsAtTheEndOf(t, s)]++ }, zktest.WithSeed(seed))
	}
	require.Positive(t, orders["/1/2"])
	require.Positive(t, orders["/2/1"])
}
