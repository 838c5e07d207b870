package client

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/wire"
)

// Watch is a watch on one node, shared by all who wait for that node over one connection: a
// caller that polls must not add one each time. go-zookeeper knows nothing of it but its event:
// it cannot remove a watch, and would have one more of each node that is watched after each
// reconnect.
type Watch struct {
	Link  *wire.Link
	Armed chan struct{} // closed when the server has answered; the next fields stand then
	Stat  *zk.Stat      // of the node; nil if it was not read: see WatchSince
	Data  []byte        // of the node, if the data is watched
	Names []string      // of its children, if they are watched
	Err   error         // why it could not be armed
	Fired chan struct{} // closed by the node's change, the connection's end, or Err
	// Deleted says that the node is gone, once Fired is closed.
	Deleted bool

	since int64 // the transaction up to which the data was known, if that was not read
}

// WatchKey says what is watched: a node's data, or its children.
type WatchKey struct {
	Path     string
	Children bool
}

// watches are those that stand, or are being set, over one connection.
type watches struct {
	client *Client

	mu sync.Mutex // guards the fields below, and how a watch ends; life's, the client's and the link's are locked under it
	at map[WatchKey]*Watch

	session int64             // of the last connection that has ended
	stood   map[string]*Watch // on data, when a connection of that ended, and not set again; by path
	told    int64             // all of these have told of all changes up to this transaction

	refused map[string]struct{} // nodes whose data may not be read: see recheck

	asking  int         // watches that were asked for and not answered
	unasked []unasked   // beyond MostAsking
	recheck *time.Timer // while there are any

	unread  [2][]unasked // that were set unread: before the timer ran last, and since
	reading *time.Timer  // while there are any
}

// unasked is a watch that is to be asked for.
type unasked struct {
	key   WatchKey
	watch *Watch
}

// MostAsking bounds how many nodes are read at the same time, as for watches. After a reconnect
// they may be thousands, and a proof of the session that goes behind so many reads has to be
// answered in time all the same.
const MostAsking = 500

func (ws *watches) init(c *Client) {
	ws.client, ws.at, ws.refused = c, make(map[WatchKey]*Watch), make(map[string]struct{})
}

// disconnect ends the watches of a connection with it, which nobody is given any more. They have told
// of all changes up to the transaction told.
func (ws *watches) disconnect(l *wire.Link, told int64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.dismiss()
	ws.keep(l, told)
	for _, w := range ws.at {
		w.fire(false)
	}
	clear(ws.at)
	clear(ws.refused)
}

// dismiss ends the watches that were not asked for yet. ws.mu is held.
func (ws *watches) dismiss() {
	for _, u := range ws.unasked {
		ws.settle(u.key, u.watch, zk.ErrConnectionClosed)
	}
	ws.unasked = nil
}

// fire ends the watch of that key, if there is one.
func (ws *watches) fire(key WatchKey, deleted bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.at[key]; w != nil {
		delete(ws.at, key)
		w.fire(deleted)
	}
}

// armed notes what the read has come to that was to set the watch.
func (ws *watches) armed(key WatchKey, w *Watch, err error) error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	stands := ws.client.Current() == w.Link
	if err == nil && !stands {
		err = zk.ErrConnectionClosed
	}
	ws.settle(key, w, err)
	if Refused(err) && !key.Children && stands {
		ws.refused[key.Path] = struct{}{}
	}
	return err
}

// settle ends the setting of a watch, and the watch if err is not nil. ws.mu is held.
func (ws *watches) settle(key WatchKey, w *Watch, err error) {
	w.Err = err
	close(w.Armed)
	if err != nil {
		if ws.at[key] == w {
			delete(ws.at, key)
		}
		w.fire(err == zk.ErrNoNode)
	}
}

// ask has the watch asked for, now or as soon as others have been answered. ws.mu is held.
func (ws *watches) ask(u unasked) {
	if ws.asking == MostAsking {
		ws.unasked = append(ws.unasked, u)
		return
	}
	ws.asking++
	ws.client.arm(u, 1)
}

// askNext takes that a watch was answered for good, and asks for the next.
func (ws *watches) askNext() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.asking--
	if len(ws.unasked) > 0 {
		var u unasked
		u, ws.unasked = ws.unasked[0], ws.unasked[1:]
		ws.ask(u)
	}
}

// fire ends the watch. The mutex of watches is held.
func (w *Watch) fire(deleted bool) {
	if !w.HasFired() {
		w.Deleted = deleted
		close(w.Fired)
	}
}

// End is Fired, or a channel that never closes if there is no watch.
func (w *Watch) End() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.Fired
}

