package lock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func (at *site) inspect(s *zklock.Session) []zklock.Contender {
	at.t.Helper()
	found, err := zklock.Inspect(within(at.t, patience), s, at.path)
	require.NoError(at.t, err)
	return found
}

// nodesOf returns the nodes of contenders, and heldOf whether they hold the lock.
func nodesOf(found []zklock.Contender) (nodes []string) {
	for _, c := range found {
		nodes = append(nodes, c.Node)
	}
	return nodes
}

func heldOf(found []zklock.Contender) (held []bool) {
	for _, c := range found {
		held = append(held, c.Held)
	}
	return held
}

func TestInspectTellsWhoHoldsALockAndWhoWaits(t *testing.T) {
	at := newSite(t)
	observer := at.session()
	require.Empty(t, at.inspect(observer), "a path that does not exist")
	before := time.Now().Add(-time.Minute)
	sessions := []*zklock.Session{at.session(), at.session(), at.session()}
	l := at.locker(sessions[0])
	l.Lock()
	var waiting []<-chan *zklock.Hold
	for i, s := range sessions[1:] {
		waiting = append(waiting, at.begin(at.locker(s, zklock.WithData(fmt.Append(nil, "waiter ", i+1))).Acquire))
		at.awaitQueue(i + 2)
	}
	found := at.inspect(observer)
	require.Equal(t, at.queue(), nodesOf(found))
	require.Equal(t, []bool{true, false, false}, heldOf(found))
	require.Equal(t, l.Held().Node(), found[0].Node)
	require.Equal(t, l.Held().Token(), found[0].Token)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Contains(t, string(found[0].Data), fmt.Sprintf("host=%s pid=%d", host, os.Getpid()))
	require.Equal(t, "waiter 2", string(found[2].Data))
	for i, c := range found {
		require.Equal(t, zklock.Exclusive, c.Kind)
		require.Equal(t, sessions[i].ID(), c.Session)
		require.WithinRange(t, c.Created, before, time.Now().Add(time.Minute))
	}
	l.Unlock()
	for _, w := range waiting {
		require.NoError(t, receive(t, w, "a waiter's turn").Release(t.Context()))
	}
}

func TestInspectTellsThePermitsThatAreOutAndWhoIsInLine(t *testing.T) {
	at := newSite(t)
	s := at.session()
	sem := at.semaphore(s, 2)
	h := take(t, sem, 2)
	waiting := at.permits(sem, 1)
	at.awaitLine(1)
	found := at.inspect(at.session())
	require.Equal(t, []bool{true, true, false}, heldOf(found))
	require.Equal(t, zklock.Permit, found[0].Kind)
	require.Equal(t, zklock.Permit, found[1].Kind)
	require.Equal(t, zklock.Exclusive, found[2].Kind)
	require.Contains(t, nodesOf(found), h.Node())
	require.Equal(t, at.path+"/locks/"+at.childrenOf(at.path + "/locks")[0], found[2].Node)
	for _, c := range found {
		require.Equal(t, s.ID(), c.Session)
	}
	require.NoError(t, h.Release(t.Context()))
	h = receive(t, waiting, "a permit")

	// The server removes the node of a line in which nobody stands.
	eventually(t, "the empty line to be removed", func() bool {
		exists, _, err := at.conn.Exists(at.path + "/locks")
		require.NoError(t, err)
		return !exists
	})
	found = at.inspect(s)
	require.Equal(t, []string{h.Node()}, nodesOf(found), "the permit is still out")
	require.NoError(t, h.Release(t.Context()))
}

