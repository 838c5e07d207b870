package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestWhatTheServerRefusesIsReportedAndLeavesNothing(t *testing.T) {
	const open = zk.PermAll
	for name, c := range map[string]struct {
		arrange func(at *site)
		option  zklock.Option
		is      error
		says    string
	}{
		"the path is an ephemeral node": {
			arrange: func(at *site) { at.create(at.path, zk.FlagEphemeral, open) },
			is:      zk.ErrNoChildrenForEphemerals,
			says:    "ephemeral node, which cannot have",
		},
		"the path is below an ephemeral node": {
			arrange: func(at *site) {
				at.create(at.path, zk.FlagEphemeral, open)
				at.path += "/below"
			},
			is:   zk.ErrNoChildrenForEphemerals,
			says: "ephemeral node, which cannot have",
		},
		"the path's ACL forbids to create": {
			arrange: func(at *site) { at.create(at.path, zk.FlagPersistent, open&^zk.PermCreate) },
			is:      zk.ErrNoAuth,
			says:    "ACL",
		},
		"the path's parent's ACL forbids to create": {
			arrange: func(at *site) {
				at.create(at.path, zk.FlagPersistent, open&^zk.PermCreate)
				at.path += "/below"
			},
			is:   zk.ErrNoAuth,
			says: "ACL",
		},
		"the path's ACL forbids to list": {
			arrange: func(at *site) { at.create(at.path, zk.FlagPersistent, open&^zk.PermRead) },
			is:      zk.ErrNoAuth,
			says:    "ACL",
		},
		"the ACL is of a scheme that the server does not know": {
			option: zklock.WithACL([]zk.ACL{{Scheme: "nonsense", ID: "x", Perms: zk.PermAll}}),
			is:     zk.ErrInvalidACL,
			says:   "ACL",
		},
		"the ACL is for who logs in, and nobody does": {
			option: zklock.WithACL(zk.AuthACL(zk.PermAll)),
			is:     zk.ErrInvalidACL,
			says:   "ACL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			if c.arrange != nil {
				c.arrange(at)
			}
			if c.option == nil {
				c.option = zklock.WithData([]byte("ours"))
			}
			l := at.locker(at.session(), c.option)
			before := goleak.IgnoreCurrent()
			requireRefused(t, l, func(err error) {
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, at.path)
				require.ErrorContains(t, err, c.says)
			})
			goleak.VerifyNone(t, before)
			eventually(t, "every node to be deleted", func() bool { return !at.anyChild() })
		})
	}
}

func TestANodeThatMayNotBeDeletedIsReported(t *testing.T) {
	at := newSite(t)
	at.create(at.path, zk.FlagPersistent, zk.PermAll&^zk.PermDelete)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	err := l.UnlockContext(t.Context())
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.Len(t, at.queue(), 1)
	require.ErrorContains(t, err, at.queue()[0])
	require.ErrorContains(t, err, "ACL")
	require.NoError(t, s.Close())
	require.Empty(t, at.queue(), "the node goes with its session at the latest")
}

func TestCredentialsOfAnUnknownSchemeAreRefused(t *testing.T) {
	at := newSite(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := zklock.Connect(within(t, patience), []string{at.addr}, longSession,
		zklock.WithAuth("nonsense", []byte("user:password")))
	require.Nil(t, s)
	require.ErrorIs(t, err, zk.ErrAuthFailed)
	require.ErrorContains(t, err, at.addr)
	require.ErrorContains(t, err, `scheme "nonsense"`)
	require.NotContains(t, err.Error(), "password", "the secret is kept")
}

func TestDigestACLsKeepStrangersOut(t *testing.T) {
	at := newSite(t)
	acl := zk.DigestACL(zk.PermAll, "zoe", "s3cret")
	insider := func() *zklock.Session {
		return at.session(zklock.WithAuth("digest", []byte("zoe:s3cret")))
	}
	s := insider()
	l := at.locker(s, zklock.WithACL(acl))
	l.Lock()
	node := l.Held().Node()
	for _, path := range []string{at.path, node} {
		got, _, err := s.Conn().GetACL(path)
		require.NoError(t, err)
		require.Equal(t, acl, got, path)
	}

	// Neither without credentials nor with wrong ones.
	wrong := at.session(zklock.WithAuth("digest", []byte("zoe:guess")))
	for _, conn := range []*zk.Conn{at.conn, wrong.Conn()} {
		require.ErrorIs(t, conn.Delete(node, -1), zk.ErrNoAuth)
		_, err := conn.Set(node, nil, -1)
		require.ErrorIs(t, err, zk.ErrNoAuth)
	}
	requireRefused(t, at.locker(wrong), func(err error) {
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, at.path)
		require.ErrorContains(t, err, "ACL")
	})
	require.NoError(t, l.Held().Err())

	// Our own kind waits for it, and logs in again on each connection.
	waiting := insider()
	got := at.locker(waiting, zklock.WithACL(acl))
	locked := begin(func() error { return got.LockContext(context.Background()) })
	eventually(t, "the waiter", func() bool {
		names, _, err := s.Conn().Children(at.path)
		require.NoError(t, err)
		return len(names) == 2
	})
	at.proxy.Cut()
	requireSilent(t, locked, "the lock is still held")
	require.NoError(t, l.UnlockContext(t.Context()))
	require.NoError(t, receive(t, locked, "the waiter's turn"))
}

