package lock_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// revocations are the ways to ask for a lock back.
func (at *site) revocations() map[string]func(node string) error {
	s := at.session()
	return map[string]func(string) error{
		"Revoke": func(node string) error { return zklock.Revoke(context.Background(), s, node) },
		"a mark as Curator's Revoker writes it": func(node string) error {
			_, err := at.conn.Set(node, []byte("__REVOKE__"), -1)
			return err
		},
	}
}

func TestAHolderIsAskedForItsLock(t *testing.T) {
	at := newSite(t)
	rw := at.rw(at.session())
	for name, ask := range at.revocations() {
		for kind, acquire := range map[string]func(context.Context) (*zklock.Hold, error){
			"exclusive": at.stranger().Acquire,
			"write":     rw.Acquire,
			"read":      rw.RAcquire,
		} {
			h, err := acquire(t.Context())
			require.NoError(t, err)
			require.False(t, isClosed(h.Revoked()), "%s, %s", name, kind)
			require.NoError(t, ask(h.Node()))
			receive(t, h.Revoked(), "the wish to be heard: "+name+", "+kind)
			require.NoError(t, h.Err(), "asking is not taking")
			require.True(t, h.Valid())
			at.awaitQueue(1)
			require.NoError(t, h.Release(t.Context()))
			at.awaitQueue(0)
		}
	}
}

// Who never looks at Revoked before is told all the same, and so is one who was asked while it
// still waited.
func TestAMarkFromBeforeTheHoldIsHeeded(t *testing.T) {
	at := newSite(t)
	for name, ask := range at.revocations() {
		for kind, acquire := range map[string]func(context.Context) (*zklock.Hold, error){
			"exclusive": at.stranger().Acquire,
			"write":     at.rw(at.session()).Acquire,
			"read":      at.rw(at.session()).RAcquire,
		} {
			holder := at.stranger()
			holder.Lock()
			waiting := at.begin(acquire)
			node := at.awaitQueue(2)[1]
			require.NoError(t, ask(node))
			requireSilent(t, waiting, "the lock is held")
			holder.Unlock()
			h := receive(t, waiting, "the lock")
			receive(t, h.Revoked(), "the wish from before: "+name+", "+kind)
			require.Equal(t, node, h.Node())
			require.NoError(t, h.Release(t.Context()))
			at.awaitQueue(0)
		}
	}
}

func TestAHolderThatMayNotBeAskedKeepsNobodyFromAskingTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		_, err := b.session("operator").Conn().Create(b.path, nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		var holds []*zklock.Hold
		for i, perms := range []int32{zk.PermAll, zk.PermRead | zk.PermDelete, zk.PermAll} {
			h, err := b.rw(b.session(fmt.Sprint(i)), zklock.WithACL(zk.WorldACL(perms))).RAcquire(t.Context())
			require.NoError(t, err)
			holds = append(holds, h)
		}
		err = zklock.Revoke(t.Context(), b.session("other"), b.path)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, holds[1].Node())
		time.Sleep(time.Second)
		for i, h := range holds {
			require.Equal(t, i != 1, isClosed(h.Revoked()))
		}
	})
}

func TestAReaderLeftByADowngradeIsAskedForItsLock(t *testing.T) {
	at := newSite(t)
	s := at.session()
	var node string
	rw := at.rw(s, zklock.WithTrace(&zklock.Trace{Acquired: func(i zklock.TraceInfo) { node = i.Node }}))
	rw.Lock()
	rw.RLock()
	rw.Unlock()
	require.Equal(t, "R", kindsOf(at.awaitQueue(1)))
	require.NoError(t, zklock.Revoke(t.Context(), at.session(), node))
	require.False(t, isClosed(rw.RLost()), "asking is not taking")
	rw.RUnlock()
	at.awaitQueue(0)
}

func TestAWriterWhoIsAskedForTheLockLeavesAReaderWhoIs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("mine"))
		rw.Lock()
		require.NoError(t, zklock.Revoke(t.Context(), b.session("other"), b.path))
		<-rw.Held().Revoked()
		rw.RLock()
		rw.Unlock()
		require.True(t, isClosed(rw.RHeld().Revoked()), "it is the same lock")
	})
}

// The mark comes too late for the writer to take it along.
func TestAReaderIsAskedThatAWriterHasBecomeWhileItWasAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("mine"))
		rw.Lock()
		mark := b.server.HoldRequest(zktest.OpSetData, zktest.OnPath(rw.Held().Node()))
		asked := begin(func() error { return zklock.Revoke(t.Context(), b.session("other"), b.path) })
		<-mark.Struck()
		rw.RLock()
		mark.Release()
		require.NoError(t, <-asked)
		rw.Unlock()
		pass(time.Second)
		require.True(t, isClosed(rw.RHeld().Revoked()))
	})
}

