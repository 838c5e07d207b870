package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/virtual"
)

// lively returns a session that goes on.
func lively() *audience { return &audience{pressed: pressed{id: 1, timeout: 8000 * ms}} }

func TestAServerThatSaysNothingUntilTheClientsDeadlineLosesTheConnection(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		l := plugged(t, a).greeted(1, ms)
		require.NoError(t, l.SetReadDeadline(time.Now().Add(1000*ms)))
		require.NoError(t, l.SetReadDeadline(time.Time{}))
		time.Sleep(time.Hour)
		require.True(t, l.isUp(), "there is none any more")
		began := time.Now()
		for range 3 {
			require.NoError(t, l.SetReadDeadline(time.Now().Add(1000*ms)))
			time.Sleep(900 * ms)
		}
		require.True(t, l.isUp())
		<-l.over
		require.Equal(t, 2800*ms, time.Since(began))
		require.False(t, l.isUp())
		require.ErrorIs(t, a.cause, os.ErrDeadlineExceeded)
	})
}

func TestTheDeadlineForWritingIsTheConnectionsOwn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		at := time.Now().Add(1000 * ms)
		require.NoError(t, l.SetWriteDeadline(at))
		require.Equal(t, at, l.conn.deadline)
		l.conn.refusal = errors.New("unsupported")
		require.ErrorIs(t, l.SetDeadline(at.Add(ms)), l.conn.refusal)
		require.Equal(t, at.Add(ms), l.conn.deadline)
		<-l.over
		require.Equal(t, at.Add(ms), time.Now(), "for reading likewise")
	})
}

// The timer would keep it in memory.
func TestNoTimerRunsForAConnectionThatHasEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		require.NoError(t, l.SetReadDeadline(time.Now().Add(time.Hour)))
		require.NoError(t, l.Close())
		require.False(t, l.silence.Stop())
		require.NoError(t, l.SetReadDeadline(time.Now().Add(time.Hour)))
		require.False(t, l.silence.Stop())
	})
}

func TestAServerIsToldOfAsSilentOnceAndNotIfTheConnectionHadEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		p := plugged(t, a)
		l := p.greeted(1, ms)
		a.all()
		l.CutOff()
		require.Equal(t, []string{"ended", "warns"}, a.all())
		require.ErrorIs(t, a.cause, net.ErrClosed)
		require.False(t, l.isUp())
		<-l.over
		l.CutOff()
		require.Empty(t, a.all())
		l = p.greeted(1, ms)
		l.Close()
		a.all()
		l.CutOff()
		require.Empty(t, a.all())
	})
}

// go-zookeeper hangs if nobody reads the error of a write while it logs in or closes. It gives
// any other to the caller, to whom the user's own could look like the end of his ctx.
func TestAWriteThatFailsEndsTheConnectionWhoeverHearsOfIt(t *testing.T) {
	for name, tc := range map[string]struct {
		op     int32
		closed bool
		err    error
	}{
		"a request":                      {OpCreate, false, zk.ErrConnectionClosed},
		"a login":                        {OpSetAuth, false, nil},
		"a request of a session's end":   {OpCloseSession, true, nil},
		"a login as the session is over": {OpSetAuth, true, nil},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := lively()
			p := plugged(t, a)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			p.ctx = ctx
			l := p.greeted(1, ms)
			a.all()
			l.conn.write = context.DeadlineExceeded
			if tc.closed {
				end()
			}
			frame := framed(number(7), number(tc.op), at("/lock", 0))
			n, err := l.Write(frame)
			require.True(t, err == tc.err, "%v", err)
			require.Equal(t, []string{"ended"}, a.all())
			require.Equal(t, context.DeadlineExceeded, a.cause)
			if tc.err == nil {
				require.Equal(t, len(frame), n)
				require.Error(t, <-l.over, "the client learns it by reading")
			}
		})
	}
}

// A user's connection may take its time to close.
func TestNothingIsWrittenToAConnectionThatHasEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		l.end(net.ErrClosed)
		_, err := l.Write(framed(number(7), number(OpGetData), at("/node", 0)))
		require.Equal(t, zk.ErrConnectionClosed, err)
		require.Empty(t, l.got)
	})
}

func TestAConnectionThatHasEndedIsNotOpenedUp(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, lively())
		p.Logins = make([]Credential, 1)
		l := p.greeted(1, ms)
		l.end(net.ErrClosed)
		l.openUp()
		require.False(t, l.out.open)
	})
}

func TestAConnectionThatIsClosedAheadOfItsAnswerIsNoFaultOfTheServers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		plugged(t, a).dialed().Close()
		require.Equal(t, net.ErrClosed, a.cause)
	})
}