func TestAnACLHasToAllowWhatALockNeeds(t *testing.T) {
	at := newSite(t)
	s := at.session()
	with := func(perms int32) zklock.Option {
		at.path += "x"
		return zklock.WithACL(zk.WorldACL(perms))
	}
	const needed = zk.PermRead | zk.PermCreate | zk.PermDelete
	one := with(needed)
	l, next := at.locker(s, one), at.locker(at.session(), one)
	l.Lock()
	got := begin(func() error { return next.LockContext(within(t, patience)) })
	at.awaitQueue(2)
	require.NoError(t, l.UnlockContext(t.Context()))
	require.NoError(t, receive(t, got, "the next one's turn"))
	for _, missing := range []int32{zk.PermRead, zk.PermCreate} {
		_, err := at.locker(s, with(needed&^missing)).Acquire(within(t, patience))
		require.ErrorIs(t, err, zk.ErrNoAuth, "without %d", missing)
	}

	require.NoError(t, take(t, at.semaphore(s, 1, with(needed|zk.PermWrite)), 1).Release(t.Context()))
}

// A semaphore's users also write its size, and an error says which of the permissions is
// missing where the permits are.
func TestASemaphoresErrorSaysWhatTheACLOfItsPermitsDoesNotAllow(t *testing.T) {
	at := newSite(t)
	s := at.session()
	for missing, says := range map[int32]string{
		zk.PermRead:   "does not let this session read it",
		zk.PermWrite:  "does not let this session write the semaphore's size there",
		zk.PermCreate: "does not let this session create a lock node there",
	} {
		at.path += "x"
		at.create(at.path, 0, zk.PermAll)
		at.create(at.path+"/leases", 0, zk.PermAll&^missing)
		sem := at.semaphore(s, 1)
		for _, acquire := range []func(context.Context, int) (*zklock.Hold, error){sem.Acquire, sem.TryAcquire} {
			_, err := acquire(within(t, patience), 1)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.ErrorContains(t, err, "the ACL of "+at.path+"/leases")
			require.ErrorContains(t, err, says)
			at.awaitLine(0)
		}
	}
}

func TestWhoMayNotListThePermitsLearnsWhichListThatIs(t *testing.T) {
	const noAuth = -102
	inBubble(t, func(t *testing.T, b *bubble) {
		sem := must(zklock.NewSemaphore(b.session("here"), b.path, 1))
		require.NoError(t, must(sem.Acquire(t.Context(), 1)).Release(t.Context()))
		b.server.RefuseRequest(zktest.OpGetChildren2, noAuth, zktest.OnPath(b.path+"/leases"))
		_, err := sem.Acquire(t.Context(), 1)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of "+b.path+"/leases does not let this session list its children")
	})
}

func (at *site) create(path string, flags, perms int32) {
	at.t.Helper()
	_, err := at.conn.Create(path, nil, flags, zk.WorldACL(perms))
	require.NoError(at.t, err)
}

// anyChild tells whether the path has children, as its stat says. Who may not read a node has that
// by a write since ZooKeeper 3.9.2.
func (at *site) anyChild() bool {
	at.t.Helper()
	exists, stat, err := at.conn.Exists(at.path)
	if errors.Is(err, zk.ErrNoAuth) {
		exists = true
		stat, err = at.conn.Set(at.path, nil, -1)
	}
	require.NoError(at.t, err)
	return exists && stat.NumChildren > 0
}

// One lock's node that cannot be proved, since its own ACL hides it, is no matter of the others
// in its session.
func TestANodeThatItsACLHidesCostsOnlyItsOwnHold(t *testing.T) {
	at := newSite(t)
	s := at.sessionVia(at.proxy.Addr(), 8*time.Second)
	held, err := at.locker(s).Acquire(t.Context())
	require.NoError(t, err)
	at.path += "/hidden"
	at.create(at.path, zk.FlagPersistent, zk.PermAll)
	hidden := at.locker(s, zklock.WithACL(zk.WorldACL(zk.PermAll&^zk.PermRead)))
	h, err := hidden.Acquire(within(t, patience))
	require.NoError(t, err, "the lease runs already")
	receive(t, h.Lost(), "the loss with the next proof")
	require.NoError(t, held.Err())
	require.NoError(t, held.Release(t.Context()))
	eventually(t, "every node to be deleted", func() bool { return !at.anyChild() })
}

// The last but one of those ahead is worth a watch from far away, and no error of that watch
// may end in lists without a pause.
func TestAnyPredecessorThatCannotBeReadEndsTheWaitFromFarAway(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const delay = 2 * time.Millisecond
		b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(delay, delay)), "/lock"}
		operator := b.session("operator").Conn()
		_, err := operator.Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		for _, perms := range []int32{zk.PermAll &^ zk.PermRead, zk.PermAll} {
			_, err := operator.Create(b.path+"/_c_8a0e0000-0000-4000-8000-000000000000-lock-", nil,
				zk.FlagEphemeralSequential, zk.WorldACL(perms))
			require.NoError(t, err)
		}
		l := b.locker(b.session("waiter"))
		before := b.server.Requests()[zktest.OpGetChildren2]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err = l.LockContext(ctx)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "cannot be watched")
		require.LessOrEqual(t, b.server.Requests()[zktest.OpGetChildren2], before+2)
		eventually(t, "the waiter's node to be deleted", func() bool { return b.queue() == 2 })
	})
}
