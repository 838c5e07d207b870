package lock_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// watchersOf returns the sessions that watch the node.
func watchersOf(t testing.TB, server interface{ FourLetter(string) (string, error) }, node string) []string {
	t.Helper()
	answer, err := server.FourLetter("wchp")
	require.NoError(t, err)
	var sessions []string
	at := ""
	for line := range strings.Lines(answer) {
		if id, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t"); !ok {
			at = id
		} else if at == node {
			sessions = append(sessions, id)
		}
	}
	return sessions
}

func TestAWriterMayStopWritingAndGoOnReading(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.rw(s)
	l.Lock()
	writing := at.queue()[0]
	l.RLock()
	both := at.queue()
	require.Len(t, both, 2)
	require.ElementsMatch(t, []byte("RW"), []byte(kindsOf(both)))
	require.Equal(t, sequenceOf(both[0]), sequenceOf(both[1]), "the reader stands where the writer does")

	queuedWriter := at.begin(at.rw(at.session()).Acquire)
	at.awaitQueue(3)
	behind := at.rw(s)
	late := at.begin(behind.RAcquire) // behind the queued writer
	at.awaitQueue(4)
	lost, rlost := l.Lost(), l.RLost()
	l.Unlock()
	left := at.awaitQueue(3)
	require.Equal(t, "RWR", kindsOf(left), "the owner reads on, and keeps its place")
	require.NotContains(t, left, writing)
	requireSilent(t, queuedWriter, "the owner still reads")
	requireSilent(t, late, "a writer is ahead")
	require.False(t, isClosed(lost) || isClosed(rlost), "nothing was lost")
	require.ErrorIs(t, panicOf(t, l.Unlock), zklock.ErrNotHeld)
	require.ErrorIs(t, panicOf(t, l.Lock), zklock.ErrUpgrade)

	l.RUnlock()
	h := receive(t, queuedWriter, "the queued writer's turn")
	requireSilent(t, late, "a writer has the lock")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, receive(t, late, "the reader behind").Release(t.Context()))
	at.awaitQueue(0)
}

func TestADowngradeLetsInTheReadersBehindIt(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	l.Lock()
	var reading []<-chan *zklock.Hold
	for i := range 3 {
		reading = append(reading, at.begin(at.rw(at.session()).RAcquire))
		at.awaitQueue(2 + i)
	}
	l.RLock()
	for _, r := range reading {
		requireSilent(t, r, "the writer still writes")
	}
	require.NoError(t, l.UnlockContext(t.Context()))
	for _, r := range reading {
		require.NoError(t, receive(t, r, "a reader's turn").Release(t.Context()))
	}
	require.False(t, at.rw(at.session()).TryLock(), "the owner reads on")
	require.NoError(t, l.RUnlockContext(t.Context()))
	at.awaitQueue(0)
}

// Inside a process too: a goroutine of the same RWLocker reads with the owner that has stopped
// writing, and one that writes waits for it.
func TestADowngradeHoldsBetweenGoroutinesOfOneRWLocker(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	l.Lock()
	l.RLock()
	elsewhere(func() { require.False(t, l.TryRLock()) })
	l.Unlock()
	elsewhere(func() {
		require.True(t, l.TryRLock())
		require.False(t, l.TryLock())
		l.RUnlock()
	})
	wrote := begin(func() error {
		defer l.Unlock()
		return l.LockContext(t.Context())
	})
	at.awaitQueue(2)
	requireSilent(t, wrote, "the owner reads on")
	l.RUnlock()
	require.NoError(t, receive(t, wrote, "the writer's turn"))
	at.awaitQueue(0)
}

// The other order: reading ends before writing does.
func TestAWriterMayReadForAWhile(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	for range 3 {
		l.Lock()
		l.RLock()
		l.RLock()
		l.RUnlock() //lint:ignore SA2001 what it lets in is what is tested
		l.RUnlock()
		at.awaitQueue(1)
		elsewhere(func() { require.False(t, l.TryRLock()) })
		l.Unlock()
		elsewhere(func() {
			require.True(t, l.TryLock())
			l.Unlock()
		})
	}
	at.awaitQueue(0)
}

