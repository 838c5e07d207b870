package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/virtual"
)

// pressed is a session with a timeout, of which a lease has something left.
type pressed struct {
	nobody
	id            int64
	timeout, left time.Duration
}

func (s pressed) ID() int64                           { return s.id }
func (s pressed) Left() (timeout, left time.Duration) { return s.timeout, s.left }

func dialerOf(ctx context.Context, s Session) *Dialer {
	d := NewDialer(ctx, s, Options{Hosts: NewHosts()})
	_ = d.Hosts.Init([]string{"a", "b", "c"})
	return d
}

const ms = time.Millisecond

func TestAServerHasAnEighthOfTheTimeoutToAnswerAndMoreWhenAllOfThemAreSlow(t *testing.T) {
	for slow, want := range map[int]time.Duration{
		0: 1000 * ms, 2: 1000 * ms, 3: 2000 * ms, 6: 4000 * ms, 9: 8000 * ms, 12: 8000 * ms,
	} {
		d := dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms})
		for range slow {
			d.slow.Add(1)
		}
		require.Equal(t, want, d.patience(), "after %d attempts at 3 servers", slow)
		require.Equal(t, want, d.handshakeLimit())
		d.served()
		require.Equal(t, 1000*ms, d.patience(), "one serves again")
	}
	require.Equal(t, 250*ms, dialerOf(t.Context(), pressed{id: 1, timeout: 1000 * ms}).patience(), "the least that an answer takes")
}

// A third leaves time for another server, however many do not answer.
func TestAServerHasAThirdOfWhatALeaseHasLeftAtMost(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		6000 * ms: 1000 * ms, 2400 * ms: 800 * ms, 900 * ms: 300 * ms, 600 * ms: 250 * ms, 300 * ms: 150 * ms,
	} {
		require.Equal(t, want, dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms, left: left}).patience(), left)
	}
}

// To cut off a handshake that makes a session would leave one on the servers each time.
func TestAHandshakeThatMakesASessionHasTheWholeTimeout(t *testing.T) {
	require.Equal(t, 8000*ms, dialerOf(t.Context(), pressed{timeout: 8000 * ms}).handshakeLimit())
	require.Equal(t, 250*ms, dialerOf(t.Context(), pressed{timeout: 100 * ms}).handshakeLimit())
}

func TestThereIsAPauseBetweenTheRoundsOfTheServersThatIsShortWhileALeaseRuns(t *testing.T) {
	for left, most := range map[time.Duration]time.Duration{0: backoff.Before(1), 80 * ms: 10 * ms, 1: 0} {
		virtual.Test(t, func(t *testing.T) {
			d := dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms, left: left})
			longest := time.Duration(0)
			for range 100 {
				begun := time.Now()
				for range 3 {
					require.NoError(t, d.pause())
				}
				require.Zero(t, time.Since(begun), "each server is tried once")
				require.NoError(t, d.pause())
				require.GreaterOrEqual(t, time.Since(begun), most/2)
				require.LessOrEqual(t, time.Since(begun), most)
				longest = max(longest, time.Since(begun))
				d.served()
			}
			require.GreaterOrEqual(t, longest, most*9/10, "it is drawn, since others lost their servers at the same time")
		})
	}
}

func TestAClosedSessionPausesForNoServer(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		d := dialerOf(ctx, pressed{id: 1, timeout: 8000 * ms})
		for range 3 {
			require.NoError(t, d.pause())
		}
		time.AfterFunc(1, end)
		begun := time.Now()
		require.ErrorIs(t, d.pause(), context.Canceled)
		require.EqualValues(t, 1, time.Since(begun))
		d.served()
		require.ErrorIs(t, d.pause(), context.Canceled)
	})
}

// pipes is a dialer of connections that are open at the other end until they are closed here.
type pipes struct {
	dialed func()
	others []net.Conn
}

func (p *pipes) dial(string, string, time.Duration) (net.Conn, error) {
	if p.dialed != nil {
		p.dialed()
	}
	ours, other := net.Pipe()
	p.others = append(p.others, other)
	return ours, nil
}

// isOpen reports whether the nth connection is.
func (p *pipes) isOpen(n int) bool {
	_ = p.others[n].SetReadDeadline(time.Now().Add(1))
	_, err := p.others[n].Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func TestOnlyTheNewestConnectionIsOpenAndNoneOfAClosedSession(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		s, p := pressed{id: 1, timeout: 8000 * ms}, new(pipes)
		d := NewDialer(ctx, s, Options{Hosts: NewHosts(), Dial: p.dial, Log: s, Clock: new(clock.Clock)})
		require.NoError(t, d.Hosts.Init([]string{"a", "b", "c", "d"}))
		d.Cut() // there is none
		for n := range 2 {
			_, err := d.Connect("tcp", "a", time.Second)
			require.NoError(t, err)
			require.True(t, p.isOpen(n))
		}
		require.False(t, p.isOpen(0))
		p.dialed = end // while the third is made
		for range 2 {
			begun := time.Now()
			requireItsOwn(t, d, "a")
			require.Zero(t, time.Since(begun), "what is made is closed at once")
			require.False(t, p.isOpen(2))
		}
		require.Len(t, p.others, 3, "no server is dialled any more")
	})
}

func TestTheEndOfASessionCutsItsConnectionAndWaitsForTheClientsDialButNotForEver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		s, p := pressed{id: 1, timeout: 8000 * ms}, new(pipes)
		d := NewDialer(ctx, s, Options{Hosts: NewHosts(), Dial: p.dial, Log: s, Clock: new(clock.Clock)})
		require.NoError(t, d.Hosts.Init([]string{"a", "b", "c"}))
		_, err := d.Connect("tcp", "a", time.Second)
		require.NoError(t, err)
		end()
		begun := time.Now()
		d.Stop()
		require.False(t, p.isOpen(0))
		require.Equal(t, dialLimit+lease.LeastDial, time.Since(begun), "a dial may take as long")
		time.AfterFunc(ms, func() {
			requireItsOwn(t, d, "a")
		})
		begun = time.Now()
		d.Stop()
		require.Equal(t, ms, time.Since(begun))
	})
}

