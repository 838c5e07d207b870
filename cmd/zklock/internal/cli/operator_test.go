package cli

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// brokenQueue is a lock with a holder, one that waits, and somebody who breaks it.
type brokenQueue struct {
	server *zktest.Server
	holder *zklock.Hold
	other  *zklock.Session // of the one that waits
	out    strings.Builder
	breaking
}

func newBrokenQueue(t *testing.T) *brokenQueue {
	q := &brokenQueue{server: zktest.NewServer(t)}
	lock := func(s *zklock.Session) *zklock.Locker {
		l, err := zklock.New(s, "/p")
		require.NoError(t, err)
		return l
	}
	var err error
	q.holder, err = lock(connect(t, q.server)).Acquire(t.Context())
	require.NoError(t, err)
	q.other = connect(t, q.server)
	waiter := lock(q.other)
	go func() { _, _ = waiter.Acquire(context.WithoutCancel(t.Context())) }()
	q.breaking = breaking{session: connect(t, q.server), out: &q.out, path: "/p"}
	for q.node == "" {
		v, err := look(t.Context(), q.session, "/p")
		require.NoError(t, err)
		if len(v.found) == 2 {
			q.node = v.found[1].Node
		}
	}
	return q
}

// while runs the command until it is about to delete, then do, and then the rest.
func (q *brokenQueue) while(t *testing.T, do func()) error {
	deleting := q.server.HoldRequest(zktest.OpMulti, zktest.OnSession(q.session.ID()))
	done := make(chan error, 1)
	go func() { done <- q.run(t.Context()) }()
	soon(t, deleting.Struck(), "break deletes the node")
	do()
	deleting.Release()
	return soon(t, done, "break ends")
}

// soon returns what comes from the channel. If nothing does, the test fails, and says what did
// not happen.
func soon[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case came := <-from:
		return came
	case <-time.After(5 * time.Second):
		require.FailNow(t, what)
		panic("unreachable")
	}
}

func (q *brokenQueue) there() bool {
	there, _, err := q.session.Conn().Exists(q.node)
	return there && err == nil
}

func TestANodeThatHasBecomeTheHolderMeanwhileIsNotDeleted(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	err := q.while(t, func() { require.NoError(t, q.holder.Release(t.Context())) })
	require.Equal(t, exitConflict, codeOf(err))
	require.ErrorContains(t, err, "say --yes again")
	require.Contains(t, q.out.String(), "waits for /p.")
	require.Contains(t, q.out.String(), "holds /p.")
	require.NotContains(t, q.out.String(), "deleted")
	require.True(t, q.there())

	require.NoError(t, q.run(t.Context()))
	require.False(t, q.there())
}

func TestANodeThatBecomesTheHolderWhileTheLockIsLookedAtIsNotTakenForOneThatWaits(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	between := q.server.HoldRequest(zktest.OpExists, zktest.OnSession(q.session.ID()))
	done := make(chan error, 1)
	go func() { done <- q.run(t.Context()) }()
	soon(t, between.Struck(), "break asks for the version of the node's data")
	reading := q.server.HoldRequest(zktest.OpGetData, zktest.OnSession(q.session.ID()), zktest.OnPath(q.holder.Node()))
	between.Release()
	soon(t, reading.Struck(), secondLook)
	require.NoError(t, q.holder.Release(t.Context()))
	reading.Release()
	require.NoError(t, soon(t, done, "break ends"))
	require.Contains(t, q.out.String(), "holds /p.")
	require.NotContains(t, q.out.String(), "waits for /p.")
}

// secondLook is what break has to do.
const secondLook = "break looks at the lock again when it has the version of the node's data: " +
	"the delete is of that version, and it deletes only what it has shown"

func TestANodeWhoseDataChangesBeforeItsVersionIsReadIsShownAsItIsThen(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	between := q.server.HoldRequest(zktest.OpExists, zktest.OnSession(q.session.ID()))
	done := make(chan error, 1)
	go func() { done <- q.run(t.Context()) }()
	soon(t, between.Struck(), "break asks for the version of the node's data")
	_, err := q.other.Conn().Set(q.node, []byte("another owner"), -1)
	require.NoError(t, err)
	between.Release()
	require.NoError(t, soon(t, done, "break ends"))
	require.Contains(t, q.out.String(), "another owner", secondLook)
}