func TestInspectKnowsOtherLibrariesNodesAndIgnoresTheRest(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	const id = "8a0e00000000400080000000000000"
	for _, name := range []string{
		"_c_8a0e0000-0000-4000-8000-000000000000-lock-", // Curator
		"_c_" + id + "00-lock-",                         // zk.Lock
		id + "01__lock__",                               // kazoo
		id + "02__rlock__",                              // kazoo
		"lock-", "n_",                                   // somebody's else
	} {
		_, err := at.conn.Create(at.path+"/"+name, []byte(name), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	for name, flags := range map[string]int32{"config": zk.FlagEphemeral, "order-0000000000": zk.FlagPersistent, "order-1234567890": zk.FlagContainer} {
		_, err := at.conn.Create(at.path+"/"+name, nil, flags, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	found := at.inspect(at.session())
	require.Len(t, found, 6)
	require.Equal(t, []bool{true, false, false, false, false, false}, heldOf(found))
	require.Equal(t, zklock.Read, found[3].Kind)
	for i, c := range found {
		require.Equal(t, at.conn.SessionID(), c.Session)
		require.NotEmpty(t, c.Data)
		require.Equal(t, i == 5, c.Foreign, c.Node)
		require.False(t, c.Persistent)
	}
}

// Nobody will ever remove it, and everybody waits behind it.
func TestAPersistentNodeWithALocksNameIsSeenForWhatItIs(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	node, err := at.conn.Create(at.path+"/x-lock-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	s := at.session()
	found := at.inspect(s)
	require.Len(t, found, 1)
	require.True(t, found[0].Held)
	require.True(t, found[0].Persistent)
	require.Zero(t, found[0].Session)
	err = zklock.Revoke(t.Context(), s, at.path)
	require.ErrorContains(t, err, node+": it is persistent")
	require.NotErrorIs(t, err, zk.ErrNoNode)
	require.False(t, at.stranger().TryLock())
}

// Its owner would not heed the mark, and may need what the node says.
func TestAnotherLibrarysNodeIsNotWrittenOnToAskForItsLock(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	node, err := at.conn.Create(at.path+"/n_", []byte("theirs"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	s := at.session()
	for _, path := range []string{at.path, node} {
		require.ErrorContains(t, zklock.Revoke(t.Context(), s, path), "its name is of no form that this library knows")
	}
	data, _, err := at.conn.Get(node)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(data))
}

func TestInspectSaysWhatItCannotSee(t *testing.T) {
	at := newSite(t)
	s := at.session()
	_, err := zklock.Inspect(done(), s, at.path)
	require.ErrorIs(t, err, context.Canceled)
	_, err = zklock.Inspect(t.Context(), nil, at.path)
	require.ErrorContains(t, err, "session is nil")
	_, err = zklock.Inspect(t.Context(), s, "relative")
	require.ErrorContains(t, err, "relative")
	at.create(at.path, zk.FlagPersistent, zk.PermAll&^zk.PermRead)
	_, err = zklock.Inspect(t.Context(), s, at.path)
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, at.path)
	require.NoError(t, s.Close())
	_, err = zklock.Inspect(t.Context(), s, at.path)
	require.ErrorIs(t, err, zklock.ErrClosed)
}

// fill makes a queue of so many nodes, which say their number.
func (b *bubble) fill(s *zklock.Session, nodes int) {
	b.t.Helper()
	made := []any{&zk.CreateRequest{Path: b.path, Acl: zk.WorldACL(zk.PermAll)}}
	for i := range nodes {
		made = append(made, &zk.CreateRequest{
			Path: b.path + "/_c_8a0e0000-0000-4000-8000-000000000000-lock-", Data: fmt.Append(nil, i),
			Flags: zk.FlagEphemeralSequential, Acl: zk.WorldACL(zk.PermAll),
		})
	}
	_, err := s.Conn().Multi(made...)
	require.NoError(b.t, err)
}

// A list and one read for each node, sent together: the time is that of two requests, however
// long the queue, up to 500.
func TestInspectReadsALongQueueWithinThreeRoundTrips(t *testing.T) {
	const waiters = 500
	inFarBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("observer")
		b.fill(s, waiters)
		began := time.Now()
		_, _, err := s.Conn().Exists("/")
		require.NoError(t, err)
		trip := time.Since(began)
		began = time.Now()
		found, err := zklock.Inspect(t.Context(), s, b.path)
		took := time.Since(began)
		require.NoError(t, err)
		require.Len(t, found, waiters)
		require.Equal(t, "499", string(found[waiters-1].Data))
		t.Logf("%d contenders in %v, %.2f round trips of %v", waiters, took, float64(took)/float64(trip), trip)
		require.Less(t, took, 3*trip)
	})
}

// The end of the context is not told by an answer: Inspect has to look, ahead of each 500 reads.
func TestInspectBeginsNoReadsWhenItsContextHasEnded(t *testing.T) {
	for after, reads := range map[zktest.Op]int{zktest.OpGetChildren2: 0, zktest.OpGetData: 500} {
		t.Run(after.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("observer")
				b.fill(s, 501)
				before := b.server.Requests()
				ended, cancel := context.WithCancel(t.Context())
				defer cancel()
				ctx := hookedCtx{ended, func() {
					if b.server.Requests()[after] > before[after] {
						cancel()
					}
				}}
				_, err := zklock.Inspect(ctx, s, b.path)
				require.ErrorIs(t, err, context.Canceled)
				synctest.Wait()
				require.Equal(t, reads, b.server.Requests()[zktest.OpGetData]-before[zktest.OpGetData])
			})
		})
	}
}