// go-zookeeper uses its room for the next one.
func TestAFrameIsPassedWhenItIsWritten(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		writes, passed := l.busy(), make(chan struct{})
		go func() {
			_, _ = l.Write(framed(number(7), number(OpGetData), at("/node", 0)))
			close(passed)
		}()
		for range 2 {
			synctest.Wait()
			require.False(t, latch.IsClosed(passed))
			writes <- struct{}{}
		}
		<-passed
	})
}

func TestASessionHasEndedIfItsServerHasSaidSo(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, lively())
		l := p.greeted(1, ms)
		for xid, code := range []int32{noNode, 0} {
			require.False(t, p.Ended())
			l.sends(int32(xid+1), OpCloseSession)
			l.says(answer(int32(xid+1), code))
			require.Empty(t, l.pending)
		}
		require.True(t, p.Ended())
	})
}

func TestALoginIsThatOfTheCredentialsOfItsConnection(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		first, now := Credential{"digest", []byte("a")}, Credential{"digest", []byte("b")}
		p := plugged(t, lively())
		p.Logins, p.Credentials = []Credential{first}, always([]Credential{now})
		l := p.greeted(1, ms)
		_, err := l.Write(first.login(1))
		require.NoError(t, err)
		require.Equal(t, now.login(1), <-l.got)
	})
}

func TestTheRoomOfAnAnswerIsUsedAgainIfNobodyNeedsIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		l.room = nil
		l.Send(reading("/a"))
		<-l.got
		l.says(said(nth(0), "a"))
		require.Nil(t, l.room, "somebody waits for what it says")
		l.Send(reading("/b").Then(func(*Request) {}))
		<-l.got
		l.says(said(nth(1), "b"))
		require.NotNil(t, l.room, "it was seen")
		l.room = nil
		l.sends(1, OpGetData)
		l.says(answer(1, 0))
		require.NotNil(t, l.room, "go-zookeeper reads it before the next")
		for length, kept := range map[int]bool{frameStep: true, frameStep + 1: false} {
			l.room = nil
			l.reuse(make([]byte, length))
			require.Equal(t, kept, l.room != nil)
		}
	})
}

func TestAServerServesByTheFirstAnswerWithoutErrorToARequest(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		p := plugged(t, a)
		p.Logins = make([]Credential, 2)
		l := p.greeted(1, ms)
		p.slow.Add(1)
		a.all()
		serves := func(want bool) {
			t.Helper()
			require.Equal(t, want, l.Serving())
			require.Equal(t, want, p.slow.Load() == 0)
		}
		l.sends(1, OpSetAuth)
		l.says(answer(1, 0))
		serves(false)
		l.says(answer(xidPing, 0)) // nobody has asked
		serves(false)
		l.sends(2, OpGetData)
		l.says(answer(2, noNode))
		serves(false)
		require.Empty(t, a.all())
		l.sends(3, OpGetData)
		l.says(answer(3, 0))
		serves(true)
		require.Equal(t, []string{"served"}, a.all(), "the logins are over")
		l.sends(4, OpGetData)
		l.says(answer(4, 0))
		serves(true)
		require.Empty(t, a.all())
	})
}

func TestASessionIsServedWhenItsLoginsAreAccepted(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		p := plugged(t, a)
		logIn := func(l *line, xid, code int32) {
			l.sends(xid, OpSetAuth)
			l.says(answer(xid, code))
		}
		served := func(times int, when string) {
			t.Helper()
			told := slices.DeleteFunc(a.all(), func(what string) bool { return what != "served" })
			require.Len(t, told, times, when)
		}
		p.greeted(1, ms)
		served(1, "without a login as it is accepted itself")
		p.Logins = make([]Credential, 1)
		l := p.greeted(1, ms)
		served(0, "the login has yet to come")
		logIn(l, 1, authFailed)
		served(0, "it was refused")
		l = p.greeted(1, ms)
		logIn(l, 1, 0)
		served(1, "it was accepted")
		logIn(l, 2, 0) // the user's own, which is repeated too
		served(0, "once for each connection")
		l = p.greeted(1, ms)
		logIn(l, 1, 0)
		served(0, "one has yet to come")
		logIn(l, 2, 0)
		served(1, "both were accepted")
		require.False(t, l.Serving(), "no request was answered")
	})
}

func TestARefusedLoginIsWhyTheConnectionEnds(t *testing.T) {
	for code, refused := range map[int32]bool{authFailed: true, authFailed - 1: false, authFailed + 1: false, 0: false} {
		virtual.Test(t, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).greeted(1, ms)
			l.sends(1, OpSetAuth)
			l.says(answer(1, code))
			l.server.Close()
			<-l.over
			require.Equal(t, refused, errors.Is(a.cause, ErrRefused), code)
			require.Equal(t, !refused, errors.Is(a.cause, io.EOF), code)
		})
	}
}

