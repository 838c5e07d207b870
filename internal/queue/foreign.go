package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// A foreign child that is ephemeral is taken for a node of another library's lock. Any other is a
// bystander, such as the path of a lock below this one. Whoever stands right behind a foreign child
// looks which it is, by the watch that it needs anyway. Nobody looks again while that watch stands.

// pastForeign returns where c stands by view, which shows foreign nodes ahead. It looks at the nearest
// alone, unless that is a bystander: thousands may wait ahead, and each would wake c when it goes.
func (c *contender) pastForeign(ctx context.Context, view *listing) (place, error) {
	nodes := c.queue.withoutBystanders(view.Nodes(), nil)
	for {
		p, err := view.placeAmong(nodes, c)
		if err != nil || p.Ahead == 0 || !p.Nearest.Foreign {
			return p, err
		}
		bystanders, err := c.queue.look(ctx, []recipe.Node{p.Nearest})
		if err == nil && len(bystanders) > 0 { // where one is, others are
			bystanders, err = c.queue.look(ctx, slices.DeleteFunc(foreign(nodes), func(n recipe.Node) bool { return n.Sequence > c.sequence }))
		}
		if err != nil || len(bystanders) == 0 {
			return p, err
		}
		nodes = c.queue.withoutBystanders(nodes, bystanders)
	}
}

func foreign(nodes []recipe.Node) []recipe.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n recipe.Node) bool { return !n.Foreign })
}

// withoutBystanders returns nodes without those that are known to be bystanders, by what a look has
// returned or by a watch.
func (q *Queue) withoutBystanders(nodes []recipe.Node, bystanders map[string]bool) []recipe.Node {
	if !slices.ContainsFunc(nodes, func(n recipe.Node) bool { return n.Foreign }) {
		return nodes
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n recipe.Node) bool { return bystanders[n.Name] || q.isBystander(n) })
}

// isBystander reports whether n is known to be one, by a watch that stands.
func (q *Queue) isBystander(n recipe.Node) bool {
	if !n.Foreign {
		return false
	}
	w := q.session.client.Standing(q.watchKey(n))
	return w != nil && !n.Contends(client.IsEphemeral(w.Stat))
}

func (q *Queue) watchKey(n recipe.Node) client.WatchKey {
	return client.WatchKey{Path: recipe.Join(q.dir, n.Name)}
}

// look returns which of the foreign nodes are bystanders. After client.ErrStale the queue has
// to be listed again.
func (q *Queue) look(ctx context.Context, foreign []recipe.Node) (bystanders map[string]bool, err error) {
	bystanders = make(map[string]bool)
	for some := range slices.Chunk(foreign, client.MostAsking) {
		stats, err := q.statsOf(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, n := range some {
			if !n.Contends(client.IsEphemeral(stats[i])) {
				bystanders[n.Name] = true
			}
		}
	}
	return bystanders, nil
}

// statsOf returns the stats of the nodes, each of which is watched from now on if it may be read.
// Before ZooKeeper 3.9.2 that of another may be had all the same.
func (q *Queue) statsOf(ctx context.Context, nodes []recipe.Node) ([]*zk.Stat, error) {
	watches := make([]*client.Watch, len(nodes))
	for i, n := range nodes {
		watches[i] = q.session.client.Watch(q.watchKey(n))
	}
	unread := make([]*wire.Request, len(nodes))
	for i, w := range watches {
		select {
		case <-w.Armed:
		case <-ctx.Done():
			return nil, client.Ended(ctx)
		}
		if errors.Is(w.Err, zk.ErrNoAuth) {
			unread[i] = client.Exists(q.watchKey(nodes[i]).Path)
			q.session.client.Send(unread[i])
		}
	}
	stats := make([]*zk.Stat, len(nodes))
	for i, n := range nodes {
		stat, err := watches[i].Stat, watches[i].Err
		if asked := unread[i]; asked != nil {
			if err = client.Wait(ctx, asked); err == nil {
				stat, err = asked.Stat()
			}
		}
		if err != nil {
			return nil, q.unseen(ctx, n, err)
		}
		stats[i] = stat
	}
	return stats, nil
}

// unseen returns what it means that n could not be looked at.
func (q *Queue) unseen(ctx context.Context, n recipe.Node, err error) error {
	switch {
	case client.LooksEnded(err), errors.Is(err, client.ErrClosed):
		return err
	case client.Refused(err) && !q.isStale(ctx, q.watchKey(n).Path):
		return fmt.Errorf("%s may be a node of another library's lock, and its ACL does not let this session look: %w", q.watchKey(n).Path, err)
	}
	return client.ErrStale
}

// tellForeign tells the log of a node in a queue that is not as usual, when it has been read.
func (s *Session) tellForeign(path string, stat *zk.Stat) {
	n, ok := recipe.Parse(recipe.Base(path))
	_, known := recipe.PeerOf(n.Name, recipe.Exclusive) // to peers, which tells of it
	switch ephemeral := client.IsEphemeral(stat); {
	case !ok:
	case n.Foreign && ephemeral && !n.Bare() && !known:
		s.warnOnce("zklock: another library's node is in the queue", path, stat.EphemeralOwner,
			"its name ends in ten digits and is of no form that is known: it is taken for an exclusive lock while its session lives; if it is none, use another path")
	case !n.Foreign && !ephemeral:
		s.warnOnce("zklock: a persistent node is in the queue", path, 0,
			"it has a lock's name and no session that ends with its process: it is in the way until somebody deletes it; if it is nobody's, delete it with zklock break")
	}
}

// warnOnce tells the log of a node, once for each cause and queue.
func (s *Session) warnOnce(what, node string, session int64, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := recipe.Parent(node)
	if told := [2]string{cause, dir}; !s.told[told] {
		s.told[told] = true
		s.client.Log.Warn(what, "path", dir, "node", node, "session", client.Hex(session), "cause", cause)
	}
}
