package nemesis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/apachezk"
)

// Remains is what is left of locks when nobody uses them any more.
type Remains struct {
	Left []Violation // at the leader: lock nodes, and at any server: watches

	// Diverged are lock nodes that another server shows behind a sync, and the
	// leader does not have: that server lost a committed delete, which no client
	// can cause or cure. See docs/faults.md.
	Diverged []Violation
}

func (r Remains) none() bool { return len(r.Left)+len(r.Diverged) == 0 }

// Remains waits until no server has an ephemeral node below root or a watch, and
// returns what is left when limit is over.
func (c *Cluster) Remains(ctx context.Context, root string, limit time.Duration) (Remains, error) {
	leader, err := c.Leader(ctx)
	if err != nil {
		return Remains{}, err
	}
	observers := make(map[*apachezk.Server]*zk.Conn)
	for _, s := range c.Servers() {
		conn, err := dial(s.Addr())
		if err != nil {
			return Remains{}, err
		}
		defer conn.Close()
		observers[s] = conn
	}
	return settle(ctx, limit, Remains.none, func() (now Remains, err error) {
		for s, conn := range observers {
			err = errors.Join(err, now.add(s, conn, root, s == leader))
		}
		return now.settled(), err
	})
}

// Sessions waits until the leader knows of no more than so many sessions, and
// returns those that it knows when limit is over if they are more.
func (c *Cluster) Sessions(ctx context.Context, expected int, limit time.Duration) ([]Violation, error) {
	leader, err := c.Leader(ctx)
	if err != nil {
		return nil, err
	}
	few := func(left []Violation) bool { return len(left) <= expected }
	left, err := settle(ctx, limit, few, func() (left []Violation, err error) {
		dump, err := leader.FourLetter("dump")
		tracked, _, _ := strings.Cut(dump, "ephemeral nodes dump")
		for _, id := range sessionID.FindAllString(tracked, -1) {
			left = append(left, Violation(fmt.Sprintf("session %s is there, and should be one of %d", id, expected)))
		}
		return left, err
	})
	if few(left) {
		return nil, err
	}
	return left, err
}

// settle asks again and again, until the answer is good or limit is over, and returns
// the last answer.
func settle[T any](ctx context.Context, limit time.Duration, good func(T) bool, ask func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		answer, err := ask()
		if err != nil || good(answer) || pause(ctx, 50*time.Millisecond) != nil {
			return answer, err
		}
	}
}

// sessionID is a session in an answer to "dump".
var sessionID = regexp.MustCompile(`0x[0-9a-f]+`)

// add takes what one server has.
func (r *Remains) add(s *apachezk.Server, conn *zk.Conn, root string, leads bool) error {
	sessions, err := s.FourLetter("dump")
	if err != nil {
		return err
	}
	if _, err := conn.Sync(root); err != nil {
		return err
	}
	nodes, err := ephemerals(conn, root)
	if err != nil {
		return err
	}
	for node, owner := range nodes {
		state := "over"
		if strings.Contains(sessions, fmt.Sprintf("0x%x", owner)) {
			state = "alive"
		}
		left := Violation(fmt.Sprintf("%s of session %#x, which is %s", node, owner, state))
		if leads {
			r.Left = append(r.Left, left)
		} else {
			r.Diverged = append(r.Diverged, left)
		}
	}
	watches, err := s.FourLetter("wchs")
	if err != nil {
		return err
	}
	if !strings.Contains(watches, "Total watches:0") {
		r.Left = append(r.Left, Violation(fmt.Sprintf("server %d has watches: %s", s.ID(), strings.TrimSpace(watches))))
	}
	return nil
}

// settled leaves out of the divergence what the leader has too.
func (r Remains) settled() Remains {
	r.Diverged = slices.DeleteFunc(r.Diverged, func(v Violation) bool { return slices.Contains(r.Left, v) })
	return r
}

// ephemerals returns the ephemeral nodes below root and their owners.
func ephemerals(conn *zk.Conn, root string) (map[string]int64, error) {
	found := make(map[string]int64)
	todo := []string{root}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		names, stat, err := conn.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if stat.EphemeralOwner != 0 {
			found[path] = stat.EphemeralOwner
		}
		for _, name := range names {
			todo = append(todo, strings.TrimSuffix(path, "/")+"/"+name)
		}
	}
	return found, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial returns a plain client of one server, once it has a session.
func dial(addr string) (*zk.Conn, error) {
	established := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			select {
			case established <- struct{}{}:
			default:
			}
		}
	}))
	if err != nil {
		return nil, err
	}
	select {
	case <-established:
		return conn, nil
	case <-time.After(recovery):
		conn.Close()
		return nil, fmt.Errorf("no session at %s", addr)
	}
}