// Contenders of other libraries behind a downgrade: a writer of Curator's waits for the reader
// that is left, and so does zk.Lock.
func TestADowngradeKeepsForeignContendersWaiting(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	l.Lock()
	foreign := zk.NewLock(at.conn, at.path, zk.WorldACL(zk.PermAll))
	locked := begin(foreign.Lock)
	at.awaitQueue(2)
	l.RLock()
	l.Unlock()
	at.awaitQueue(2)
	requireSilent(t, locked, "the owner still reads")
	l.RUnlock()
	require.NoError(t, receive(t, locked, "zk.Lock's turn"))
	require.NoError(t, foreign.Unlock())

	// Another client's downgrade: its reader has its writer's number.
	node, err := at.conn.Create(at.path+"/_c_8a0e0000-0000-4000-8000-000000000000-__WRIT__",
		nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	writer := at.begin(at.rw(at.session()).Acquire)
	queue := at.awaitQueue(2)
	eventually(t, "the writer to watch the one ahead", func() bool { return at.watched(queue[0]) })
	reader := strings.Replace(node, "__WRIT__", "__READ__", 1)
	_, err = at.conn.Create(reader, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.NoError(t, at.conn.Delete(node, -1))
	requireSilent(t, writer, "the other client still reads")
	require.NoError(t, at.conn.Delete(reader, -1))
	require.NoError(t, receive(t, writer, "the writer's turn").Release(t.Context()))
	at.awaitQueue(0)
}

// A store that compares tokens must not refuse the writer after a downgrade.
func TestTokensRiseAcrossADowngrade(t *testing.T) {
	at := newSite(t)
	var tokens []int64
	l := at.rw(at.session(), zklock.WithTrace(&zklock.Trace{
		Acquired: func(i zklock.TraceInfo) { tokens = append(tokens, i.Token) },
	}))
	l.Lock()
	writing := at.begin(at.rw(at.session()).Acquire)
	at.awaitQueue(2)
	l.RLock()
	l.Unlock()
	require.Less(t, l.RHeld().Token(), at.inspect(at.session())[0].Token, "the node is younger than the token")
	l.RUnlock()
	h := receive(t, writing, "the next writer")
	require.Len(t, tokens, 2)
	for _, token := range tokens {
		require.Greater(t, h.Token(), token)
	}
}

func TestALostReadHoldIsToldAndStaysLost(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.rw(s)
	l.RLock()
	l.RLock()
	lost := l.RLost()
	at.kill(s)
	receive(t, lost, "the loss")
	require.ErrorIs(t, l.RLockContext(t.Context()), zklock.ErrLost)
	require.ErrorIs(t, panicOf(t, l.RLock), zklock.ErrLost)
	require.False(t, l.TryRLock())
	_, err := l.TryRLockFor(t.Context(), 0)
	require.ErrorIs(t, err, zklock.ErrLost)
	elsewhere(func() {
		require.False(t, l.TryLock(), "inside the process it is as strong as a sync.RWMutex")
	})
	require.ErrorIs(t, l.RUnlockContext(t.Context()), zklock.ErrLost)
	l.RUnlock()
	elsewhere(func() {
		l.Lock()
		l.Unlock() //lint:ignore SA2001 what it lets in is what is tested
	})
	at.awaitQueue(0)
}

func TestAReadHoldWhoseNodeIsDeletedIsLostAndOthersReadOn(t *testing.T) {
	at := newSite(t)
	s := at.session()
	first, second := at.rw(s), at.rw(s)
	first.RLock()
	second.RLock()
	node := at.queue()[0]
	require.NoError(t, at.conn.Delete(node, -1))
	receive(t, first.RLost(), "the loss of the first reader's node")
	require.False(t, isClosed(second.RLost()))
	first.RUnlock()
	second.RUnlock()
	at.awaitQueue(0)
}

func TestTheLossOfTheWriteHoldUnderADowngrade(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.rw(s)

	// Its node alone: the read lock stays, and nothing new is taken in its name.
	l.Lock()
	l.RLock()
	lost, rlost := l.Lost(), l.RLost()
	writer := at.queue()[strings.Index(kindsOf(at.queue()), "W")]
	require.NoError(t, at.conn.Delete(writer, -1))
	receive(t, lost, "the loss of the write lock")
	require.False(t, isClosed(rlost), "the read lock has a node of its own")
	require.ErrorIs(t, l.LockContext(t.Context()), zklock.ErrLost)
	l.Unlock()
	require.Equal(t, "R", kindsOf(at.queue()))
	require.ErrorIs(t, l.LockContext(t.Context()), zklock.ErrUpgrade)
	elsewhere(func() { require.False(t, l.TryLock()) })
	l.RUnlock()
	at.awaitQueue(0)

	// The session: both are lost.
	l.Lock()
	l.RLock()
	lost, rlost = l.Lost(), l.RLost()
	dead := s.ID()
	at.kill(s)
	receive(t, lost, "the loss of the write lock")
	receive(t, rlost, "the loss of the read lock")
	l.Unlock()
	eventually(t, "a new session", func() bool { return s.ID() != dead && s.ID() != 0 })
	elsewhere(func() { require.False(t, l.TryLock(), "until the owner knows, as with a sync.RWMutex") })
	l.RUnlock()

	// A writer that has lost its lock cannot read on it.
	l.Lock()
	lost = l.Lost()
	at.kill(s)
	receive(t, lost, "the loss of the write lock")
	require.ErrorIs(t, l.RLockContext(t.Context()), zklock.ErrLost)
	require.False(t, l.TryRLock())
	l.Unlock()
	elsewhere(func() {
		require.NoError(t, l.LockContext(t.Context()))
		l.Unlock()
	})
	at.awaitQueue(0)
}

// The writer's node is deleted while its reader's is on the way: there is nothing left to read
// on, and somebody else may be writing.
func TestADowngradeNeedsItsWritersNode(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	l := at.rw(at.sessionVia(server.Addr(), longSession))
	at.makeParent()
	held := server.HoldRequest(zktest.OpMulti, zktest.OnPath(at.path))
	read := begin(func() error {
		l.Lock()
		defer l.Unlock()
		return l.RLockContext(within(t, patience))
	})
	receive(t, held.Struck(), "the reader's node on its way")
	require.NoError(t, at.conn.Delete(at.queue()[0], -1))
	other := receive(t, at.begin(at.rw(at.session()).Acquire), "another writer")
	held.Release()
	require.ErrorIs(t, receive(t, read, "the reader's end"), zklock.ErrLost)
	at.requireNodes(other.Node())
	require.NoError(t, other.Release(t.Context()))
}

func TestADowngradeThatFindsNoWriterIsTheWritersLossAndSaysWhy(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("mine"))
		rw.Lock()
		require.NoError(t, b.session("an operator").Conn().Delete(rw.Held().Node(), -1)) // it is not watched yet
		err := rw.RLockContext(t.Context())
		require.ErrorIs(t, err, zklock.ErrLost)
		require.ErrorContains(t, err, "the lock node was deleted")
		require.True(t, isClosed(rw.Lost()))
		require.ErrorIs(t, err, rw.Held().Err())
		rw.Unlock()
		require.NoError(t, rw.RLockContext(t.Context()))
		rw.RUnlock()
	})
}