// HasFired reports whether the watch is over.
func (w *Watch) HasFired() bool { return latch.IsClosed(w.Fired) }

// Gone reports whether the watch has told that the node is gone.
func (w *Watch) Gone() bool { return w.HasFired() && w.Deleted }

// IsArmed reports whether the watch stands, or stood until it fired.
func (w *Watch) IsArmed() bool { return latch.IsClosed(w.Armed) && w.Err == nil }

// CameLate reports whether the node was gone before it could be watched.
func (w *Watch) CameLate() bool { return latch.IsClosed(w.Armed) && errors.Is(w.Err, zk.ErrNoNode) }

// Refusal returns why a watch cannot be had, if trying again would not help. That there is no
// such node is none.
func (w *Watch) Refusal() error {
	if !latch.IsClosed(w.Armed) || Transient(w.Err) {
		return nil
	}
	return fmt.Errorf("a node in the lock's queue cannot be watched: %w", w.Err)
}

// Watch returns the watch on a node's data, or on its children, and sets it if there is none.
// The events of all watches of a connection come in the order of the changes.
func (c *Client) Watch(key WatchKey) *Watch {
	ws := &c.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w, made := ws.watch(key, c.Current())
	if made {
		ws.ask(unasked{key, w})
	}
	return w
}

// watch returns the watch of that key, and whether it is new and to be set over l. ws.mu is held.
func (ws *watches) watch(key WatchKey, l *wire.Link) (w *Watch, made bool) {
	if w = ws.at[key]; w != nil {
		return w, false
	}
	w = &Watch{Link: l, Armed: make(chan struct{}), Fired: make(chan struct{})}
	if l == nil || ws.client.Closed() {
		ws.settle(key, w, zk.ErrConnectionClosed)
		return w, false
	}
	ws.at[key] = w
	ws.recheckLater()
	return w, true
}

// Standing returns the watch of that key if the server has it; nil if not.
func (c *Client) Standing(key WatchKey) *Watch {
	ws := &c.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.at[key]; w != nil && w.IsArmed() {
		return w
	}
	return nil
}

// arm asks for the watch, until the server has answered for good or the connection has ended: a
// server that is busy, or has erred, may refuse a read once. It asks for the data, never for
// existence: that would leave a watch on a node that is gone, for ever. It waits for nothing.
func (c *Client) arm(u unasked, try int) {
	op := wire.Op{Code: wire.OpGetData, Path: u.key.Path, Watch: true}
	if u.key.Children {
		op.Code = wire.OpGetChildren2
	}
	read := wire.NewRequest(op).Then(func(r *wire.Request) { c.arrived(u, r, try) })
	if u.key.Children && !u.watch.Link.CaughtUp() {
		u.watch.Link.Send(wire.NewTransaction(Check(u.key.Path)), read)
	} else {
		u.watch.Link.Send(read)
	}
}

// arrived takes the answer.
func (c *Client) arrived(u unasked, r *wire.Request, try int) {
	w, err := u.watch, u.watch.take(u.key, r)
	if err == nil && u.key.Children && !w.Link.CaughtUp() {
		err = ErrStale
	}
	if err != nil && leavesHope(err) && !latch.IsClosed(w.Link.Down()) &&
		c.Spawn(func() {
			if c.pause(w.Link, backoff.Before(try)) {
				c.arm(u, try+1)
			} else {
				c.settled(u, err)
			}
		}) {
		return
	}
	c.settled(u, err)
}

// settled takes what asking for the watch has come to in the end.
func (c *Client) settled(u unasked, err error) {
	if errors.Is(err, zk.ErrNoNode) {
		c.observer.Deleted(u.key.Path)
	}
	if c.watches.armed(u.key, u.watch, err) == nil && !u.key.Children {
		c.observer.Read(u.key.Path, Content{Data: u.watch.Data, Stat: u.watch.Stat})
	}
	c.watches.askNext()
}

// take takes what the answer to a read of what is watched says.
func (w *Watch) take(key WatchKey, r *wire.Request) (err error) {
	if key.Children {
		w.Names, w.Stat, err = childrenOf(key.Path, r)
	} else {
		w.Data, w.Stat, err = r.Data()
	}
	return err
}

// leavesHope reports whether the next read of a node may fare better than one that has failed.
func leavesHope(err error) bool { return Transient(err) && !errors.Is(err, zk.ErrNoNode) }

// pause waits, and reports whether l still stands then, and the client.
func (c *Client) pause(l *wire.Link, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-l.Down():
	case <-c.ctx.Done():
	}
	return false
}
