package client

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// keep notes the watches on data that stand as their connection ends. Those of the connection before that
// were not set again have told of no more since. ws.mu is held.
func (ws *watches) keep(l *wire.Link, told int64) {
	if len(ws.stood) == 0 || ws.session != l.ID {
		ws.session, ws.stood, ws.told = l.ID, make(map[string]*Watch), told
	}
	for key, w := range ws.at {
		if w.IsArmed() && !key.Children {
			ws.stood[key.Path] = w
		}
	}
}

// WatchAgain sets watches on nodes' data, of which many may have stood when the connection before ended.
// Those are set by few requests, ahead of whose answers a server tells what has changed meanwhile.
func (c *Client) WatchAgain(nodes []string) {
	l, told, again, others := c.takeStood(nodes)
	for _, some := range Batches(c, again, func(u unasked) int { return len(u.key.Path) }) {
		c.set(l, told, some)
	}
	for _, node := range others {
		c.Watch(WatchKey{Path: node})
	}
}

// takeStood returns the watches on nodes that can be set again over the connection that it returns: they
// have told of all changes up to the transaction told. The others are nodes of which no watch stood.
func (c *Client) takeStood(nodes []string) (l *wire.Link, told int64, again []unasked, others []string) {
	ws := &c.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if l = c.Current(); l == nil || c.Closed() {
		return nil, 0, nil, nil
	}
	if ws.session != l.ID { // the servers may have lost their data, and transactions begin anew
		ws.stood = nil
	}
	for _, node := range nodes {
		key, before := WatchKey{Path: node}, ws.stood[node]
		if before == nil || ws.at[key] != nil {
			others = append(others, node)
			continue
		}
		if w, made := ws.watch(key, l); made {
			w.Stat, w.Data, w.since = before.Stat, before.Data, before.since
			again = append(again, unasked{key, w})
		}
	}
	ws.stood = nil
	return l, ws.told, again, others
}

// WatchSince returns the watches on those nodes' data, and has all that there are not set by one request, which
// reads nothing. The caller knows the nodes as they were at the transaction zxid. A watch on what has changed since
// fires at once. The caller has reason to think that they may be read, too: of one that may not, a server tells
// nothing. Those that stand for a second or two are read then, and end if they may not be.
func (c *Client) WatchSince(zxid int64, nodes ...string) []*Watch {
	ws := &c.watches
	all, set := make([]*Watch, len(nodes)), make([]unasked, 0, len(nodes))
	ws.mu.Lock()
	defer ws.mu.Unlock()
	l := c.Current()
	for i, node := range nodes {
		w, made := ws.watch(WatchKey{Path: node}, l)
		if all[i] = w; made {
			w.since = zxid
			set = append(set, unasked{WatchKey{Path: node}, w})
		}
	}
	if len(set) > 0 {
		ws.readLater(set)
		c.set(l, zxid, set)
	}
	return all
}

// readLater has watches looked at that were set unread. ws.mu is held.
func (ws *watches) readLater(set []unasked) {
	ws.unread[1] = append(ws.unread[1], set...)
	if ws.reading == nil {
		ws.reading = time.AfterFunc(time.Second, func() { ws.client.Spawn(ws.client.readUnread) })
	}
}

// readUnread looks at those that were set before it ran last, and stand still.
func (c *Client) readUnread() {
	ws := &c.watches
	ws.mu.Lock()
	due, rest := ws.unread[0], ws.unread[1]
	ws.unread, ws.reading = [2][]unasked{rest}, nil
	if len(rest) > 0 && !c.Closed() {
		ws.readLater(nil)
	}
	ws.mu.Unlock()
	for _, u := range due {
		if u.watch.IsArmed() {
			c.look(u.key, u.watch)
		}
	}
}

// set asks for watches that have told of all changes up to a transaction.
func (c *Client) set(l *wire.Link, told int64, watches []unasked) {
	paths := make([]string, len(watches))
	for i, u := range watches {
		paths[i] = u.key.Path
	}
	l.Send(wire.NewRequest(wire.SetWatches(told, paths)).Then(func(r *wire.Request) { c.haveSet(watches, r.Err()) }))
}

// haveSet takes what the request has come to. Ahead of its answer came the events of what had changed. If it was
// refused, the nodes are read instead.
func (c *Client) haveSet(set []unasked, err error) {
	ws := &c.watches
	for _, u := range set {
		switch {
		case err == nil && u.watch.Gone():
			_ = ws.armed(u.key, u.watch, zk.ErrNoNode)
		case err == nil:
			_ = ws.armed(u.key, u.watch, nil)
		default:
			ws.mu.Lock()
			ws.ask(u)
			ws.mu.Unlock()
		}
	}
}
