package election_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const (
	path    = "/app/leader"
	timeout = 4 * time.Second
)

var everybody = zk.WorldACL(zk.PermAll)

// inBubble runs test in virtual time, with a server of its own.
func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t, opts...)) })
}

// connect opens a session of server through memory, until the test ends.
func connect(t *testing.T, server *zktest.Server, opts ...zklock.SessionOption) *zklock.Session {
	t.Helper()
	opts = append([]zklock.SessionOption{zklock.WithDialer(server.Dial)}, opts...)
	s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func newElection(t *testing.T, s *zklock.Session, opts ...election.Option) *election.Election {
	t.Helper()
	e, err := election.New(s, path, opts...)
	require.NoError(t, err)
	return e
}

// limited is a context that ends in a second, by a cause that is no server's answer.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, zk.ErrNoNode)
	t.Cleanup(cancel)
	return ctx
}

// campaign leads with that value.
func campaign(t *testing.T, s *zklock.Session, value string) *election.Term {
	t.Helper()
	term, err := newElection(t, s, election.WithValue([]byte(value))).Campaign(t.Context())
	require.NoError(t, err)
	return term
}

// running is a Run under way.
type running struct {
	leads chan *election.Term // has each term as it begins
	done  chan error          // what the function is to return
	ended chan error          // what Run returns
	stop  context.CancelFunc
}

// run runs an election until the test ends. Its function returns what it is told, or nil when its
// context has ended.
func run(t *testing.T, e *election.Election) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{make(chan *election.Term, 10), make(chan error), make(chan error, 1), stop}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.ended <- e.Run(ctx, func(ctx context.Context, term *election.Term) error {
			r.leads <- term
			select {
			case err := <-r.done:
				return err
			case <-ctx.Done():
				return nil
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return r
}

// nobody is how an observer tells that nobody leads.
const nobody = "nobody"

// observer is what an Observe has yielded.
type observer struct {
	mu    sync.Mutex
	told  []string // the values
	all   []election.Leadership
	ended chan error
}

// observe runs an Observe until the test ends.
func observe(t *testing.T, s *zklock.Session) *observer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &observer{ended: make(chan error, 1)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for leader, err := range election.Observe(ctx, s, path) {
			text := string(leader.Value)
			switch {
			case errors.Is(err, election.ErrNoLeader):
				text = nobody
			case err != nil:
				o.ended <- err
			}
			o.mu.Lock()
			o.told, o.all = append(o.told, text), append(o.all, leader)
			o.mu.Unlock()
		}
		close(o.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return o
}

// sees returns what the observer has been told since the last call.
func (o *observer) sees() []string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	told := o.told
	o.told = nil
	return slices.Clone(told)
}

func (o *observer) latest() election.Leadership {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[len(o.all)-1]
}

// within receives from c while the bubble's clock runs.
func within[T any](t *testing.T, d time.Duration, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		require.FailNow(t, "waited in vain")
		panic("unreachable")
	}
}
