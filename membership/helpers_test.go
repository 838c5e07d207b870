package membership_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

const (
	path    = "/app/servers"
	timeout = 4 * time.Second

	// patience is how long a test waits for what has to happen.
	patience = time.Minute
)

// inBubble runs test in virtual time, with a server of its own.
func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t, opts...)) })
}

// runInBubble is inBubble of a case that has a name.
func runInBubble(t *testing.T, name string, test func(t *testing.T, server *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inBubble(t, test, opts...) })
}

// inSession is inBubble with a session.
func inSession(t *testing.T, test func(t *testing.T, server *zktest.Server, s *zklock.Session)) {
	t.Helper()
	inBubble(t, func(t *testing.T, server *zktest.Server) { test(t, server, connect(t, server)) })
}

// runInSession is inSession of a case that has a name.
func runInSession(t *testing.T, name string, test func(t *testing.T, server *zktest.Server, s *zklock.Session)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inSession(t, test) })
}

// connect opens a session of server through memory, until the test ends.
func connect(t *testing.T, server *zktest.Server, opts ...zklock.SessionOption) *zklock.Session {
	t.Helper()
	opts = append([]zklock.SessionOption{zklock.WithDialer(server.Dial)}, opts...)
	s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// join makes a member that says text.
func join(t *testing.T, s *zklock.Session, text string, opts ...membership.Option) *membership.Member {
	t.Helper()
	m, err := membership.Join(t.Context(), s, path, []byte(text), opts...)
	require.NoError(t, err)
	return m
}

// list is what a Watch has yielded.
type list struct {
	mu     sync.Mutex
	all    [][]membership.Peer
	err    error
	ended  chan struct{} // closed when the Watch has ended
	cancel func()
}

// watch runs a Watch until the test ends.
func watch(t *testing.T, s *zklock.Session, opts ...membership.Option) *list {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &list{ended: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(l.ended)
		for peers, err := range membership.Watch(ctx, s, path, opts...) {
			l.mu.Lock()
			if l.err = err; err == nil {
				l.all = append(l.all, peers)
			}
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-l.ended
	})
	return l
}

// latest returns the newest list, nil if there is none yet.
func (l *list) latest() []membership.Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return nil
	}
	return l.all[len(l.all)-1]
}

// lists returns how many lists there were.
func (l *list) lists() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// forget drops all lists but the newest.
func (l *list) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.Clone(l.all[len(l.all)-1:])
}

// await waits until the newest list has these members, in this order.
func (l *list) await(t *testing.T, texts ...string) {
	t.Helper()
	eventually(t, "the list to be "+strings.Join(texts, ", "), func() bool {
		return l.lists() > 0 && slices.Equal(textsOf(l.latest()), texts)
	})
}

func textsOf(peers []membership.Peer) (texts []string) {
	for _, p := range peers {
		texts = append(texts, string(p.Data))
	}
	return texts
}

// eventually waits until condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for limit := time.Now().Add(patience); !condition(); <-retry.C {
		if time.Now().After(limit) {
			require.FailNow(t, "waited in vain for "+what)
		}
	}
}

// owner returns the session that m's node belongs to, as the server has it; 0 if
// there is no such node.
func owner(server *zktest.Server, m *membership.Member) int64 {
	for _, node := range server.Nodes() {
		if node.Path == path+"/"+m.ID() {
			return node.Stat.EphemeralOwner
		}
	}
	return 0
}

// unseen has do change a node of which no watch tells then: the server uses up those of who may not
// read it, and says nothing (CVE-2024-23944).
func unseen(t *testing.T, conn *zk.Conn, name string, do func(node string) error) {
	t.Helper()
	setACL(t, conn, path+"/"+name, zk.PermAll&^zk.PermRead)
	require.NoError(t, do(path+"/"+name))
	setACL(t, conn, path+"/"+name, zk.PermAll)
}

// writeUnseen has a node say text, unseen.
func writeUnseen(t *testing.T, conn *zk.Conn, name, text string) {
	t.Helper()
	unseen(t, conn, name, func(node string) error {
		_, err := conn.Set(node, []byte(text), -1)
		return err
	})
}

// create makes a node that is everybody's.
func create(t *testing.T, conn *zk.Conn, node string, flags int32) {
	t.Helper()
	_, err := conn.Create(node, nil, flags, everybody)
	require.NoError(t, err)
}

// write has a node say text.
func write(t *testing.T, conn *zk.Conn, node, text string) {
	t.Helper()
	_, err := conn.Set(node, []byte(text), -1)
	require.NoError(t, err)
}

// setACL says what everybody may do with a node.
func setACL(t *testing.T, conn *zk.Conn, node string, perms int32) {
	t.Helper()
	_, err := conn.SetACL(node, zk.WorldACL(perms), -1)
	require.NoError(t, err)
}

// notes keeps the states that a member tells of.
func notes(states *[]membership.State) membership.Option {
	return membership.WithNotify(func(state membership.State) { *states = append(*states, state) })
}

var everybody = zk.WorldACL(zk.PermAll)
