package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
)

// A server that serves nobody reads no more than the length, and hangs up.
func TestAConnectRequestWaitsBehindItsLengthWhileALeaseRunsAndForNoLongerThanItCanAfford(t *testing.T) {
	for name, tc := range map[string]struct{ left, waits time.Duration }{
		"no lease":      {},
		"a long lease":  {left: 8000 * ms, waits: 125 * ms},
		"a short lease": {left: 800 * ms, waits: 50 * ms},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: tc.left}}
			l := plugged(t, a).dialed()
			began := time.Now()
			n, err := l.Write(ask)
			require.NoError(t, err)
			require.Equal(t, len(ask), n)
			require.Equal(t, tc.waits, time.Since(began))
			require.Equal(t, l.dialer.Clock.Now(), l.Asked, "the length alone asks for nothing")
			require.Equal(t, l.Asked, a.asked)
			synctest.Wait()
			if tc.left > 0 {
				require.Equal(t, ask[:4], <-l.got)
				require.Equal(t, ask[4:], <-l.got)
			} else {
				require.Equal(t, ask, <-l.got)
			}
			l.listen()
			l.says(hello(1))
			require.Equal(t, []string{"asks", "connected to 1 for 8s", "served"}, a.all())
		})
	}
}

// The server may have begun to count by any moment after that.
func TestAConnectRequestIsDatedWhenItsWriteBegins(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, &audience{pressed: pressed{id: 1, timeout: 8000 * ms}}).dialed()
		l.Conn = slow{Conn: l.Conn, write: ms}
		began := l.dialer.Clock.Now()
		_, err := l.Write(ask)
		require.NoError(t, err)
		require.Equal(t, began, l.Asked)
	})
}

func TestAServerThatHangsUpBehindTheLengthIsAskedForNothing(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: 8000 * ms}}
		l := plugged(t, a).dialed()
		time.AfterFunc(ms, func() { l.server.Close() })
		began := time.Now()
		_, err := l.Write(ask)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, ms, time.Since(began))
		require.Equal(t, []string{"ended"}, a.all())
		require.ErrorIs(t, a.cause, io.EOF)
		require.Len(t, l.got, 1)
		require.True(t, l.Asked.IsZero())
	})
}

// The read that was begun for that has the error, and a connection may tell it once.
func TestAServerThatHangsUpBehindTheRequestIsHeard(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: 8000 * ms}}
		l, gone := plugged(t, a).dialed(), errors.New("gone")
		l.conn.read = make(chan error)
		_, err := l.Write(ask)
		require.NoError(t, err)
		l.listen()
		synctest.Wait()
		require.Empty(t, l.over)
		l.conn.read <- gone
		require.ErrorIs(t, <-l.over, gone)
		require.ErrorIs(t, a.cause, gone)
	})
}

func TestAConnectRequestThatCannotBeWrittenFailsAtOnce(t *testing.T) {
	for left, told := range map[time.Duration]string{0: "asks", 8000 * ms: "ended"} {
		virtual.Test(t, func(t *testing.T) {
			a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: left}}
			l, gone := plugged(t, a).dialed(), errors.New("gone")
			l.conn.write = gone
			began := time.Now()
			_, err := l.Write(ask)
			require.ErrorIs(t, err, gone)
			require.Zero(t, time.Since(began))
			require.Equal(t, []string{told}, a.all(), "behind a length that was not written nothing is asked for")
		})
	}
}

func TestAServerThatReadsNothingIsGivenUp(t *testing.T) {
	for left, limit := range map[time.Duration]time.Duration{0: 1000 * ms, 2400 * ms: 800 * ms} {
		virtual.Test(t, func(t *testing.T) {
			a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: left}}
			p := plugged(t, a)
			p.deaf = true
			l := p.dialed()
			began := time.Now()
			_, err := l.Write(ask)
			require.Error(t, err)
			require.Equal(t, limit, time.Since(began))
			require.ErrorIs(t, a.cause, os.ErrDeadlineExceeded)
			require.False(t, l.isUp())
		})
	}
}

// The client clears its own deadlines in the middle of its handshake.
func TestAServerThatDoesNotAnswerTheConnectRequestIsGivenUpAndOnlyThenCountsAsSlow(t *testing.T) {
	for name, tc := range map[string]struct {
		session int64
		hangsUp time.Duration // from the request on; 0: never
		expires bool          // the server answers, that there is no such session
		limit   time.Duration
		slow    int64
	}{
		"an eighth of the timeout, to go on":           {session: 1, limit: 1000 * ms, slow: 1},
		"the whole timeout, to make a session":         {session: 0, limit: 8000 * ms, slow: 1},
		"it hangs up earlier":                          {session: 1, hangsUp: 999 * ms, limit: 999 * ms},
		"it says that the session is over and no more": {session: 1, expires: true, limit: 1000 * ms, slow: 1},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := &audience{pressed: pressed{id: tc.session, timeout: 8000 * ms}}
			p := plugged(t, a)
			l := p.dialed()
			began := time.Now()
			require.NoError(t, l.SetWriteDeadline(began.Add(ms)))
			require.Zero(t, l.conn.deadline)
			_, err := l.Write(ask)
			require.NoError(t, err)
			require.NoError(t, l.SetReadDeadline(began.Add(ms)))
			require.NoError(t, l.SetReadDeadline(time.Time{}))
			l.listen()
			if tc.hangsUp > 0 {
				p.Clock.Step(time.Hour) // the machine sleeps
				time.AfterFunc(tc.hangsUp, func() { l.server.Close() })
			}
			if tc.expires {
				l.says(hello(0))
				require.Zero(t, p.Watches().Connection, "no session is on it")
			}
			<-l.over
			require.Equal(t, tc.limit, time.Since(began))
			require.False(t, l.isUp())
			require.Equal(t, tc.slow, p.slow.Load())
			require.Equal(t, tc.hangsUp == 0, errors.Is(a.cause, os.ErrDeadlineExceeded), "%v", a.cause)
			told := a.all()
			require.Equal(t, "ended", told[len(told)-1])
			require.NotContains(t, told[:len(told)-1], "ended")
		})
	}
}