func TestWhoeverIsAtTheTerminalIsAskedAgainForWhatIsMoreThanHeAgreedTo(t *testing.T) {
	for _, second := range []bool{true, false} {
		q := newBrokenQueue(t)
		var answers []bool
		q.ask = func(context.Context, string) (bool, error) {
			answers = append(answers, true)
			return len(answers) == 1 || second, nil
		}
		err := q.while(t, func() { require.NoError(t, q.holder.Release(t.Context())) })
		require.Len(t, answers, 2)
		require.Equal(t, !second, q.there())
		require.Equal(t, second, err == nil)
	}
}

func TestANodeWhoseDataChangesMeanwhileIsShownAgain(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	err := q.while(t, func() {
		_, err := q.other.Conn().Set(q.node, []byte("__REVOKE__"), -1)
		require.NoError(t, err)
	})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(q.out.String(), "waits for"), "it is shown again, but as much of the lock as before")
	require.Contains(t, q.out.String(), "(asked to give it back)")
	require.Contains(t, q.out.String(), "deleted\n")
	require.False(t, q.there())
}

func TestANodeThatGoesMeanwhileIsAsGoodAsDeleted(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	require.NoError(t, q.while(t, func() { require.NoError(t, q.other.Close()) }))
	require.Contains(t, q.out.String(), "is gone already\n")
}