// Whoever stops writing and reads on has two nodes in one place of the queue.
func TestInspectTellsThatADowngradedWriterHoldsBothLocks(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.rw(s)
	l.Lock()
	l.RLock()
	waiting := at.begin(at.rw(at.session()).RAcquire)
	at.awaitQueue(3)
	found := at.inspect(s)
	require.Equal(t, []bool{true, true, false}, heldOf(found))
	require.ElementsMatch(t, []zklock.Kind{zklock.Write, zklock.Read}, []zklock.Kind{found[0].Kind, found[1].Kind})
	l.Unlock()
	l.RUnlock()
	require.NoError(t, receive(t, waiting, "the reader's turn").Release(t.Context()))
}

// inspectWhile inspects a lock and calls do ahead of a read.
func (at *site) inspectWhile(server *zktest.Server, read zktest.Op, node string, do func()) []zklock.Contender {
	at.t.Helper()
	observer := at.session()
	reading := server.HoldRequest(read, zktest.OnSession(observer.ID()), zktest.OnPath(node))
	inspected := make(chan []zklock.Contender, 1)
	go func() {
		found, _ := zklock.Inspect(within(at.t, patience), observer, at.path)
		inspected <- found
	}()
	receive(at.t, reading.Struck(), "the read")
	do()
	reading.Release()
	return receive(at.t, inspected, "the queue")
}

func TestInspectTellsWhoHasTheLockThatGoesOnMeanwhile(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	first := at.locker(at.session())
	first.Lock()
	var waiting []<-chan *zklock.Hold
	for i := range 2 {
		waiting = append(waiting, at.begin(at.locker(at.session()).Acquire))
		at.awaitQueue(i + 2)
	}
	found := at.inspectWhile(server, zktest.OpGetData, first.Held().Node(), func() {
		require.NoError(t, first.UnlockContext(t.Context()))
	})
	require.Equal(t, at.queue(), nodesOf(found))
	require.Equal(t, []bool{true, false}, heldOf(found))
	for _, w := range waiting {
		require.NoError(t, receive(t, w, "a waiter's turn").Release(t.Context()))
	}
}

func TestInspectTellsOfTheReaderThatAWriterHasBecomeMeanwhile(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	l := at.rw(at.session())
	l.Lock()
	waiting := at.begin(at.rw(at.session()).Acquire)
	at.awaitQueue(2)
	found := at.inspectWhile(server, zktest.OpGetData, l.Held().Node(), func() {
		l.RLock()
		require.NoError(t, l.UnlockContext(t.Context()))
	})
	require.Equal(t, at.queue(), nodesOf(found))
	require.Equal(t, []bool{true, false}, heldOf(found))
	require.Equal(t, zklock.Read, found[0].Kind)
	l.RUnlock()
	require.NoError(t, receive(t, waiting, "the writer's turn").Release(t.Context()))
}

