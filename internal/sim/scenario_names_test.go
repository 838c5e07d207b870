package sim

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestF31TheEndOfTheCounterGrantsNobodyTwiceAndHeals(t *testing.T) {
	for _, next := range []int32{1<<31 - 1<<24 - 5, 1<<31 - 1<<16 - 5, 2147483600, 1<<31 - 3} {
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