// requireNodes checks that the lock nodes come down to those named.
func (at *site) requireNodes(nodes ...string) {
	at.t.Helper()
	require.Equal(at.t, nodes, at.awaitQueue(len(nodes)))
}

// Lost replies while a reader's node is put beside its writer's.
func TestADowngradeSurvivesALostReply(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	l := at.rw(at.sessionVia(server.Addr(), longSession))
	for name, fault := range map[string]func(zktest.Op, ...zktest.Filter) *zktest.Fault{
		"the request": server.DropRequest, "the reply": server.DropReply,
	} {
		l.Lock()
		struck := fault(zktest.OpMulti, zktest.OnPath(at.path))
		require.NoError(t, l.RLockContext(within(t, patience)), name)
		require.True(t, isClosed(struck.Struck()), name)
		require.ElementsMatch(t, []byte("RW"), []byte(kindsOf(at.queue())), "%s: one node each", name)
		require.NoError(t, l.UnlockContext(t.Context()), name)
		require.Equal(t, "R", kindsOf(at.queue()), name)
		require.NoError(t, l.RUnlockContext(t.Context()), name)
		at.awaitQueue(0)
	}
}

func TestWithoutOwnerAnRWLockerIsASyncRWMutex(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session(), zklock.WithoutOwner())
	l.RLock()
	l.RLock() // a second reader, not the first once more
	require.Equal(t, "RR", kindsOf(at.queue()))
	require.False(t, l.TryLock(), "false, and no ErrUpgrade")
	ok, err := l.TryLockFor(t.Context(), aWhile)
	require.NoError(t, err)
	require.False(t, ok)
	oldest := at.queue()[0]
	elsewhere(func() { require.Equal(t, oldest, l.RHeld().Node()) })
	elsewhere(l.RUnlock)
	elsewhere(l.RUnlock)
	require.ErrorIs(t, panicOf(t, l.RUnlock), zklock.ErrNotHeld)
	l.Lock()
	require.False(t, l.TryRLock(), "no downgrade")
	require.False(t, l.TryLock(), "not reentrant")
	elsewhere(l.Unlock)
	require.True(t, l.TryRLock())
	l.RUnlock()
	at.awaitQueue(0)
}

