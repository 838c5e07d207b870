package faultproxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/protocol"
)

// greet passes the connect frames, which have no header.
func greet(t *testing.T, p *Proxy, accepted <-chan *peer) (client, server *peer) {
	t.Helper()
	client, server = pair(t, p, accepted)
	client.sendFrame(0, 0, 0, 4000)
	server.expectFrame(0, 0, 0, 4000)
	server.sendFrame(0, 4000, 0, 0x1234)
	client.expectFrame(0, 4000, 0, 0x1234)
	return client, server
}

func TestAConnectFrameIsNotMistakenForARequest(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	dropped := p.DropRequest(OpCreate)
	client, server := pair(t, p, accepted)
	client.sendFrame(0, OpCreate, OpCreate, OpCreate)
	server.expectFrame(0, OpCreate, OpCreate, OpCreate)
	requireOpen(t, dropped)
}

func TestADroppedReplyIsLostAfterTheServerSawItsRequest(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	dropped := p.DropReply(OpCreate)

	client.sendFrame(1, OpDelete)
	client.sendFrame(2, OpCreate)
	server.expectFrame(1, OpDelete)
	server.expectFrame(2, OpCreate)
	server.sendFrame(1, 0)
	client.expectFrame(1, 0)
	requireOpen(t, dropped)
	server.sendFrame(2, 0)

	requireClosed(t, dropped)
	require.NoError(t, client.expectEnd())
}

func TestADroppedRequestDoesNotReachTheServer(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	dropped := p.DropRequest(OpCreate)

	client.sendFrame(1, OpDelete)
	server.expectFrame(1, OpDelete)
	client.sendFrame(2, OpCreate)

	requireClosed(t, dropped)
	require.NoError(t, server.expectEnd())
	require.True(t, closed(client.expectEnd()))
}

func TestAnOrderIsForOneRequest(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	first, second := p.DropRequest(OpCreate), p.DropRequest(OpCreate)
	for _, dropped := range []<-chan struct{}{first, second} {
		client, _ := greet(t, p, accepted)
		client.sendFrame(1, OpCreate)
		requireClosed(t, dropped)
	}
	client, server := greet(t, p, accepted)
	client.sendFrame(1, OpCreate)
	server.expectFrame(1, OpCreate)
}

func TestAHeldReplyKeepsWhatIsBehindItExceptPings(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	held := p.HoldReply(OpMulti)

	client.sendFrame(1, OpMulti)
	server.expectFrame(1, OpMulti)
	requireOpen(t, held.Arrived())
	server.sendFrame(1, 0)
	requireClosed(t, held.Arrived())
	client.sendFrame(2, OpGetData)
	server.expectFrame(2, OpGetData)
	server.sendFrame(2, 0)
	server.sendFrame(protocol.XidPing, 0)
	client.expectFrame(protocol.XidPing, 0)
	client.expectSilence()

	held.Release()
	held.Release()
	client.expectFrame(1, 0)
	client.expectFrame(2, 0)
}

func TestAReplyBehindAHeldOneCanBeHeldToo(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	first, second := p.HoldReply(OpCreate), p.HoldReply(OpGetChildren)
	client.sendFrame(1, OpCreate)
	client.sendFrame(2, OpGetChildren)
	server.expectFrame(1, OpCreate)
	server.expectFrame(2, OpGetChildren)
	server.sendFrame(1, 0)
	server.sendFrame(2, 0)

	requireClosed(t, first.Arrived())
	requireOpen(t, second.Arrived())
	first.Release()
	client.expectFrame(1, 0)
	requireClosed(t, second.Arrived())
	client.expectSilence()
	second.Release()
	client.expectFrame(2, 0)
}

func TestAReplyReleasedBeforeItArrivesIsNotHeld(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	p.HoldReply(OpCreate).Release()
	client.sendFrame(1, OpCreate)
	server.expectFrame(1, OpCreate)
	server.sendFrame(1, 0)
	client.expectFrame(1, 0)
}

func TestAHeldConnectResponseIsAHangingHandshake(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	held := p.HoldReply(OpConnect)
	client, server := pair(t, p, accepted)
	client.sendFrame(0, 0, 0, 4000)
	server.expectFrame(0, 0, 0, 4000)
	server.sendFrame(0, 4000, 0, 0x1234)
	requireClosed(t, held.Arrived())
	client.expectSilence()
	held.Release()
	client.expectFrame(0, 4000, 0, 0x1234)
}

func TestAnObserverSeesARequestBeforeTheServerDoes(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	seen, proceed := make(chan string, 1), make(chan struct{})
	p.OnRequest(func(op int32, data []byte) {
		if op == OpGetChildren {
			seen <- string(data)
			<-proceed
		}
	})
	client.sendFrame(7, OpGetChildren)
	require.Equal(t, frame(7, OpGetChildren), <-seen)
	server.expectSilence()
	close(proceed)
	server.expectFrame(7, OpGetChildren)
}

func TestAnObserverMayCutTheConnection(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	client, server := greet(t, p, accepted)
	p.OnRequest(func(int32, []byte) { p.Cut() })
	client.sendFrame(1, OpCreate)
	require.NoError(t, server.expectEnd())
	require.True(t, closed(client.expectEnd()))
}

func TestSlicedFramesAreStillFrames(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	p.Slice(1)
	client, server := greet(t, p, accepted)
	dropped := p.DropReply(OpSync)
	client.sendFrame(1, OpSync)
	server.expectFrame(1, OpSync)
	server.sendFrame(1, 0)
	requireClosed(t, dropped)
}

func TestATapOfItsOwnSeesTheFramesOfEachConnection(t *testing.T) {
	addr, accepted := serve(t)
	p := Run(t, addr)
	type sight struct {
		connection int
		dir        Direction
		frame      string
	}
	sights, connections := make(chan sight, 16), 0
	p.Tap(func() func(Direction, []byte) {
		connections++
		connection := connections
		return func(dir Direction, frame []byte) { sights <- sight{connection, dir, string(frame)} }
	})
	for connection := 1; connection <= 2; connection++ {
		client, server := greet(t, p, accepted)
		client.sendFrame(7, OpCreate)
		server.expectFrame(7, OpCreate)
		require.Equal(t, sight{connection, ClientToServer, frame(7, OpCreate)}, <-sights)
		server.sendFrame(7, 0)
		client.expectFrame(7, 0)
		require.Equal(t, sight{connection, ServerToClient, frame(7, 0)}, <-sights)
	}
	require.Empty(t, sights)
}
