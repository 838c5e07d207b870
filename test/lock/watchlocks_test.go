package lock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// pollTime is how often Watch looks at a server that knows no such watch.
const pollTime = 2 * time.Second

// oneWatch is how often a server has the one of Watch: for data and for children.
const oneWatch = 2

// onlooker is what somebody has been told who watches all locks below a path.
type onlooker struct {
	mu    sync.Mutex
	locks map[string][]zklock.Contender // by path, of those in use
	told  int
	tells map[string]int // of each path
	err   error          // the last one
	ended bool
}

func (o *onlooker) watch(ctx context.Context, s *zklock.Session, prefix string) {
	for changed, err := range zklock.Watch(ctx, s, prefix) {
		o.take(changed, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}

func (o *onlooker) take(changed []zklock.KeyedLock, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told++
	o.err = err
	for _, l := range changed {
		o.tells[l.Path]++
		if len(l.Contenders) == 0 {
			delete(o.locks, l.Path)
		} else {
			o.locks[l.Path] = l.Contenders
		}
	}
}

// seen returns the locks in use as "path: + holder - waiter", each by the last digit of its node.
func (o *onlooker) seen() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for path, found := range o.locks {
		lines = append(lines, shortly(path, found))
	}
	slices.Sort(lines)
	return lines
}

func shortly(path string, found []zklock.Contender) string {
	line := path + ":"
	for _, c := range found {
		state := " -"
		if c.Held {
			state = " +"
		}
		if c.Revoked {
			state += "!"
		}
		line += state + c.Kind.String() + c.Node[len(c.Node)-1:]
	}
	return line
}

// listed is seen as List has it.
func listed(t *testing.T, s *zklock.Session, prefix string) (lines []string) {
	t.Helper()
	found, err := zklock.List(t.Context(), s, prefix)
	require.NoError(t, err)
	for _, l := range found {
		lines = append(lines, shortly(l.Path, l.Contenders))
	}
	slices.Sort(lines)
	return lines
}

func newOnlooker(ctx context.Context, s *zklock.Session, prefix string) *onlooker {
	o := &onlooker{locks: make(map[string][]zklock.Contender), tells: make(map[string]int)}
	go o.watch(ctx, s, prefix)
	return o
}

// pass has time pass in a bubble, and all that happens then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// eachChange does, one after the other, what changes the locks below dir in one way each.
func eachChange(t *testing.T, s, other *zklock.Session, dir string, then func(what string)) {
	l, theirs := must(zklock.New(s, dir+"/a")), must(zklock.New(other, dir+"/a"))
	h := must(l.Acquire(t.Context()))
	then("it is taken")
	got := begin(func() *zklock.Hold { return must(theirs.Acquire(t.Context())) })
	then("somebody waits")
	require.NoError(t, zklock.Revoke(t.Context(), s, dir+"/a"))
	then("it is asked for")
	require.NoError(t, h.Release(t.Context()))
	h = receive(t, got, "the hand-over")
	then("it is handed over")
	require.NoError(t, s.Conn().Delete(h.Node(), -1))
	then("it is broken")
	rw := must(zklock.NewRW(s, dir+"/deep/er/rw"))
	require.NoError(t, rw.LockContext(t.Context()))
	then("it is written under")
	require.NoError(t, rw.RLockContext(t.Context()))
	rw.Unlock()
	then("it is read under")
	sem := must(zklock.NewSemaphore(s, dir+"/sem", 1))
	permit := must(sem.Acquire(t.Context(), 1))
	then("a permit is taken")
	ctx, stop := context.WithCancel(t.Context())
	gone := begin(func() error { return errOf(must(zklock.NewSemaphore(other, dir+"/sem", 1)).Acquire(ctx, 1)) })
	then("somebody waits for a permit")
	stop()
	receive(t, gone, "the end of the wait")
	then("nobody does")
	require.NoError(t, permit.Release(t.Context()))
	then("the permit is given back")
}

func TestWatchTellsWhatListWouldAfterEachChange(t *testing.T) {
	for name, errorCode := range map[string]int32{"told by the server": 0, "as it looks at a server that knows no such watch": -6} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				if errorCode != 0 {
					defer b.server.RefuseRequest(zktest.OpAddWatch, errorCode).Release()
				}
				s, onlooker := b.session("here"), b.session("onlooker")
				o := newOnlooker(t.Context(), onlooker, "/app")
				pass(pollTime)
				require.Equal(t, 1, o.told, "that there is none is told too")
				eachChange(t, s, b.session("there"), "/app", func(what string) {
					pass(2 * pollTime)
					require.Equal(t, listed(t, s, "/app"), o.seen(), what)
				})
				asked := b.server.Requests()[zktest.OpAddWatch]
				newOnlooker(t.Context(), onlooker, "/other")
				pass(pollTime)
				require.Equal(t, errorCode == 0, b.server.Requests()[zktest.OpAddWatch] > asked, "who does not know is asked once")
			})
		})
	}
}

func TestWatchTellsOfEachChangeOnARealServer(t *testing.T) {
	at := newSite(t)
	s := at.session()
	o := newOnlooker(t.Context(), at.session(), at.path)
	eachChange(t, s, at.session(), at.path, func(what string) {
		eventually(t, what, func() bool { return slices.Equal(listed(t, s, at.path), o.seen()) })
	})
}

