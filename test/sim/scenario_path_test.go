package sim

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestF30ThePathGoesBetweenTwoLocksAndTokensGoOnRising(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		first := a.mustTake()
		require.NoError(t, a.give(first))
		time.Sleep(5 * time.Second) // until the empty container has been removed
		require.Nil(t, s.Server(0).Children(path))
		second := a.mustTake()
		require.Contains(t, second.Node(), "-0000000000")
		require.Greater(t, second.Token(), first.Token())
		require.NoError(t, a.give(second))
	}, zktest.WithContainerInterval(time.Second))
}

func TestF31TheEndOfTheCounterGrantsNobodyTwiceAndHeals(t *testing.T) {
	for _, next := range []int32{1<<31 - 1<<16 - 5, 2147483600, 1<<31 - 3} {
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake()))
			s.SetSequence(path, next)
			var wg sync.WaitGroup
			for i := range 4 {
				p := s.enter(fmt.Sprint("p", i))
				wg.Go(func() {
					for range 20 {
						h := p.mustTake()
						time.Sleep(time.Millisecond)
						require.NoError(t, p.give(h))
					}
				})
			}
			wg.Wait()
			s.empty(time.Second)
			h := a.mustTake()
			require.Regexp(t, "-000000....$", h.Node(), "the counter has started afresh")
			require.NoError(t, a.give(h))
		}, zktest.WithLatency(0, time.Millisecond))
	}
}

func TestF32ForeignAndMalformedChildrenAreIgnored(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		require.NoError(t, a.give(a.mustTake()))
		for _, name := range junk {
			_, err := b.Conn().Create(path+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		h := a.mustTake()
		waiting := b.waits(context.Background())
		require.Empty(t, waiting)
		require.NoError(t, a.give(h))
		require.NoError(t, b.give(<-waiting))
	})
}

// Within a session the lock went on from node to node past the end of the counter.
func TestNoLockIsHandedOnPastTheEndOfTheCounter(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake()))
		s.SetSequence(path, orderEnd-2)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				h := a.mustTake() // which the checker judges
				time.Sleep(10 * time.Millisecond)
				require.NoError(t, a.give(h))
			})
		}
		wg.Wait()
		s.empty(time.Second)
	})
}

// A cohort that looks around on a path that is gone asked for it without a pause.
func TestACohortDoesNotSpinOnAPathThatIsGone(t *testing.T) {
	for _, option := range []zklock.Option{zklock.WithRetention(anAge), zklock.WithHandoff(4)} {
		play(t, 1, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			shared, err := zklock.New(a.Session, path, option)
			require.NoError(t, err)
			h, err := shared.Acquire(context.Background())
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, b.Conn().Delete(h.Node(), -1))
			require.NoError(t, b.Conn().Delete(path, -1))
			before := s.Requests()[zktest.OpGetChildren2]
			<-h.Lost()
			require.LessOrEqual(t, s.Requests()[zktest.OpGetChildren2], before+2)
		})
	}
}

func TestF35ARefusalByAnACLIsToldOnceAndNotTriedAgain(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		_, err := b.Conn().Create(path, nil, zk.FlagContainer, zk.WorldACL(zk.PermRead))
		require.NoError(t, err)
		start, before := time.Now(), total(s.Requests())
		ctx, cancel := context.WithTimeout(context.Background(), anAge)
		defer cancel()
		_, err = a.Acquire(ctx)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.False(t, a.TryLock())
		require.Less(t, time.Since(start), soon)
		require.Less(t, total(s.Requests())-before, 10)
		s.empty(0)
	})
}

func TestF35CredentialsThatAreRefusedEndConnect(t *testing.T) {
	play(t, 1, func(s *stage) {
		ctx, cancel := context.WithTimeout(context.Background(), anAge)
		defer cancel()
		start := time.Now()
		_, err := zklock.Connect(ctx, s.PipeAddrs(), timeout,
			zklock.WithDialer(s.Client("a").Dial), zklock.WithAuth("nonsense", []byte("x")))
		require.ErrorIs(t, err, zk.ErrAuthFailed)
		require.ErrorContains(t, err, "nonsense")
		require.Less(t, time.Since(start), timeout)
	})
}

func total[K comparable](counts map[K]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// One node that cannot be proved, since an ACL hides it, failed the proof of all.
func TestANodeThatAnACLHidesCostsOnlyItsOwnHold(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		_, err := a.Conn().Create("/hidden", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(s, err)
		hidden, err := zklock.New(a.Session, "/hidden", zklock.WithACL(zk.WorldACL(zk.PermAll&^zk.PermRead)))
		require.NoError(s, err)
		unsure, err := hidden.Acquire(context.Background())
		require.NoError(s, err)
		<-unsure.Lost()
		time.Sleep(timeout)
		require.NoError(s, h.Err())
		require.NoError(s, a.give(h))
		s.empty(time.Second)
	})
}

// One delete that is refused failed the others that were sent in one transaction
// with it, whose nodes stayed.
func TestADeleteThatIsRefusedIsNoMatterOfTheOthers(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		const kept = "/kept"
		_, err := a.Conn().Create(kept, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermDelete))
		require.NoError(s, err)
		l, err := zklock.New(a.Session, kept)
		require.NoError(s, err)
		free := a.mustTake()
		holds := make(chan *zklock.Hold)
		for range 3 {
			go func() {
				h, err := l.Acquire(context.Background())
				if err != nil {
					t.Error(err)
				}
				holds <- h
			}()
			synctest.Wait()
		}
		alone := s.HoldReply(zktest.OpMulti, zktest.OnPath(kept)) // a delete, with a check; those after it go together
		go (<-holds).Release(context.Background())
		<-alone.Struck()
		second := <-holds
		go second.Release(context.Background())
		synctest.Wait()
		released := make(chan error, 1)
		go func() { released <- a.give(free) }()
		synctest.Wait()
		<-holds
		alone.Release()
		require.NoError(s, <-released)
		for _, node := range s.checker.nodes() {
			require.Equal(s, kept, dirOf(node))
		}
	})
}
