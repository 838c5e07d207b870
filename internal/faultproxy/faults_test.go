package faultproxy

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// requireReset fails unless a new connection is reset, at once or soon.
func requireReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	require.True(t, isReset(err), "%v", err)
}

func runRaw(t *testing.T) (*Proxy, <-chan *peer) {
	t.Helper()
	addr, accepted := serve(t)
	p, err := NewRaw(addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, accepted
}

func TestBytesPassUnchangedInBothDirections(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	client.send("question")
	server.expect("question")
	server.send("answer")
	client.expect("answer")
}

func TestAHalfClosedConnectionStillCarriesTheOtherDirection(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	require.NoError(t, client.conn.(*net.TCPConn).CloseWrite())
	require.NoError(t, server.expectEnd())
	server.send("answer")
	client.expect("answer")
	require.NoError(t, server.conn.Close())
	require.NoError(t, client.expectEnd())
}

func TestAResetPassesThrough(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	require.NoError(t, server.conn.(*net.TCPConn).SetLinger(0))
	require.NoError(t, server.conn.Close())
	require.True(t, isReset(client.expectEnd()))
}

func TestAnUnreachableTargetResetsTheClient(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	requireReset(t, Run(t, listener.Addr().String()))
}

func TestCutEndsConnectionsAndAcceptsNewOnes(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Cut()
	require.NoError(t, client.expectEnd())
	require.NoError(t, server.expectEnd())

	client, server = pair(t, p, accepted)
	client.send("again")
	server.expect("again")
}

func TestResetIsSeenAsAResetByBothSides(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	client.send("established")
	server.expect("established")
	p.Reset()
	require.True(t, isReset(client.expectEnd()))
	require.True(t, isReset(server.expectEnd()))
}

func TestARefusingProxyResetsNewConnectionsOnly(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Refuse(true)
	requireReset(t, p)
	client.send("old")
	server.expect("old")

	p.Refuse(false)
	client, server = pair(t, p, accepted)
	client.send("new")
	server.expect("new")
}

func TestAFrozenDirectionHoldsBytesAndTheEndUntilThawed(t *testing.T) {
	for name, dir := range map[string]Direction{"client to server": ClientToServer, "server to client": ServerToClient} {
		t.Run(name, func(t *testing.T) {
			p, accepted := runRaw(t)
			from, to := pair(t, p, accepted)
			if dir == ServerToClient {
				from, to = to, from
			}
			p.Freeze(dir)
			from.send("held")
			require.NoError(t, from.conn.(*net.TCPConn).CloseWrite())
			to.expectSilence()
			to.send("the other way")
			from.expect("the other way")

			p.Thaw(dir)
			to.expect("held")
			require.NoError(t, to.expectEnd())
		})
	}
}

func TestAConnectionMadeWhileFrozenReachesTheServerWhenThawed(t *testing.T) {
	p, accepted := runRaw(t)
	p.Freeze(Both)
	client := dial(t, p)
	client.send("question")
	client.expectSilence()
	require.Empty(t, accepted)

	p.Thaw(Both)
	server := <-accepted
	server.expect("question")
	require.NoError(t, server.conn.Close())
}

func TestHeldBytesReachTheServerAfterTheClientIsGone(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	client.send("early")
	server.expect("early")
	p.Freeze(Both)
	client.send("late")
	require.NoError(t, client.conn.Close())
	server.send("never read")
	server.expectSilence()
	p.Thaw(ClientToServer)
	server.expect("late")
}

func TestDropDiscardsWhatWasFrozen(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Freeze(ClientToServer)
	client.send("lost")
	p.Drop(ClientToServer)
	server.expectSilence()
	p.Thaw(ClientToServer)
	client.send("seen")
	server.expect("seen")
}

func TestADroppedEndLeavesTheConnectionHalfOpen(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Drop(ClientToServer)
	require.NoError(t, client.conn.(*net.TCPConn).CloseWrite())
	server.expectSilence()
	server.send("answer")
	client.expect("answer")
}

func TestCutDiscardsWhatWasFrozen(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Freeze(ClientToServer)
	client.send("lost")
	p.Cut()
	require.True(t, closed(server.expectEnd()))
}

func TestDelayIsLatencyNotThroughput(t *testing.T) {
	const delay, messages = 500 * time.Millisecond, 20
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Delay(ClientToServer, delay)
	started := time.Now()
	for range messages {
		client.send("x")
		server.send("y") // not delayed
		client.expect("y")
	}
	server.expect(strings.Repeat("x", messages))
	took := time.Since(started)
	require.GreaterOrEqual(t, took, delay)
	require.Less(t, took, messages*delay)
}

func TestSlicesArriveWhole(t *testing.T) {
	p, accepted := runRaw(t)
	client, server := pair(t, p, accepted)
	p.Slice(1)
	client.send("in pieces")
	server.expect("in pieces")
	p.Slice(0)
	client.send("at once")
	server.expect("at once")
}

func TestCloseEndsFrozenConnections(t *testing.T) {
	p, accepted := runRaw(t)
	client, _ := pair(t, p, accepted)
	p.Freeze(Both)
	client.send("held")
	p.Close()
	require.True(t, closed(client.expectEnd()))
	_, err := net.Dial("tcp", p.Addr())
	require.Error(t, err)
}

func TestAStreamThatIsNotFramedIsReset(t *testing.T) {
	addr, accepted := serve(t)
	client, _ := pair(t, Run(t, addr), accepted)
	client.send("ruok")
	_, err := io.ReadAll(client.conn)
	require.True(t, isReset(err))
}
