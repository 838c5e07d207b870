package election_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

var (
	seeds = flag.Uint64("seeds", 60, "how many programs to simulate")
	first = flag.Uint64("first", 0, "the first program to simulate")
)

// referee knows who leads by their own clocks, who ever has, and what they may have said.
type referee struct {
	mu     sync.Mutex
	terms  map[*election.Term]string // under way, and what each has confirmed last; "?" if that is not known
	said   map[int64]map[string]bool // by token, all that a leader may have said
	faults []string
}

// begin checks that nobody else leads when a term begins.
func (r *referee) begin(term *election.Term, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !term.Valid() {
		return // it was lost before anything was done with it
	}
	r.terms[term] = value
	r.said[term.Token()] = map[string]bool{value: true}
	r.count()
}

// count checks that one leads at most. r.mu is held.
func (r *referee) count() {
	var leading []int64
	for term := range r.terms {
		if term.Valid() {
			leading = append(leading, term.Token())
		}
	}
	if len(leading) > 1 {
		r.faults = append(r.faults, fmt.Sprintf("%x lead at once", leading))
	}
}

func (r *referee) check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count()
}

// proclaims notes that a leader is about to say something, and says what came of it.
func (r *referee) proclaims(term *election.Term, value string) (over func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if said := r.said[term.Token()]; said != nil {
		said[value] = true
	}
	return func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			value = "?"
		}
		if _, leads := r.terms[term]; leads {
			r.terms[term] = value
		}
	}
}

func (r *referee) end(term *election.Term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.terms, term)
}

// truth returns what the one says that leads, if one does.
func (r *referee) truth() (value string, leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for term, value := range r.terms {
		if term.Valid() {
			return value, true
		}
	}
	return "", false
}

// observing is the session that observes alone; those before it have candidates too.
const observing = 3

// contest is a program of random terms under random faults.
type contest struct {
	t        *testing.T
	dice     *rand.Rand
	ensemble *zktest.Ensemble
	sessions []*zklock.Session
	referee  *referee
	leading  func() *election.Term // of those of a Run, any
	heal     []func()
}

func TestNeverTwoLeadAndEveryObserverEndsAtTheTruth(t *testing.T) {
	for seed := *first; seed < *first+*seeds; seed++ {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
		if !ok {
			break
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	c := &contest{
		t: t, dice: rand.New(rand.NewPCG(seed, 0)),
		ensemble: zktest.NewEnsemble(t, 3, zktest.WithSeed(int64(seed)), zktest.WithLatency(0, 20*time.Millisecond)),
		referee:  &referee{terms: make(map[*election.Term]string), said: make(map[int64]map[string]bool)},
	}
	var observers []*observer
	var terms []*election.Term
	var mu sync.Mutex // guards terms
	for i := range observing + 1 {
		s, err := zklock.Connect(t.Context(), c.ensemble.PipeAddrs(), timeout, zklock.WithDialer(c.ensemble.Client(fmt.Sprint(i)).Dial))
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		c.sessions = append(c.sessions, s)
		observers = append(observers, observe(t, s))
	}
	ctx, stop := context.WithCancel(t.Context())
	var runs sync.WaitGroup
	for i, s := range c.sessions[:observing] {
		own, linger := fmt.Sprint("candidate ", i), c.within(timeout)
		e := newElection(t, s, election.WithValue([]byte(own)), election.WithPause(c.within(timeout)), election.WithRetry(func(error) bool { return true }))
		runs.Go(func() {
			for ctx.Err() == nil {
				_ = e.Run(ctx, func(ctx context.Context, term *election.Term) error {
					c.referee.begin(term, own)
					defer c.referee.end(term)
					mu.Lock()
					terms = append(terms, term)
					mu.Unlock()
					select {
					case <-ctx.Done():
					case <-time.After(linger * 8):
						return errors.New("it has had enough")
					}
					time.Sleep(linger / 4) // to put its things in order
					return nil
				})
			}
		})
	}
	c.leading = func() *election.Term {
		mu.Lock()
		defer mu.Unlock()
		if len(terms) == 0 {
			return nil
		}
		return terms[len(terms)-1]
	}
	for range 40 {
		c.step()
	}
	for _, heal := range c.heal {
		heal()
	}
	c.end(observers, func() {
		stop()
		runs.Wait()
	})
}

// step does something, and lets some time pass.
func (c *contest) step() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	s, term := c.sessions[c.dice.IntN(len(c.sessions))], c.leading()
	switch action := c.dice.IntN(8); {
	case action == 0 && term != nil:
		value := fmt.Sprint("word ", c.dice.Uint32())
		over := c.referee.proclaims(term, value)
		over(term.Proclaim(ctx, []byte(value)))
	case action == 1 && term != nil:
		_ = term.Resign(ctx)
	case action == 2:
		_ = zklock.Revoke(ctx, s, path)
	case action == 3:
		if leader, err := election.Leader(ctx, s, path); err == nil {
			_, _ = s.Conn().Set(leader.Node, []byte("__REVOKE__"), -1) // as Curator does
		}
	default:
		c.inflict()
	}
	c.referee.check()
	time.Sleep(c.within(600 * time.Millisecond)) // of the bubble's time
	c.referee.check()
}

// inflict lets one fault happen, at most one server at a time being out of order. None of them is one
// of the lock's exceptions: no operator ends a candidate's session, and the servers' leader is not frozen.
func (c *contest) inflict() {
	for _, heal := range c.heal {
		heal()
	}
	c.heal = nil
	server, client := c.ensemble.Server(c.dice.IntN(3)), c.ensemble.Client(fmt.Sprint(c.dice.IntN(observing+1)))
	ops := []zktest.Op{zktest.OpCreate, zktest.OpDelete, zktest.OpSetData, zktest.OpGetChildren2, zktest.OpGetData, zktest.OpExists, zktest.OpSync}
	switch c.dice.IntN(7) {
	case 0:
		c.ensemble.ExpireSession(c.sessions[observing].ID())
	case 1:
		client.Cut()
	case 2:
		if server != c.ensemble.Leader() {
			server.Freeze()
			c.heal = append(c.heal, server.Thaw)
		}
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
		time.Sleep(c.within(2 * timeout)) // its session may expire
	}
}

// end judges all that was seen, when somebody leads and when nobody does.
func (c *contest) end(observers []*observer, stop func()) {
	t := c.t
	agree := func(what string, truth func() (string, bool)) {
		t.Helper()
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			value, known := truth()
			if known && !slices.ContainsFunc(observers, func(o *observer) bool { return value != o.newest() && value != "?" }) {
				return
			}
		}
		for i, o := range observers {
			t.Errorf("%s: observer %d ends at %q", what, i, o.newest())
		}
	}
	agree("somebody leads", c.referee.truth)
	stop()
	agree("nobody leads", func() (string, bool) { return nobody, true })
	require.Empty(t, c.referee.faults)
	for i, o := range observers {
		newest := int64(0)
		for j, l := range o.all {
			if o.told[j] == nobody {
				continue
			}
			require.True(t, c.referee.said[l.Token][o.told[j]], "observer %d saw %q of %x", i, o.told[j], l.Token)
			require.GreaterOrEqual(t, l.Token, newest, "observer %d saw an old leader again: %v", i, strings.Join(o.told, ", "))
			newest = l.Token
		}
	}
}

func (o *observer) newest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.told) == 0 {
		return ""
	}
	return o.told[len(o.told)-1]
}

func (c *contest) within(d time.Duration) time.Duration {
	return time.Duration(c.dice.Int64N(int64(d)))
}