// An operator may break a node that somebody has made by hand, with children.
func TestANodeThatHasChildrenIsNotTriedForEver(t *testing.T) {
	q := newBrokenQueue(t)
	for _, node := range []string{"/p/x-lock-2147000000", "/p/x-lock-2147000000/child"} {
		_, err := q.session.Conn().Create(node, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	q.yes, q.node = true, "/p/x-lock-2147000000"
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := q.run(ctx)
	require.ErrorIs(t, err, zk.ErrNotEmpty)
	require.Equal(t, exitFailure, codeOf(err))
	require.NotContains(t, q.out.String(), "deleted")
}

func TestAHolderThatGivesTheLockBackMeanwhileKeepsNoneFromBeingAsked(t *testing.T) {
	server := zktest.NewServer(t)
	rw, err := zklock.NewRW(connect(t, server), "/p")
	require.NoError(t, err)
	first, err := rw.RAcquire(t.Context())
	require.NoError(t, err)
	second, err := rw.RAcquire(t.Context())
	require.NoError(t, err)

	asking := server.HoldRequest(zktest.OpSetData, zktest.OnPath(first.Node()))
	var out strings.Builder
	done := make(chan error, 1)
	asker := connect(t, server)
	go func() {
		_, err := revoke(t.Context(), asker, &out, "/p", "", nil)
		done <- err
	}()
	<-asking.Struck()
	require.NoError(t, first.Release(t.Context()))
	asking.Release()
	require.NoError(t, <-done)
	<-second.Revoked()
	require.Contains(t, out.String(), first.Node()+" is gone already\n")
	require.Contains(t, out.String(), "for "+second.Node()+"\n")
}

func TestRevokeWaitsForAnAnswerNoLongerThanItIsTold(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		l, err := zklock.New(connect(t, server), "/p")
		require.NoError(t, err)
		_, err = l.Acquire(t.Context())
		require.NoError(t, err)
		session := connect(t, server)
		asked, err := revoke(t.Context(), session, io.Discard, "/p", "", nil)
		require.NoError(t, err)
		begun := time.Now()
		holding := server.HoldRequest(zktest.OpGetData, zktest.OnSession(session.ID()))
		err = awaitBack(t.Context(), session, "/p", asked, time.Second)
		holding.Release()
		require.Equal(t, exitConflict, codeOf(err))
		require.ErrorContains(t, err, "after 1s it is not known whether the lock was given back")
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRevokeFailsIfItsOutputCannotBeWritten(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	l, err := zklock.New(session, "/p")
	require.NoError(t, err)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	_, err = revoke(t.Context(), session, full{}, "/p", "", nil)
	require.ErrorContains(t, err, "no space left")
	require.Equal(t, exitFailure, codeOf(err))
	<-h.Revoked()
}

// From ZooKeeper 3.9.2 on, who may not read a node may not ask whether it is there either.
func TestAnOperatorIsToldWhichPermissionIsMissing(t *testing.T) {
	const readable, deletable = "/readable", "/deletable"
	all, mayRead, mayWrite := zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermRead|zk.PermCreate), zk.WorldACL(zk.PermWrite)
	server := zktest.NewServer(t)
	session := connect(t, server)
	conn := session.Conn()
	node := func(path string, of []zk.ACL) string {
		name, err := conn.Create(path+"/x-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, of)
		require.NoError(t, err)
		return name
	}
	for path, acl := range map[string][]zk.ACL{readable: mayRead, deletable: all} {
		_, err := conn.Create(path, nil, 0, acl)
		require.NoError(t, err)
	}
	breaks := func(node string) error {
		b := breaking{session: session, out: io.Discard, path: path.Dir(node), node: node, yes: true}
		return b.run(t.Context())
	}
	hidden, guarded := node(deletable, mayWrite), node(readable, mayRead)
	_, asking := revoke(t.Context(), session, io.Discard, readable, "", nil)
	for _, c := range []struct {
		takes string
		err   error
	}{
		{"READ on " + hidden, breaks(hidden)},               // to know what is deleted
		{"READ on " + hidden, breaks(node(deletable, all))}, // to know that the other waits yet
		{"DELETE on " + readable, breaks(guarded)},
		{"WRITE on " + guarded, asking},
	} {
		require.ErrorContains(t, c.err, "it takes the permission "+c.takes)
		require.ErrorIs(t, c.err, zk.ErrNoAuth)
		require.Equal(t, exitRefused, codeOf(c.err))
	}
}

// A server may show for good a node that its leader has not.
func TestBreakOfANodeThatOnlyItsServerShowsEndsAndNamesTheServer(t *testing.T) {
	for name, alone := range map[string]bool{"it knows another server": false, "it knows that one alone": true} {
		t.Run(name, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3, zktest.WithContainerInterval(0))
			stale := e.Server(0)
			l, err := zklock.New(connect(t, e.Leader()), "/p")
			require.NoError(t, err)
			h, err := l.Acquire(t.Context())
			require.NoError(t, err)
			require.True(t, stale.KeepNode(h.Node()))
			require.NoError(t, h.Release(t.Context()))
			for _, other := range e.Servers()[1:] {
				other.Refuse(true)
			}
			s, err := zklock.Connect(t.Context(), e.PipeAddrs(), time.Minute, zklock.WithDialer(e.Dial))
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			for _, other := range e.Servers()[1:] {
				other.Refuse(alone)
			}
			var out strings.Builder
			before := e.Requests()[zktest.OpMulti]
			err = (&breaking{session: s, out: &out, path: "/p", node: h.Node(), yes: true}).run(t.Context())
			if alone {
				require.ErrorContains(t, err, "the server "+stale.PipeAddr()+" shows "+h.Node()+", which the leader has not")
			} else {
				require.NoError(t, err)
				require.Contains(t, out.String(), "is gone already")
			}
			require.LessOrEqual(t, e.Requests()[zktest.OpMulti]-before, 5*mostRounds)
		})
	}
}

func TestBreakEndsThoughTheNodeIsNeverAsItWasShown(t *testing.T) {
	q := newBrokenQueue(t)
	q.yes = true
	for range 2 * mostRounds {
		q.server.RefuseRequest(zktest.OpMulti, -103, zktest.OnSession(q.session.ID())) // as if it had been written
	}
	err := q.run(t.Context())
	require.ErrorIs(t, err, zk.ErrBadVersion)
	require.ErrorContains(t, err, "10 times")
	require.Len(t, q.server.Children("/p"), 2)
}