// go-zookeeper makes room for as much as the first bytes and the password's length say, cannot send
// a long password again, and panics if a session has no time.
func TestAServerOfAnotherProtocolIsNotReadFrom(t *testing.T) {
	greeting := func(length, timeout int32, session int64, password int32, said int) string {
		return string(slices.Concat(number(length), number(0), number(timeout), long(session), number(password), make([]byte, said)))
	}
	for says, foreign := range map[string]bool{
		"HTTP/1.1 400 Bad Request\r\n":    true,
		"\x15\x03\x03\x00\x02\x02\x0a":    true,
		greeting(19, 8000, 1, 0, 0):       true,
		greeting(3, 8000, 1, 0, 0):        true,
		greeting(1025, 8000, 1, 0, 0):     true,
		string(ask):                       true, // an echo
		greeting(20, 0, 1, 0, 0):          true,
		greeting(20, -1, 1, 0, 0):         true,
		greeting(20, 1, 1, 0, 0):          false,
		greeting(20, 1, 1, -1, 0):         false,
		greeting(20, 0, 0, 0, 0):          false, // expired
		greeting(36, 8000, 1, 17, 16):     true,
		greeting(37, 8000, 1, 16, 17):     false, // whether it is a read-only server
		greeting(148, 8000, 1, 128, 128):  false,
		greeting(149, 8000, 1, 129, 129):  true,
		greeting(1024, 8000, 1, 16, 1004): false,
	} {
		virtual.Test(t, func(t *testing.T) {
			a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms}}
			l := plugged(t, a).dialed()
			_, err := l.Write(ask)
			require.NoError(t, err)
			go l.server.Write([]byte(says))
			n, err := l.Read(make([]byte, 4))
			if !foreign {
				require.NoError(t, err, "%q", says)
				require.Equal(t, 4, n)
				l.Close()
				return
			}
			require.Zero(t, n)
			require.ErrorContains(t, a.cause, fmt.Sprintf("begins with %q", says[:min(frameHead, len(says))]))
			require.ErrorIs(t, a.cause, err)
			require.ErrorContains(t, a.cause, "a:2181 is no ZooKeeper server: its answer to the connect request begins with ")
		})
	}
}

func TestAnAnswerThatComesInTwoPiecesIsAZooKeeperServers(t *testing.T) {
	answer := hello(1 << 40)
	for first := range len(answer) {
		virtual.Test(t, func(t *testing.T) {
			l := plugged(t, &audience{pressed: pressed{id: 1, timeout: 8000 * ms}}).dialed()
			_, err := l.Write(ask)
			require.NoError(t, err)
			l.listen()
			l.says(answer[:first])
			l.says(answer[first:])
			require.True(t, l.isUp(), first)
			require.Equal(t, int64(1<<40), l.ID)
		})
	}
}

// The logins go ahead of it, one behind the other: as many as the client has ever made.
func TestTheFirstProofIsGivenTwiceARoundTripAndOneMoreForEachLogin(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, &audience{pressed: pressed{id: 1, timeout: 8000 * ms}})
		for _, tc := range []struct {
			logins int32         // over this connection
			trips  time.Duration // for a proof over it
		}{{2, 1}, {1, 3}, {0, 3}, {3, 3}, {0, 4}} {
			l := p.dialed()
			_, err := l.Write(ask)
			require.NoError(t, err)
			l.listen()
			time.Sleep(100 * ms)
			p.Clock.Step(time.Hour) // the machine sleeps, which is no time of the server's
			l.says(hello(1))
			require.Equal(t, tc.trips*200*ms, p.Lease.Patience(tc.trips*300*ms))
			require.Equal(t, l.Asked, p.Lease.Proof(p.Clock.Now()).Touched)
			for xid := range tc.logins {
				l.sends(xid+1, OpSetAuth)
				l.says(answer(xid+1, 0))
			}
		}
	})
}

// sleepless is a session that is closed, and runs nothing.
type sleepless struct{ *audience }

func (sleepless) Spawn(func()) bool { return false }

func TestAClosedSessionConnectsToNobody(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: 8000 * ms}}
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		defer theirs.Close()
		l := newLink(NewDialer(context.Background(), sleepless{a}, Options{Hosts: NewHosts(), Clock: new(clock.Clock), Log: a}), ours, "a")
		_, err := l.Write(ask)
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, []string{"ended"}, a.all())
		l.Close()
	})
}
