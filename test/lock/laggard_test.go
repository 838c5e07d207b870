package lock_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// slowToApply has a server read before it applies a commit, and apply one commit at a time:
// under many reads it lags, by minutes if they go on.
var slowToApply = []string{
	"-Dzookeeper.commitProcessor.maxCommitBatchSize=1",
	"-Dzookeeper.commitProcessor.numWorkerThreads=1",
	"-Dzookeeper.maxGetChildrenResponseCacheSize=0",
}

// laggard has a server lag until stop is called. The writes that it is behind go in at another
// one.
func laggard(t *testing.T, server, other *apachezk.Server, path string) (stop func()) {
	var over atomic.Bool
	repeat := func(conn *zk.Conn, request func(*zk.Conn) error) {
		go func() {
			for !over.Load() && request(conn) == nil {
			}
		}()
	}
	for range 2 {
		reader := dial(t, server.Addr())
		for range 4 {
			repeat(reader, func(c *zk.Conn) error { _, _, err := c.Children(path); return err })
		}
	}
	writer := dial(t, other.Addr())
	for range 8 {
		repeat(writer, func(c *zk.Conn) error { _, err := c.Set(path, nil, -1); return err })
	}
	return func() { over.Store(true) }
}

// crowdedNode makes a node with so many children that to list them takes a while.
func crowdedNode(t *testing.T, conn *zk.Conn, path string) {
	_, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	for range 6 {
		var creates []any
		for range 500 {
			creates = append(creates, &zk.CreateRequest{
				Path: path + "/" + strings.Repeat("x", 150), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagSequence,
			})
		}
		_, err := conn.Multi(creates...)
		require.NoError(t, err)
	}
}

// mover dials from, until its connection is to send a list of a path that ends in /leases: then
// it loses that, and dials to.
type mover struct {
	from, to string
	moved    atomic.Bool
}

func (m *mover) dial(network, _ string, timeout time.Duration) (net.Conn, error) {
	address := m.from
	if m.moved.Load() {
		address = m.to
	}
	conn, err := net.DialTimeout(network, address, timeout)
	return &moving{Conn: conn, mover: m, lose: address != m.to}, err
}

type moving struct {
	net.Conn
	*mover
	lose bool // the list is lost
}

func (c *moving) Write(p []byte) (int, error) {
	const opGetChildren2 = 12
	for frame := p; c.lose && len(frame) > 12; frame = frame[min(len(frame), 4+int(binary.BigEndian.Uint32(frame))):] {
		if binary.BigEndian.Uint32(frame[8:]) == opGetChildren2 && strings.Contains(string(frame), "/leases") {
			c.moved.Store(true)
			c.Conn.Close()
			return 0, errors.New("the list is lost")
		}
	}
	return c.Conn.Write(p)
}

// An event gives the turn, the connection breaks, and the next server does not know yet what
// the last one in turn has taken.
func TestPermitsAreNotOversoldBehindAServerThatLags(t *testing.T) {
	t.Parallel()
	ensemble := apachezk.Run(t, func(c *apachezk.Config) { c.Servers, c.JVM = 3, slowToApply })
	near, far := ensemble.Server(0), ensemble.Server(1)
	at := siteAt(t, near.Addr())
	farConn := dial(t, far.Addr())
	crowdedNode(t, at.conn, "/crowded")
	sessionBy := func(m *mover) *zklock.Session {
		s, err := zklock.Connect(t.Context(), []string{near.Addr()}, longSession, zklock.WithDialer(m.dial))
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	take := func(s *zklock.Session, n int) <-chan *zklock.Hold {
		sem, err := zklock.NewSemaphore(s, at.path, 2)
		require.NoError(t, err)
		got := make(chan *zklock.Hold, 1)
		go func() {
			h, err := sem.Acquire(within(t, 2*patience), n)
			if err == nil {
				got <- h
			}
		}()
		return got
	}
	for round := range often(5) {
		at.path = fmt.Sprint("/busy", round)
		stays := &mover{to: near.Addr()}
		stays.moved.Store(true)
		moves := &mover{from: near.Addr(), to: far.Addr()}
		out := receive(t, take(sessionBy(stays), 1), "the first permit")
		first := take(sessionBy(stays), 2)
		turns := func() []string {
			names, _, err := at.conn.Children(at.path + "/locks")
			require.NoError(t, err)
			return slices.SortedFunc(slices.Values(names), func(a, b string) int {
				return strings.Compare(sequenceOf(a), sequenceOf(b))
			})
		}
		eventually(t, "the first in turn", func() bool {
			in := turns()
			return len(in) == 1 && sequenceOf(in[0]) == "0000000001"
		})
		second := take(sessionBy(moves), 1)
		eventually(t, "the second to watch the first", func() bool {
			in := turns()
			return len(in) == 2 && watchedAt(t, near, at.path+"/locks/"+in[0])
		})
		_, err := farConn.Sync("/")
		require.NoError(t, err)

		catchUp := laggard(t, far, near, "/crowded")
		behind := func() int32 {
			_, there, err := farConn.Exists("/crowded")
			require.NoError(t, err)
			_, here, err := at.conn.Exists("/crowded")
			require.NoError(t, err)
			return here.Version - there.Version
		}
		eventually(t, "the server to lag", func() bool { return behind() > 30 })
		require.NoError(t, out.Release(t.Context()))
		held := receive(t, first, "both permits")
		eventually(t, "the second to move", moves.moved.Load)
		for range 3 { // until reads of the second's have been answered, if they were sent
			behind()
		}
		catchUp()
		_, err = farConn.Sync("/")
		require.NoError(t, err)
		select {
		case h := <-second:
			require.False(t, held.Valid() && h.Valid(), "three permits of two are out")
		case <-time.After(aWhile):
		}
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, receive(t, second, "the second's permit").Release(t.Context()))
	}
}
