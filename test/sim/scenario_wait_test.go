package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestF15ASessionThatExpiresWhileItWaitsTakesANewPlace(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		waiting := b.waits(context.Background())
		b.expire()
		time.Sleep(time.Second)
		require.Empty(t, waiting)
		require.NoError(t, a.give(held))
		got := <-waiting
		s.heldBy(b, got)
		require.NoError(t, b.give(got))
	})
}

func TestF16AWaiterThatDiesLetsNobodyPastTheHolder(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
		held := a.mustTake()
		ctx, cancel := context.WithCancel(context.Background())
		second, third := b.waits(ctx), c.waits(context.Background())
		b.expire()
		cancel()
		require.Nil(t, <-second)
		time.Sleep(time.Second)
		require.Empty(t, third)
		require.NoError(t, a.give(held))
		require.NoError(t, c.give(<-third))
	})
}

func TestF17APredecessorThatGoesBetweenListAndWatchIsNoticed(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		watch := s.HoldRequest(zktest.OpGetData, zktest.OnPath(held.Node()), zktest.OnClient(b.place))
		waiting := b.waits(context.Background())
		<-watch.Struck()
		lists := s.Requests()[zktest.OpGetChildren2]
		require.NoError(t, a.give(held))
		require.Empty(t, waiting)
		watch.Release()
		got := s.granted(waiting)
		require.Equal(t, lists, s.Requests()[zktest.OpGetChildren2], "that there is nothing to watch says enough")
		require.NoError(t, b.give(got))
		time.Sleep(time.Second)
		for path, n := range s.Server(0).Watches() {
			t.Errorf("%d watches are left on %s", n, path)
		}
	})
}

func TestAWaiterWhoseNodeGoesAheadOfItsPredecessorsWatchTakesANewPlace(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		watch := s.HoldRequest(zktest.OpGetData, zktest.OnPath(held.Node()), zktest.OnClient(b.place))
		waiting := b.waits(context.Background())
		<-watch.Struck()
		var own string
		for _, name := range s.Server(0).Children(path) {
			if node := path + "/" + name; node != held.Node() {
				own = node
			}
		}
		require.NoError(t, a.Conn().Delete(own, -1))
		require.NoError(t, a.give(held))
		watch.Release()
		got := <-waiting
		require.NotEqual(t, own, got.Node())
		require.NoError(t, b.give(got))
	})
}

func TestF18APredecessorThatGoesWhileTheWaiterIsDisconnectedIsNoticed(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		waiting := b.waits(context.Background())
		b.place.Block(zktest.ToServer)
		b.place.Cut()
		require.NoError(t, a.give(held))
		time.Sleep(timeout / 4)
		b.place.Unblock()
		require.NoError(t, b.give(s.granted(waiting)))
	})
}

// The server sends the events of one transaction in any order, and go-zookeeper
// sets watches again in any order.
func TestAHolderAndAWaiterOfOneSessionExpireTogether(t *testing.T) {
	for seed := range int64(20) {
		play(t, 1, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			writer, err := zklock.NewRW(a.Session, path) // whom no Locker hands its lock to
			require.NoError(t, err)
			held := a.mustTake()
			ctx, cancel := context.WithCancel(context.Background())
			waiting := a.waitsBy(ctx, writer.Acquire)
			behind := b.waits(context.Background())
			time.Sleep(100 * time.Millisecond)
			a.expire()
			time.Sleep(10 * time.Millisecond)
			require.False(t, isOpen(held.Lost()))
			got := <-behind
			require.Empty(t, waiting)
			cancel()
			require.Nil(t, <-waiting)
			require.NoError(t, b.give(got))
		}, zktest.WithSeed(seed), zktest.WithLatency(time.Millisecond, 3*time.Millisecond))
	}
}

func TestAReleaseWakesWhoIsNextAndAtMostOneMore(t *testing.T) {
	for _, latency := range []time.Duration{0, 2 * time.Millisecond} { // the second is far away: see farAway
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			held := a.mustTake()
			var waiting []<-chan *zklock.Hold
			var waiters []*player
			for i := range 8 {
				p := s.enter(fmt.Sprint("w", i))
				waiters = append(waiters, p)
				waiting = append(waiting, p.waits(context.Background()))
			}
			time.Sleep(time.Second)
			for i, p := range waiters {
				before := s.Requests()
				if i == 0 {
					require.NoError(t, a.give(held))
				}
				h := <-waiting[i]
				time.Sleep(10 * latency)
				synctest.Wait()
				after := s.Requests()
				require.LessOrEqual(t, after[zktest.OpGetChildren2]-before[zktest.OpGetChildren2], 2, "lists for hand-over %d", i)
				require.NoError(t, p.give(h))
			}
		}, zktest.WithLatency(latency, latency))
	}
}