// Nobody knows which of the readers it is that unlocks. Who reads on is to have a hold.
func TestWithoutOwnerAReaderThatHasLostTheLockGivesNobodyElsesHoldBack(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	s := at.session()
	l := at.rw(s, zklock.WithoutOwner())
	l.RLock()
	lost := l.RLost()
	require.True(t, server.ExpireSession(s.ID()))
	receive(t, lost, "the loss")
	elsewhere(l.RLock)
	require.Equal(t, "R", kindsOf(at.queue()))
	require.ErrorIs(t, l.RUnlockContext(t.Context()), zklock.ErrLost)
	require.Equal(t, "R", kindsOf(at.queue()), "the other one reads on")
	require.False(t, at.rw(at.session()).TryLock())
	require.True(t, isClosed(l.RLost()), "it may be the one that has lost it")
	elsewhere(l.RUnlock)
	at.awaitQueue(0)
}

func TestWithoutOwnerAReaderIsToldOfTheLossThoughAnotherHasUnlockedMeanwhile(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	s := at.session()
	l := at.rw(s, zklock.WithoutOwner())
	l.RLock()
	var lost <-chan struct{}
	elsewhere(func() {
		l.RLock()
		lost = l.RLost()
	})
	l.RUnlock() // the first, while the second reads on
	require.False(t, isClosed(lost))
	require.True(t, server.ExpireSession(s.ID()))
	receive(t, lost, "the loss")
	elsewhere(l.RUnlock)
	at.awaitQueue(0)
}

// RLocker is what sync.Cond needs to wait while others read too.
func TestRLockerServesACond(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	cond := sync.NewCond(l.RLocker())
	ready := false
	var waiting, woken sync.WaitGroup
	waiting.Add(2)
	for range 2 {
		woken.Go(func() {
			cond.L.Lock()
			defer cond.L.Unlock()
			waiting.Done()
			for !ready {
				cond.Wait()
			}
		})
	}
	waiting.Wait()
	l.Lock() // granted when both wait, and so do not read
	ready = true
	l.Unlock()
	cond.Broadcast()
	woken.Wait()
	at.awaitQueue(0)
}
