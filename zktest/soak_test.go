package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// truth is the tree as an observer can know it.
type truth struct {
	nodes    map[string]int64 // owner by path
	sessions map[int64]bool
}

func (w *truth) observe(txn zktest.Txn) {
	for _, c := range txn.Changes {
		switch c.Kind {
		case zktest.NodeCreated:
			w.nodes[c.Path] = c.Owner
		case zktest.NodeDeleted:
			delete(w.nodes, c.Path)
		case zktest.SessionCreated:
			w.sessions[c.Session] = true
		case zktest.SessionClosed:
			delete(w.sessions, c.Session)
		}
	}
}

// mishap does something to the ensemble and returns what undoes it.
func mishap(rng *rand.Rand, e *zktest.Ensemble, place *zktest.Client) (undo func()) {
	s := e.Server(rng.IntN(3))
	switch rng.IntN(8) {
	case 0:
		s.Stop()
		return s.Restart
	case 1:
		s.Freeze()
		return s.Thaw
	case 2:
		e.Partition(s)
		return e.Heal
	case 3:
		e.Block(s, e.Server(rng.IntN(3)))
		return e.Heal
	case 4:
		place.Block(zktest.Direction(rng.IntN(2)), s)
		return func() { place.Unblock() }
	case 5:
		s.Lag(time.Duration(rng.Int64N(int64(time.Second))))
		return func() { s.Lag(0) }
	case 6:
		s.Cut()
	default:
		return e.DropReply(zktest.OpCreate).Release
	}
	return func() {}
}

// churn makes nodes until done, and returns those whose creation was confirmed.
func churn(c *zk.Conn, name string, done <-chan struct{}) <-chan []string {
	result := make(chan []string, 1)
	go func() {
		var confirmed []string
		for i := 0; ; i++ {
			select {
			case <-done:
				result <- confirmed
				return
			case <-time.After(50 * time.Millisecond):
			}
			path, err := c.Create(fmt.Sprintf("/%s-%d", name, i), nil, int32(i%4), open)
			if err == nil && i%2 == 0 { // the odd ones are ephemeral
				confirmed = append(confirmed, path)
			}
		}
	}()
	return result
}

func soak(t *testing.T, seed int64) {
	e := zktest.NewEnsemble(t, 3, zktest.WithSeed(seed), zktest.WithTickTime(200*time.Millisecond),
		zktest.WithLatency(0, 5*time.Millisecond), zktest.WithServerLatency(0, 5*time.Millisecond),
		zktest.WithDiskLatency(0, 5*time.Millisecond))
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	know := &truth{nodes: make(map[string]int64), sessions: make(map[int64]bool)}
	e.Observe(know.observe)
	place := e.Client("clients")
	done := make(chan struct{})
	var confirmed []<-chan []string
	for i := range 2 {
		c := connectFor(t, 2*time.Second, place.Dial, e.PipeAddrs()...)
		confirmed = append(confirmed, churn(c, fmt.Sprint(i), done))
	}
	for range 10 {
		undo := mishap(rng, e, place)
		time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
		undo()
		time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
	}
	close(done)
	time.Sleep(20 * time.Second)
	synctest.Wait()
	for _, c := range confirmed {
		for _, path := range <-c {
			require.Contains(t, know.nodes, path)
		}
	}
	for _, s := range e.Servers() {
		nodes := make(map[string]int64)
		for _, n := range s.Nodes() {
			nodes[n.Path] = n.Stat.EphemeralOwner
		}
		require.Equal(t, know.nodes, nodes)
	}
	require.Len(t, e.Sessions(), len(know.sessions))
	for _, owner := range know.nodes {
		require.True(t, owner == 0 || know.sessions[owner])
	}
}

func TestUnderRandomFaultsNothingConfirmedIsForgottenAndServersAgree(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) { soak(t, int64(seed)) })
		})
		if !ok {
			break
		}
	}
}
