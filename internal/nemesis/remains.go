package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/apachezk"
)

// Remains waits until no server has an ephemeral node below root, a watch, or a
// session other than those of this call, and returns what is left when limit is
// over.
func (c *Cluster) Remains(ctx context.Context, root string, limit time.Duration, known ...int64) ([]Violation, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var observers []*zk.Conn
	for _, s := range c.Servers() {
		conn, err := dial(s.Addr())
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		observers = append(observers, conn)
	}
	for {
		var left []Violation
		for i, s := range c.Servers() {
			here, err := remains(s, observers[i], root)
			if err != nil {
				return nil, err
			}
			left = append(left, here...)
		}
		if len(left) == 0 {
			return nil, nil
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return left, nil
		}
	}
}

// remains returns what one server has.
func remains(s *apachezk.Server, conn *zk.Conn, root string) ([]Violation, error) {
	sessions, err := s.FourLetter("dump")
	if err != nil {
		return nil, err
	}
	if _, err := conn.Sync(root); err != nil {
		return nil, err
	}
	nodes, err := ephemerals(conn, root)
	if err != nil {
		return nil, err
	}
	var left []Violation
	for node, owner := range nodes {
		state := "which is over"
		if strings.Contains(sessions, fmt.Sprintf("0x%x", owner)) {
			state = "which is alive"
		}
		left = append(left, Violation(fmt.Sprintf("server %d has %s of session %#x, %s", s.ID(), node, owner, state)))
	}
	slices.Sort(left)
	watches, err := s.FourLetter("wchs")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(watches, "Total watches:0") {
		left = append(left, Violation(fmt.Sprintf("server %d has watches: %s", s.ID(), strings.TrimSpace(watches))))
	}
	return left, nil
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

type silence struct{}

func (silence) Printf(string, ...any) {}

// dial returns a plain client of one server, once it has a session.
func dial(addr string) (*zk.Conn, error) {
	established := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(silence{}), zk.WithEventCallback(func(e zk.Event) {
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