func TestInspectLooksThreeTimesAtMost(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	at.makeParent()
	operator, observer := at.session(), at.session()
	var writers []string
	for i := range 5 {
		node, err := operator.Conn().Create(fmt.Sprintf("%s/_c_%d-__WRIT__%010d", at.path, i, i), nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		writers = append(writers, node)
	}
	before := server.Requests()[zktest.OpGetChildren2]
	listing := func() *zktest.Fault {
		return server.HoldReply(zktest.OpGetChildren2, zktest.OnSession(observer.ID()))
	}
	next := listing()
	inspected := begin(func() error {
		_, err := zklock.Inspect(within(t, patience), observer, at.path)
		return err
	})
	for look := range 3 { // in each of which a writer goes between list and read
		list := next
		receive(t, list.Struck(), "the list")
		require.NoError(t, operator.Conn().Delete(writers[look], -1))
		if look < 2 {
			next = listing()
		}
		list.Release()
	}
	require.NoError(t, receive(t, inspected, "the queue"))
	require.Equal(t, before+3, server.Requests()[zktest.OpGetChildren2])
}

func TestInspectTellsOfThePermitsThatSomebodyInLineHasTakenMeanwhile(t *testing.T) {
	server := zktest.NewServer(t)
	for _, read := range []zktest.Op{zktest.OpGetChildren2, zktest.OpGetData} { // of the line, and of who is in it
		at := siteAt(t, server.Addr())
		sem := at.semaphore(at.session(), 2)
		kept, h := take(t, sem, 1), take(t, sem, 1)
		at.awaitLine(0)
		waiting := at.permits(sem, 1)
		at.awaitLine(1)
		node := at.path + "/locks"
		if read == zktest.OpGetData {
			node += "/" + at.childrenOf(node)[0]
		}
		found := at.inspectWhile(server, read, node, func() {
			require.NoError(t, h.Release(t.Context()))
			h = receive(t, waiting, "a permit")
			at.awaitLine(0)
		})
		require.ElementsMatch(t, []string{kept.Node(), h.Node()}, nodesOf(found), "%v", read)
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, kept.Release(t.Context()))
	}
}

// A lock below another one may have the name of a semaphore's node.
func TestInspectTellsALockWithAChildNamedLeasesFromASemaphore(t *testing.T) {
	at := newSite(t)
	s := at.session()
	outer := at.locker(s)
	top := at.path
	at.path += "/leases"
	at.locker(s).Lock()
	at.path = top
	require.Empty(t, at.inspect(s), "nobody has the outer lock")
	outer.Lock()
	found := at.inspect(s)
	require.Equal(t, []string{outer.Held().Node()}, nodesOf(found))
	require.Equal(t, []bool{true}, heldOf(found))
	require.Equal(t, zklock.Exclusive, found[0].Kind)
}

// From ZooKeeper 3.9.2 on a server does not even show the stat of such a node (ZOOKEEPER-2590).
func TestANodeThatMayNotBeLookedAtHidesNoOthersAndCanBeAskedForItsLock(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		operator, owner := b.session("operator"), b.session("owner", zklock.WithAuth("digest", []byte("owner:key")))
		_, err := operator.Conn().Create(b.path, nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		closed := append(zk.WorldACL(zk.PermWrite|zk.PermDelete), zk.DigestACL(zk.PermAll, "owner", "key")...)
		first, err := b.rw(owner, zklock.WithACL(closed)).RAcquire(t.Context())
		require.NoError(t, err)
		second, err := b.rw(b.session("second")).RAcquire(t.Context())
		require.NoError(t, err)
		found, err := zklock.Inspect(t.Context(), operator, b.path)
		require.NoError(t, err)
		require.Equal(t, zklock.Contender{Node: first.Node(), Kind: zklock.Read, Held: true}, found[0])
		require.Equal(t, second.Token(), found[1].Token)
		require.NoError(t, zklock.Revoke(t.Context(), operator, b.path))
		time.Sleep(time.Second)
		require.True(t, isClosed(first.Revoked()))
		require.True(t, isClosed(second.Revoked()))
	})
}