// slow is a user's connection that takes its time.
type slow struct {
	net.Conn
	write, close time.Duration
}

func (c slow) Write(p []byte) (int, error) { time.Sleep(c.write); return len(p), nil }
func (c slow) Close() error                { time.Sleep(c.close); return c.Conn.Close() }

func TestAConnectionIsClosedForNobodyAndHasEndedBehindTheDialer(t *testing.T) {
	for _, takes := range []slow{{write: time.Second}, {close: time.Second}} {
		virtual.Test(t, func(t *testing.T) {
			p := plugged(t, lively())
			l := p.greeted(1, ms)
			l.conn.Conn = slow{l.conn.Conn, takes.write, takes.close}
			begun := time.Now()
			l.Send(reading("/a"))
			synctest.Wait()
			l.Close()
			require.Zero(t, time.Since(begun))
			p.Await()
			require.Equal(t, time.Second, time.Since(begun))
		})
	}
}

// failing is a session that hears why it has no connection.
type failing struct {
	pressed
	heard []error
}

func (s *failing) Failed(err error) { s.heard = append(s.heard, err) }

// Something in between may refuse connections for a server that is away.
func TestADialHasItsTimeAndCountsAsSlowOnlyIfItHasUsedThatUp(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		asked, limit time.Duration
		late         bool
		err          error
		slow         int64
	}{
		"refused, in what go-zookeeper gives":  {500 * ms, 500 * ms, false, refused, 0},
		"refused, in an eighth of the timeout": {5000 * ms, 1000 * ms, false, refused, 0},
		"refused when the time is up":          {500 * ms, 500 * ms, true, refused, 1},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			s := &failing{pressed: pressed{id: 1, timeout: 8000 * ms}}
			d := NewDialer(t.Context(), s, Options{Hosts: NewHosts(), Log: s, Dial: func(_, _ string, limit time.Duration) (net.Conn, error) {
				require.Equal(t, c.limit, limit)
				if c.late {
					time.Sleep(limit + 1)
				}
				return nil, c.err
			}})
			require.NoError(t, d.Hosts.Init([]string{"a", "b", "c"}))
			conn, err := d.Connect("tcp", "a", c.asked)
			require.Nil(t, conn)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, []error{c.err}, s.heard)
			require.Equal(t, c.slow, d.slow.Load())
			d.Dial = new(pipes).dial
			_, err = d.Connect("tcp", "b", c.asked)
			require.NoError(t, err)
			require.Equal(t, []error{c.err, Attempt{Server: "b", Sent: connectRequest}}, s.heard, "the server has to answer yet")
		})
	}
}

// diary notes what is logged at Debug.
type diary struct {
	Log
	lines []string
}

func (d *diary) Debug(message string, args ...any) {
	d.lines = append(d.lines, fmt.Sprint(message, args))
}

func TestTheLogTellsOfEachAttemptThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		fails func(p *plug)
		why   string
	}{
		"the dial": {fails: func(p *plug) {
			p.Dial = func(string, string, time.Duration) (net.Conn, error) { return nil, errors.New("refused") }
			_, err := p.Connect("tcp", "a:2181", time.Second)
			require.Error(p.t, err)
		}, why: "refused"},
		"the handshake": {fails: func(p *plug) {
			l := p.dialed()
			_, _ = l.Write(ask)
			l.listen()
			l.hangsUp()
		}, why: "a:2181 hung up 0 ms after the connect request"},
		"the login": {fails: func(p *plug) {
			l := p.asked(new(script), 1)
			l.says(toToken(-5, authFailed))
			<-l.heard
		}, why: "a:2181, SASL login by SCRIPT"},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := lively()
			p, d := plugged(t, a), &diary{Log: a}
			p.Log = d
			tc.fails(p)
			synctest.Wait()
			require.Len(t, d.lines, 1)
			require.Contains(t, d.lines[0], "zklock: attempt to connect failed[server a:2181 error "+tc.why)
		})
	}
}

func TestWithoutADialerOfTheUsersOwnServersAreReachedByTheNet(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	s := &failing{pressed: pressed{id: 1, timeout: 8000 * ms}}
	d := NewDialer(t.Context(), s, Options{Hosts: NewHosts(), Log: s, Clock: new(clock.Clock)})
	require.NoError(t, d.Hosts.Init([]string{server.Addr().String()}))
	conn, err := d.Connect("tcp", server.Addr().String(), time.Minute)
	require.NoError(t, err)
	defer conn.Close()
	other, err := server.Accept()
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, conn.LocalAddr(), other.RemoteAddr())
}

func TestANameServerIsAskedByTheNetUnlessTheUserHasAnotherWay(t *testing.T) {
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = new(net.Resolver)
	conn, err := resolver().Dial(t.Context(), "udp", "127.0.0.1:53")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// As when the network is gone just when the connection is.
func TestANameServerThatDoesNotAnswerIsAskedNoLongerThanTheDialTakes(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	var asked atomic.Int32
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked.Add(1)
		return (&net.Dialer{Resolver: usual}).DialContext(ctx, "udp", silent.LocalAddr().String())
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*ms)
	defer cancel()
	_, err = dialerOf(t.Context(), pressed{}).raw(ctx, "tcp", "server.example.com:2181")
	require.Error(t, err)
	require.Positive(t, asked.Load())
	goleak.VerifyNone(t) // waits for no more than a second
}