func TestEachPermitOfAHoldCanBeAskedFor(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 3)
	for i := range 3 {
		h := take(t, sem, 3)
		require.NoError(t, zklock.Revoke(t.Context(), at.session(), at.path+"/leases/"+at.leases()[i]))
		receive(t, h.Revoked(), "the wish to be heard")
		require.NoError(t, h.Release(t.Context()))
		at.awaitLeases(0)
	}
}

func TestAllWhoHoldALockAreAskedForIt(t *testing.T) {
	for kind, c := range map[string]struct {
		holders  int
		take, by func(at *site) func(context.Context) (*zklock.Hold, error) // by one who waits behind them
	}{
		"exclusive": {1, exclusively, exclusively},
		"readers": {3, func(at *site) func(context.Context) (*zklock.Hold, error) {
			return at.rw(at.session()).RAcquire
		}, exclusively},
		"permits": {3, permit, permit},
	} {
		t.Run(kind, func(t *testing.T) {
			at := newSite(t)
			s := at.session()
			holds := make([]*zklock.Hold, c.holders)
			for i := range holds {
				var err error
				holds[i], err = c.take(at)(t.Context())
				require.NoError(t, err)
			}
			waiting := at.begin(c.by(at))
			look := func() []zklock.Contender {
				found, err := zklock.Inspect(t.Context(), s, at.path)
				require.NoError(t, err)
				return found
			}
			eventually(t, "one to wait", func() bool { return len(look()) == c.holders+1 })
			require.NoError(t, zklock.Revoke(t.Context(), s, at.path))
			for _, found := range look() {
				require.Equal(t, found.Held, found.Revoked, "who waits is not asked")
			}
			for _, h := range holds {
				receive(t, h.Revoked(), "the wish to be heard")
				require.NoError(t, h.Release(t.Context()))
			}
			require.NoError(t, receive(t, waiting, "the lock").Release(t.Context()))
		})
	}
}

func exclusively(at *site) func(context.Context) (*zklock.Hold, error) { return at.stranger().Acquire }

func permit(at *site) func(context.Context) (*zklock.Hold, error) {
	sem := at.semaphore(at.session(), 3)
	return func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, 1) }
}

func TestARequestLeavesWhatANodeSaysOfItsOwner(t *testing.T) {
	at := newSite(t)
	s := at.session()
	see := func() zklock.Contender {
		found, err := zklock.Inspect(t.Context(), s, at.path)
		require.NoError(t, err)
		require.Len(t, found, 1)
		return found[0]
	}
	longest := bytes.Repeat([]byte("x"), 1<<20)
	for { // so that the mark beside it has to be counted too
		if _, err := zklock.New(s, at.path, zklock.WithData(longest)); err == nil {
			break
		}
		longest = longest[1:]
	}
	for name, said := range map[string][]byte{
		"who it is":            []byte("host=db1 pid=7"),
		"nothing":              nil,
		"a mark behind blanks": []byte("  __REVOKE__ "),
		"as much as fits":      longest,
	} {
		h, err := at.stranger(zklock.WithData(said)).Acquire(t.Context())
		require.NoError(t, err)
		require.False(t, see().Revoked, name)
		for range 2 {
			require.NoError(t, zklock.Revoke(t.Context(), s, h.Node()))
			receive(t, h.Revoked(), "the wish to be heard: "+name)
			require.True(t, bytes.Equal(said, see().Data), name)
			require.True(t, see().Revoked, name)
		}
		require.NoError(t, h.Release(t.Context()))
	}
	h, err := at.stranger().Acquire(t.Context())
	require.NoError(t, err)
	before := see()
	require.Contains(t, string(before.Data), fmt.Sprintf("pid=%d", os.Getpid()))
	require.NoError(t, zklock.Revoke(t.Context(), s, at.path))
	require.Equal(t, before.Data, see().Data)
	_, err = at.conn.Set(h.Node(), []byte("__REVOKE__"), -1) // Curator's Revoker
	require.NoError(t, err)
	require.Empty(t, see().Data)
	require.True(t, see().Revoked)
	require.NoError(t, h.Release(t.Context()))
}

