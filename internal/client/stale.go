package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// A server may show for good what its leader has not, or lack what that has. What decides here is read at that server,
// so that somebody would wait for ever. Only a write asks the leader: a check in a transaction, which changes nothing.

// Confirm asks the leader, and the server that this session is connected to, whether there is a node at path. If they
// differ the session goes to another server, and Confirm returns a wire.Stale; otherwise nil, also if it cannot be told. It
// waits for answers as long as the client is open.
func (c *Client) Confirm(path string) error {
	l := c.Current()
	if l == nil {
		return nil
	}
	before, known := c.leaderHas(path)
	if !known {
		return nil
	}
	err := c.Ask(c.ctx, Exists(path))
	shown := err == nil || Answers(err, zk.ErrNoAuth) // which says that it is there
	if !shown && !Answers(err, zk.ErrNoNode) || shown == before {
		return nil
	}
	// It may have come or gone in between. Whoever has answered the write has applied all that came before.
	if after, known := c.leaderHas(path); !known || after != before || c.Current() != l {
		return nil
	}
	stale := &wire.Stale{Server: l.Name(), Path: path, Keeps: shown}
	c.mu.Lock()
	c.stale = stale
	c.mu.Unlock()
	l.Distrust(*stale)
	return *stale
}

// ConfirmUnder returns what confirm, one of the functions here, has found, or ctx's error if that ends first.
func (c *Client) ConfirmUnder(ctx context.Context, confirm func() error) error {
	WaitsFor(ctx, "the leader to confirm what a server shows")
	_, err := c.WaitOrLeave(ctx, c.Background(confirm))
	return err
}

// leaderHas reports whether the leader has a node at path, if it says so.
func (c *Client) leaderHas(path string) (has, known bool) {
	err := c.Transact(c.ctx, Check(path))
	has = err == nil || Answers(err, zk.ErrNoAuth)
	return has, has || Answers(err, zk.ErrNoNode)
}

// mostChecks bounds the nodes for which the leader is asked by one transaction. One that it has not ends that, and those
// behind are asked for again.
const mostChecks = 128

// ConfirmAll is Confirm for nodes that the server shows. It ends with the first that the leader has not.
func (c *Client) ConfirmAll(paths []string) error {
	for len(paths) > 0 && !c.Closed() {
		some := Batches(c, paths[:min(len(paths), mostChecks)], func(path string) int { return len(path) })[0]
		checks := make([]wire.Op, len(some))
		for i, path := range some {
			checks[i] = Check(path)
		}
		asked := wire.NewTransaction(checks...)
		if c.Ask(c.ctx, asked) != nil {
			return nil
		}
		results, err := asked.Results()
		failed := slices.IndexFunc(results, func(r wire.Result) bool { return r.Err != nil })
		switch {
		case err == nil:
			paths = paths[len(some):]
			continue
		case failed < 0:
			return nil
		}
		if errors.Is(results[failed].Err, zk.ErrNoNode) {
			if err := c.Confirm(some[failed]); err != nil {
				return err
			}
		}
		paths = paths[failed+1:]
	}
	return nil
}

// IsStale reports whether err is, or wraps, a wire.Stale.
func IsStale(err error) bool {
	var stale wire.Stale
	return errors.As(err, &stale)
}

// confirms are when the leader was asked for what keeps callers away who do not wait, by place.
type confirms struct {
	mu    sync.Mutex // guards asked; nothing is locked under it
	asked map[string]time.Time
}

// DueToConfirm reports whether it is time to ask the leader for what is in somebody's way at that place, and notes that it is
// done: a write is too dear for each who is refused.
func (c *Client) DueToConfirm(place string) bool {
	d := &c.confirms
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if last, ever := d.asked[place]; ever && now.Sub(last) < trust {
		return false
	}
	if d.asked == nil {
		d.asked = make(map[string]time.Time)
	}
	if len(d.asked) >= mostChecks {
		maps.DeleteFunc(d.asked, func(_ string, last time.Time) bool { return now.Sub(last) >= trust })
	}
	if len(d.asked) >= mostChecks {
		return false
	}
	d.asked[place] = now
	return true
}

// ConfirmOld is Confirm for a node that has been there for longer than a watch is trusted, by the clocks of the servers and
// of this machine.
func (c *Client) ConfirmOld(path string) error {
	there := Exists(path)
	if c.Ask(c.ctx, there) != nil {
		return nil
	}
	if stat, err := there.Stat(); err != nil || time.Since(time.UnixMilli(stat.Ctime)).Abs() < trust {
		return nil
	}
	return c.Confirm(path)
}