// Who is at the head of the queue by its list may wait for a second proof. When
// its connection is another one by then, and the lease was renewed for another lock
// of its session, nothing but a new list tells whether its node is still there.
func TestAHeadOfTheQueueByAListOfAnotherConnectionListsAnew(t *testing.T) {
	play(t, 3, func(s *stage) {
		a, operator := s.enter("a"), s.enter("operator")
		other, err := zklock.New(a.Session, "/other")
		require.NoError(s, err)
		renewal, err := other.Acquire(context.Background()) // so that both paths are there
		require.NoError(s, err)
		require.NoError(s, renewal.Release(context.Background()))
		require.NoError(s, a.give(a.mustTake()))
		time.Sleep(timeout)

		slow := s.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/")) // which casts doubt on the lease
		first, second := s.DropReply(zktest.OpMulti), s.DropReply(zktest.OpMulti)
		waiting := a.waits(context.Background())
		<-slow.Struck()
		time.Sleep(timeout / 50)
		slow.Release()
		synctest.Wait()
		nodes := s.checker.nodes()
		require.Len(s, nodes, 1)
		require.NoError(s, operator.Conn().Delete(nodes[0], -1))
		<-first.Struck()
		<-second.Struck() // after which a pauses
		renewal, err = other.Acquire(context.Background())
		require.NoError(s, err)
		h := <-waiting
		require.NotNil(s, h)
		require.NotEqual(s, nodes[0], h.Node())
		require.NoError(s, a.give(h))
		require.NoError(s, renewal.Release(context.Background()))
	})
}

// The checker's own rule: what is a reason for a call to leave its place, and what is none.
func TestACallLeavesItsPlaceForAReasonOnly(t *testing.T) {
	const (
		held, second = "/a/_c_0-lock-0000000001", "/a/_c_3-lock-0000000002"
		was, is      = "/a/_c_1-lock-0000000004", "/a/_c_2-lock-0000000009"
	)
	strike := func(kind FaultKind, machine int) func(*checker) {
		return func(ck *checker) { ck.storm(Fault{Kind: kind, Machine: machine}) }
	}
	downgrades := func(ck *checker) {
		strike(BlockBoth, 0)(ck)
		ck.tree["/a/_c_4-__READ__0000000001"] = &node{path: "/a/_c_4-__READ__0000000001", owner: 2, queues: true, sequence: 1}
		delete(ck.tree, second)
	}
	takenBefore := func(ck *checker) { // a moment before the call
		n := ck.tree[held]
		n.owner, n.gone = 1, time.Now().Add(-time.Second)
		ck.gone[held] = n
		delete(ck.tree, held)
		ck.tree["/a/_c_4-lock-0000000003"] = &node{path: "/a/_c_4-lock-0000000003", owner: 2, queues: true, sequence: 3}
	}
	for name, tc := range map[string]struct {
		happens func(ck *checker)
		failed  bool
	}{
		"nothing":                        {func(*checker) {}, true},
		"its machine was cut off":        {strike(BlockBoth, 0), true},
		"another machine was cut off":    {func(ck *checker) { strike(BlockBoth, 1)(ck); ck.tree[held].owner = 1 }, true},
		"it was cut off and held a lock": {func(ck *checker) { strike(BlockBoth, 0)(ck); ck.tree[held].owner = 1 }, false},
		"it was cut off and kept a lock": {func(ck *checker) {
			strike(BlockBoth, 0)(ck)
			ck.tree[held].owner, ck.tree[held].idle = 1, time.Unix(1, 0)
		}, true},
		"it was cut off and its hold was taken before it came": {func(ck *checker) {
			strike(BlockBoth, 0)(ck)
			takenBefore(ck)
			ck.excused[held] = byOperator
		}, false},
		"it was cut off after a hold was given back": {func(ck *checker) { strike(BlockBoth, 0)(ck); takenBefore(ck) }, true},
		"it was next to one downgrading":             {downgrades, false},
		"all servers hung, and it held":              {func(ck *checker) { strike(Freeze, 1)(ck); ck.tree[held].owner = 1 }, false},
		"its session ended":                          {func(ck *checker) { strike(Expire, 0)(ck); ck.tree[is].owner = 3 }, false},
		"an operator deleted its node":               {func(ck *checker) { strike(DeleteNode, 0)(ck); ck.excused[was] = byOperator }, false},
		"a server refused it something":              {func(ck *checker) { strike(RefuseOne, 0)(ck); ck.spells = []*spell{{by: "m0"}} }, false},
		"a server refused another's":                 {func(ck *checker) { strike(RefuseOne, 1)(ck); ck.spells = []*spell{{by: "m1"}} }, true},
		"the counter was at its end":                 {func(ck *checker) { strike(EndOfCounter, 0)(ck); ck.tree[was].sequence = orderEnd }, false},
		"it asked for several locks":                 {strike(Cut, 0), false},
		"it asked for several, untouched":            {strike(Cut, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			ck := newChecker(newTimeline(), new(Stats))
			for path, owner := range map[string]int64{held: 2, second: 2, was: 1, is: 1} {
				ck.tree.apply(zktest.Txn{}, zktest.Change{Kind: zktest.NodeCreated, Path: path, Owner: owner})
			}
			of := new(lock)
			if strings.HasPrefix(name, "it asked") {
				of.several = new(zklock.MultiLocker)
			}
			c := &call{places: map[string]string{}, since: time.Now(), visit: &visit{
				actor: &actor{world: &world{checker: ck}, machine: &machine{name: "m0", spec: Machine{Timeout: time.Minute}}}, lock: of,
			}}
			c.stands("/a", was)
			c.stands("/b", is)
			c.stands("/a", was)
			require.Nil(t, ck.verdict())
			tc.happens(ck)
			c.stands("/a", is)
			require.Equal(t, tc.failed, ck.verdict() != nil)
		})
	}
}