func TestAWriteThatWasAnsweredCatchesTheConnectionUp(t *testing.T) {
	for _, tc := range []struct {
		op, code int32
		caught   bool
	}{
		{OpCreate, 0, true},
		{OpDelete, 0, true},
		{OpSetData, 0, true},
		{OpSetACL, 0, true},
		{OpMulti, 0, true},
		{OpCreateContainer, 0, true},
		{OpCreate, noNode, false}, // which the server may have said by itself
		{OpGetData, 0, false},
		{OpGetChildren2, 0, false},
		{OpMultiRead, 0, false},
		{OpExists, 0, false},
		{OpSync, 0, false}, // a leader that was deposed answers that alone
		{OpSetWatches, 0, false},
		{OpSetAuth, 0, false},
	} {
		virtual.Test(t, func(t *testing.T) {
			l := plugged(t, lively()).greeted(1, ms)
			l.sends(1, tc.op)
			l.says(answer(2, 0)) // to nothing
			require.False(t, l.CaughtUp())
			l.says(answer(1, tc.code))
			require.Equal(t, tc.caught, l.CaughtUp(), tc)
		})
	}
}

// A server answers a login without telling the leader of the session.
func TestARequestThatWasAnsweredLongEnoughAgoHasTouchedTheSession(t *testing.T) {
	for name, tc := range map[string]struct {
		xid, op int32
		touches bool
	}{
		"a request": {1, OpGetData, true},
		"a ping":    {xidPing, opPing, true},
		"a login":   {1, OpSetAuth, false},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			l := plugged(t, lively()).greeted(1, ms)
			time.Sleep(1000 * ms)
			sent := l.dialer.Clock.Now()
			l.sends(tc.xid, tc.op)
			time.Sleep(10 * ms)
			l.says(answer(tc.xid, 0))
			time.Sleep(2000*ms - 1) // the ticks that a touch takes to the leader
			require.Equal(t, l.Asked, l.dialer.Lease.Proof(l.dialer.Clock.Now()).Touched)
			time.Sleep(time.Nanosecond)
			want := l.Asked
			if tc.touches {
				want = sent
			}
			p := l.dialer.Lease.Proof(l.dialer.Clock.Now())
			require.Equal(t, want, p.Touched)
			require.Equal(t, l.dialer.Clock.Now(), p.Begun)
		})
	}
}

func TestTheFastestAnswerIsTheRoundTripAndPingsAreAnsweredInTheirOrder(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, lively())
		l := p.greeted(1, 5*ms)
		roundTrip := p.Lease.RoundTrip
		require.Zero(t, roundTrip(), "a pause may be in the handshake")
		l.sends(xidPing, opPing)
		time.Sleep(30 * ms)
		l.sends(xidPing, opPing)
		time.Sleep(10 * ms)
		l.says(answer(xidPing, 0))
		require.Equal(t, 40*ms, roundTrip())
		time.Sleep(10 * ms)
		l.says(answer(xidPing, 0))
		require.Equal(t, 20*ms, roundTrip())
		l.sends(1, OpGetData)
		p.Clock.Step(time.Hour) // the machine sleeps
		time.Sleep(10 * ms)
		l.says(answer(1, 0))
		require.Equal(t, 10*ms, roundTrip())
	})
}

// What is quick, and for how long a slow one is a doubt, goes by the session's timeout, of which this
// server may grant more.
func TestASlowWriteLeavesADoubtAndASlowReadNone(t *testing.T) {
	const session = 4096 * ms
	for name, tc := range map[string]struct {
		op    int32
		takes time.Duration
		doubt time.Duration
	}{
		"a slow delete":  {OpDelete, 33 * ms, session / 16},
		"a quick delete": {OpDelete, 32 * ms, 0},
		"a slow read":    {OpGetData, 1000 * ms, 0},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := lively()
			a.timeout = session
			l := plugged(t, a).greeted(1, ms)
			l.sends(1, OpExists)
			time.Sleep(20 * ms) // of which a 256th of the timeout is quick
			l.says(answer(1, 0))
			l.sends(2, tc.op)
			time.Sleep(tc.takes)
			l.says(answer(2, noNode))
			now := l.dialer.Clock.Now()
			l.dialer.Lease.Prove(lease.Proof{Begun: now}, true, now) // the next would count as the second of two T/16 later
			require.Equal(t, tc.doubt, max(l.dialer.Lease.Doubted(now), 0))
		})
	}
}