// Curator compares the whole, and other clients do not heed it at all.
func TestSomebodyElsesNodeGetsCuratorsMarkAndNothingElse(t *testing.T) {
	at := newSite(t)
	s := at.session()
	_, err := at.locker(s).Acquire(t.Context()) // makes the path, and keeps it
	require.NoError(t, err)
	for _, name := range []string{
		"_c_0d1d7ae4-4a5e-4c1b-8000-3c5fd0a8e0b1-lock-", "_c_0d1d7ae44a5e4c1b9f3d3c5fd0a8e0b1-lock-", "0d1d7ae44a5e4c1b9f3d3c5fd0a8e0b1__lock__",
	} {
		node, err := at.conn.Create(at.path+"/"+name, []byte("10.0.0.1"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.NoError(t, zklock.Revoke(t.Context(), s, node))
		data, _, err := at.conn.Get(node)
		require.NoError(t, err)
		require.Equal(t, "__REVOKE__", string(data))
		require.NoError(t, at.conn.Delete(node, -1))
	}
}

// The wish is written while the holder is cut off, and heard when it is back.
func TestAWishFromAnOutageIsHeard(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	h, err := at.stranger().Acquire(t.Context())
	require.NoError(t, err)
	revoked := h.Revoked()
	at.proxy.Refuse(true)
	at.proxy.Cut()
	_, err = at.conn.Set(h.Node(), []byte("__REVOKE__"), -1)
	require.NoError(t, err)
	at.proxy.Refuse(false)
	receive(t, revoked, "the wish")
	require.NoError(t, h.Err())
}

func TestRevokeSaysWhatItCannotAskFor(t *testing.T) {
	at := newSite(t)
	s := at.session()
	h, err := at.locker(s).Acquire(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, zklock.Revoke(done(), s, h.Node()), context.Canceled)
	require.ErrorContains(t, zklock.Revoke(t.Context(), nil, h.Node()), "session is nil")
	require.ErrorContains(t, zklock.Revoke(t.Context(), s, "relative"), "relative")
	require.NoError(t, h.Release(t.Context()))
	err = zklock.Revoke(t.Context(), s, at.path)
	require.ErrorIs(t, err, zk.ErrNoNode)
	require.ErrorContains(t, err, at.path+": nobody holds it")
	err = zklock.Revoke(t.Context(), s, h.Node())
	require.ErrorIs(t, err, zk.ErrNoNode)
	require.ErrorContains(t, err, h.Node())
	persistent, err := s.Conn().Create(at.path+"/x-lock-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	err = zklock.Revoke(t.Context(), s, persistent)
	require.ErrorIs(t, err, zk.ErrNoNode)
	require.ErrorContains(t, err, persistent+": it is persistent")
	require.NoError(t, s.Close())
	require.ErrorIs(t, zklock.Revoke(t.Context(), s, h.Node()), zklock.ErrClosed)
}

// What is there decides: nodes of a queue are ephemeral, and a lock's path is not.
func TestALockWhoseNameIsThatOfANodeIsALock(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for name, s := range map[string]*zklock.Session{"whole": b.session("mine"), "below a chroot": b.chrooted("/app")} {
			for _, path := range []string{"/job-lock-0000000042", "/jobs/_c_x-__READ__0000000007", "/leases/x-lease-0000000000"} {
				l := must(zklock.New(s, path))
				require.ErrorIs(t, zklock.Revoke(t.Context(), s, path), zk.ErrNoNode, "%s: nobody holds it", name)
				h := must(l.Acquire(t.Context()))
				require.NoError(t, zklock.Revoke(t.Context(), s, path), name)
				receive(t, h.Revoked(), "the holder to be asked")
				require.NoError(t, h.Release(t.Context()))

				h = must(l.Acquire(t.Context()))
				require.NoError(t, zklock.Revoke(t.Context(), s, h.Node()), "a node of it is a node")
				receive(t, h.Revoked(), "the holder to be asked")
				require.NoError(t, h.Release(t.Context()))
			}
		}
	})
}

// Between the look at the queue and the wish the lock may go to somebody else.
func TestAWishForALockThatGoesOnMeanwhileIsForItsNextHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		granted := make(chan grant, 2)
		for _, who := range []string{"first", "second"} {
			b.ask(t.Context(), who, b.locker(b.session(who)), granted)
		}
		first, s := b.next(granted), b.session("operator")
		wish := b.server.HoldRequest(zktest.OpSetData, zktest.OnSession(s.ID()))
		asked := begin(func() error { return zklock.Revoke(t.Context(), s, b.path) })
		<-wish.Struck()
		require.NoError(t, first.Release(t.Context()))
		second := b.next(granted)
		wish.Release()
		require.NoError(t, <-asked)
		<-second.Revoked()
	})
}

func TestAWriterWhoIsAskedAsItGoesOnReadingIsAskedAsAReader(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, s := b.rw(b.session("owner")), b.session("asking")
		l.Lock()
		mark := b.server.HoldRequest(zktest.OpSetData, zktest.OnSession(s.ID()))
		asked := begin(func() error { return zklock.Revoke(t.Context(), s, b.path) })
		<-mark.Struck()
		l.RLock()
		mark.Release()
		require.NoError(t, <-asked)
		l.Unlock()
		<-l.RHeld().Revoked()
		l.RUnlock()
	})
}
