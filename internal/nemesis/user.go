package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
)

// What a user says, and is told.
const (
	stateIdle   = "idle" // all holds are released
	commandStop = "stop"
)

// roundLength is how long the processes use a set of paths before they go on to
// the next. It keeps the history of a path short enough to be searched.
const roundLength = 15 * time.Second

// program takes a lock in one way and gives it back. It returns an error if
// something failed, and the attempt too if it did not get the lock.
type program func(*client) (*Attempt, error)

// programs are what the clients of a user do again and again, one each.
var programs = []program{
	(*client).owner, (*client).owner, (*client).handle, (*client).handle,
	(*client).several, (*client).readOrWrite, (*client).readOrWrite, (*client).permits,
	(*client).burst,
}

// client is a goroutine that takes locks and gives them back.
type client struct {
	job     Job
	number  int
	dice    *rand.Rand
	session *zklock.Session
	locks   *locks
	report  *reporter
}

// use takes locks of all kinds in one session until told to stop, and closes it at
// the end of the commands.
func (j Job) use(r *reporter, commands <-chan string) error {
	s, err := j.connect()
	if err != nil {
		return err
	}
	r.state(stateReady)
	var stop atomic.Bool
	var clients sync.WaitGroup
	shared := &locks{session: s, options: j.options(), lockers: make(map[string]*zklock.Locker)}
	failed := make(chan error, len(programs))
	for i, p := range programs {
		c := &client{
			job: j, number: i, session: s, locks: shared, report: r,
			dice: rand.New(rand.NewPCG(j.Seed, uint64(j.Process)<<8|uint64(i))),
		}
		clients.Go(func() {
			for !stop.Load() {
				if err := c.once(p); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	select {
	case err := <-failed:
		return err
	case _, told := <-commands:
		if !told {
			return errors.New("the run has ended without a word")
		}
	}
	stop.Store(true)
	clients.Wait()
	r.state(stateIdle)
	for range commands {
	}
	return s.Close()
}

// once runs a program, and fails if the program did otherwise than by not getting
// the lock, or by losing it.
func (c *client) once(p program) error {
	time.Sleep(c.short(20 * time.Millisecond))
	a, err := p(c)
	if a != nil && err != nil {
		a.Denied = Now()
		c.report.report(a)
	}
	if err != nil && !expected(err) {
		return fmt.Errorf("client %d: %w", c.number, err)
	}
	return nil
}

func expected(err error) bool {
	return errors.Is(err, zklock.ErrLocked) || errors.Is(err, zklock.ErrLost) ||
		errors.Is(err, context.DeadlineExceeded)
}

// soakRoot is the node that has all of a soak's below it.
const soakRoot = "/soak"

// path returns the path of that name in the round of this moment.
func (c *client) path(name string) string {
	return fmt.Sprintf("%s/%d/%s", soakRoot, int(Since(c.job.Began)/roundLength), name)
}

// short draws a time, most often a short one, below limit.
func (c *client) short(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * c.dice.Float64() * c.dice.Float64() * c.dice.Float64())
}

// patience draws how long a call may take.
func (c *client) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Millisecond+c.short(4*c.job.Timeout))
}

func (c *client) begin(path string, share Share) *Attempt {
	return c.report.begin(Attempt{Process: c.job.Process, Client: c.number, Path: path, Share: share})
}

// options are those of the process's locks: every kind stands in the same queues.
func (j Job) options() []zklock.Option {
	handoff, retention := zklock.WithHandoff(4), zklock.WithRetention(j.Timeout/10)
	return [][]zklock.Option{{}, {handoff}, {retention}, {handoff, retention}}[j.Process%4]
}

// locks are the Lockers that the clients of a process share.
type locks struct {
	session *zklock.Session
	options []zklock.Option
	mu      sync.Mutex
	lockers map[string]*zklock.Locker
}

func (ls *locks) locker(path string) (*zklock.Locker, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.lockers[path]; l != nil {
		return l, nil
	}
	l, err := zklock.New(ls.session, path, ls.options...)
	if err == nil {
		ls.lockers[path] = l
	}
	return l, err
}
