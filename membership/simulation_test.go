package membership_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// churn is a program of random joins, updates and leaves under random faults.
type churn struct {
	t        *testing.T
	dice     *rand.Rand
	ensemble *zktest.Ensemble
	sessions []*zklock.Session
	members  []*membership.Member
	heal     []func()
}

func TestTheLastListIsTheTruthWhateverHappened(t *testing.T) {
	for seed := range uint64(50) {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *zktest.Server) { simulate(t, seed) })
		})
		if !ok {
			break
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	c := &churn{
		t: t, dice: rand.New(rand.NewPCG(seed, 0)),
		ensemble: zktest.NewEnsemble(t, 3, zktest.WithSeed(int64(seed)), zktest.WithLatency(0, 20*time.Millisecond)),
	}
	var lists []*list
	for i := range 3 {
		s, err := zklock.Connect(t.Context(), c.ensemble.PipeAddrs(), timeout,
			zklock.WithDialer(c.ensemble.Client(fmt.Sprint(i)).Dial))
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		c.sessions = append(c.sessions, s)
		lists = append(lists, watch(t, s))
	}
	for range 40 {
		c.step()
	}
	for _, heal := range c.heal {
		heal()
	}
	for i, l := range lists {
		eventually(t, fmt.Sprintf("the truth to reach watcher %d", i), func() bool {
			return slices.Equal(c.truth(), pairsOf(l.latest())) && len(c.truth()) == len(c.members)
		})
	}
}

// step does something, and lets some time pass. A call that takes too long is
// abandoned, and done in the background.
func (c *churn) step() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	s := c.sessions[c.dice.IntN(len(c.sessions))]
	switch action := c.dice.IntN(4); {
	case action == 0:
		if m, err := membership.Join(ctx, s, path, []byte("new")); err == nil {
			c.members = append(c.members, m)
		}
	case action == 1 && len(c.members) > 0:
		i := c.dice.IntN(len(c.members))
		_ = c.members[i].Leave(ctx)
		c.members = slices.Delete(c.members, i, i+1)
	case action == 2 && len(c.members) > 0:
		_ = c.members[c.dice.IntN(len(c.members))].Update(ctx, fmt.Append(nil, c.dice.Uint32()))
	default:
		c.inflict(s)
	}
	time.Sleep(c.within(300 * time.Millisecond)) // of the bubble's time
}

// inflict lets one fault happen, at most one server at a time being out of order.
func (c *churn) inflict(s *zklock.Session) {
	for _, heal := range c.heal {
		heal()
	}
	c.heal = nil
	server := c.ensemble.Server(c.dice.IntN(3))
	client := c.ensemble.Client(fmt.Sprint(c.dice.IntN(3)))
	ops := []zktest.Op{zktest.OpCreate, zktest.OpDelete, zktest.OpSetData, zktest.OpGetChildren2, zktest.OpGetData}
	switch c.dice.IntN(7) {
	case 0:
		c.ensemble.ExpireSession(s.ID())
	case 1:
		client.Cut()
	case 2:
		server.Freeze()
		c.heal = append(c.heal, server.Thaw)
	case 3:
		c.ensemble.Partition(server)
		c.heal = append(c.heal, c.ensemble.Heal)
	case 4:
		server.Lag(c.within(500 * time.Millisecond))
		c.heal = append(c.heal, func() { server.Lag(0) })
	case 5:
		c.ensemble.DropReply(ops[c.dice.IntN(len(ops))])
	case 6:
		client.Block(zktest.ToServer)
		c.heal = append(c.heal, func() { client.Unblock() })
	}
}

// truth is what the leader has, oldest first, as pairsOf writes it.
func (c *churn) truth() (pairs []string) {
	leader := c.ensemble.Leader()
	if leader == nil {
		return nil
	}
	nodes := slices.DeleteFunc(leader.Nodes(), func(n zktest.Node) bool { return !strings.HasPrefix(n.Path, path+"/") })
	slices.SortFunc(nodes, func(a, b zktest.Node) int { return int(a.Stat.Czxid - b.Stat.Czxid) })
	for _, n := range nodes {
		pairs = append(pairs, strings.TrimPrefix(n.Path, path+"/")+"="+string(n.Data))
	}
	return pairs
}

func pairsOf(peers []membership.Peer) (pairs []string) {
	for _, p := range peers {
		pairs = append(pairs, p.ID+"="+string(p.Data))
	}
	return pairs
}

func (c *churn) within(d time.Duration) time.Duration { return time.Duration(c.dice.Int64N(int64(d))) }