// To the queue it is nobody: no watch on a node of it, nor on its children.
func TestWatchReadsAChangedNodeOnceAndNoQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		h := must(b.locker(s).Acquire(t.Context()))
		b.crowd(t.Context(), b.session("there"), 100, time.Millisecond)
		pass(time.Second)
		before := b.server.Watches()
		o := newOnlooker(t.Context(), b.session("onlooker"), "/")
		pass(time.Second)
		watched := b.server.Watches()
		require.Equal(t, oneWatch, watched["/"])
		delete(watched, "/")
		require.Equal(t, before, watched)

		cost := func(op zktest.Op, do func()) int {
			before := b.server.Requests()[op]
			do()
			pass(time.Second / 10)
			return b.server.Requests()[op] - before
		}
		path, plain := "/lock/_c_one-lock-0000009999", s.Conn()
		require.Equal(t, 1, cost(zktest.OpGetData, func() {
			must(plain.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
		}))
		require.Equal(t, 1, cost(zktest.OpGetData, func() { must(plain.Set(path, []byte("more"), -1)) }))
		require.Zero(t, cost(zktest.OpGetData, func() { require.NoError(t, plain.Delete(path, -1)) }))
		told := o.told
		require.LessOrEqual(t, cost(zktest.OpGetData, func() {
			for range 100 {
				must(plain.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
				require.NoError(t, plain.Delete(path, -1))
			}
		}), 1, "what has gone is not read")
		require.LessOrEqual(t, o.told-told, 2)
		require.NoError(t, h.Release(t.Context()))

		all := b.server.Requests()
		pass(30 * time.Second)
		for _, op := range []zktest.Op{zktest.OpGetData, zktest.OpGetChildren2, zktest.OpAddWatch} {
			require.Equal(t, all[op], b.server.Requests()[op], op)
		}
	})
}

func TestWatchTellsAtOnceOfWhatChangesWhileItSetsItsWatch(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		setting := b.server.HoldRequest(zktest.OpAddWatch)
		o := newOnlooker(t.Context(), b.session("onlooker"), "/")
		<-setting.Struck()
		must(b.locker(s).Acquire(t.Context()))
		setting.Release()
		pass(time.Second)
		require.Equal(t, listed(t, s, "/"), o.seen())
	})
}

func TestWatchTellsWhatChangedWhileThereWasNoConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		h, kept := must(b.locker(s).Acquire(t.Context())), must(must(zklock.New(s, "/kept")).Acquire(t.Context()))
		o := newOnlooker(t.Context(), b.session("onlooker"), "/")
		pass(time.Second)
		b.server.Client("onlooker").Block(zktest.ToServer)
		b.server.Client("onlooker").Block(zktest.ToClient)
		pass(longSession / 2)
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, s.Conn().Delete(b.path, -1))
		must(must(zklock.New(s, "/new")).Acquire(t.Context()))
		require.Len(t, o.seen(), 2)
		told := o.told
		b.server.Client("onlooker").Unblock()
		pass(longSession)
		require.Equal(t, listed(t, s, "/"), o.seen())
		require.Equal(t, told+1, o.told)
		require.Equal(t, map[string]int{"/lock": 2, "/kept": 1, "/new": 1}, o.tells)
		require.NoError(t, kept.Release(t.Context()))
		pass(time.Second)
		require.Equal(t, listed(t, s, "/"), o.seen())
	})
}

func TestWatchSaysWhatMayNotBeReadAndGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		owner := b.session("owner", zklock.WithAuth("digest", []byte("ann:secret")))
		must(owner.Conn().Create("/app", nil, 0, zk.WorldACL(zk.PermAll)))
		must(must(zklock.New(owner, "/app/hidden", zklock.WithACL(zk.AuthACL(zk.PermAll)))).Acquire(t.Context()))
		s := b.session("here")
		o := newOnlooker(t.Context(), s, "/app")
		pass(time.Second)
		var hidden *zklock.HiddenError
		require.ErrorAs(t, o.err, &hidden)
		require.ErrorIs(t, o.err, zk.ErrNoAuth)
		require.Equal(t, []string{"/app/hidden"}, hidden.Paths)
		must(must(zklock.New(owner, "/app/open")).Acquire(t.Context()))
		pass(time.Second)
		require.Equal(t, []string{"/app/open: +exclusive0"}, o.seen())
		require.ErrorAs(t, o.err, &hidden)

		// Of that no server tells, from ZooKeeper 3.9.2 on.
		must(owner.Conn().SetACL("/app/hidden", zk.WorldACL(zk.PermAll), -1))
		pass(2 * time.Minute)
		require.NoError(t, o.err)
		require.Equal(t, []string{"/app/hidden: +exclusive0", "/app/open: +exclusive0"}, o.seen())
	})
}

func TestWatchEndsWithItsContextItsSessionAndItsLoop(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		ctx, cancel := context.WithCancel(t.Context())
		s := b.session("here")
		o, other := newOnlooker(ctx, s, "/"), newOnlooker(t.Context(), s, "/")
		synctest.Wait()
		require.Equal(t, oneWatch, b.server.Watches()["/"])
		cancel()
		synctest.Wait()
		require.True(t, o.ended)
		require.EqualError(t, o.err, "zklock: watch /: context canceled")
		require.Equal(t, oneWatch, b.server.Watches()["/"], "the other one is told as before")
		must(b.locker(b.session("there")).Acquire(t.Context()))
		pass(time.Second)
		require.Len(t, other.seen(), 1)
		s.Close()
		synctest.Wait()
		require.ErrorIs(t, other.err, zklock.ErrClosed)
		require.True(t, other.ended)

		s = b.session("again")
		for range zklock.Watch(t.Context(), s, "/lock") {
			require.Equal(t, oneWatch, b.server.Watches()["/lock"])
			break
		}
		synctest.Wait()
		require.Zero(t, b.server.Watches()["/lock"])
		for _, err := range zklock.Watch(t.Context(), s, "lock") {
			require.ErrorContains(t, err, "is relative")
		}
	})
}
