package client

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/recipe"
)

// trust is how long a watch is relied on without a look at its node. ZooKeeper tells a session
// nothing of a node that it may no longer read (CVE-2024-23944), and servers have lost watches.
const trust = time.Minute

// recheckLater has the watches rechecked. ws.mu is held.
func (ws *watches) recheckLater() {
	if ws.recheck == nil {
		ws.recheck = time.AfterFunc(trust, func() { ws.client.Spawn(ws.client.recheck) })
	}
}

// stop has no more watches asked for, and none rechecked. The client is closed.
func (ws *watches) stop() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.dismiss()
	for _, t := range []*time.Timer{ws.recheck, ws.reading} {
		if t != nil {
			t.Stop()
		}
	}
}

// recheck looks at what is watched, one node after the other: however many there are, each other
// request waits for one of these at most. Then it asks the leader whether it has them too. What could
// not be read is told first, so that whoever still needs it watches it again. The pause until the next
// recheck begins at the end of this one.
func (c *Client) recheck() {
	ws := &c.watches
	for path := range ws.takeRefused() {
		c.observer.Changed(path)
	}
	for key, w := range ws.standing() {
		c.look(key, w)
	}
	_ = c.ConfirmAll(shown(ws.standing())) // if the leader has not one, all watches have ended
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if c.Closed() {
		return
	}
	ws.recheck = nil
	if len(ws.at)+len(ws.refused) > 0 {
		ws.recheckLater()
	}
}

// shown returns the nodes that watches have found: those watched, and the children where these are.
func shown(armed map[WatchKey]*Watch) (paths []string) {
	for key, w := range armed {
		paths = append(paths, w.Shown(key.Path)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Shown returns the path of what is watched, and of the children that were found there.
func (w *Watch) Shown(path string) []string {
	paths := []string{path}
	for _, name := range w.Names {
		paths = append(paths, recipe.Join(path, name))
	}
	return paths
}

// takeRefused returns the nodes whose data could not be read since the last time.
func (ws *watches) takeRefused() map[string]struct{} {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	refused := ws.refused
	ws.refused = make(map[string]struct{})
	return refused
}

// standing returns the watches that the server has.
func (ws *watches) standing() map[WatchKey]*Watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	armed := make(map[WatchKey]*Watch, len(ws.at))
	for key, w := range ws.at {
		if w.IsArmed() {
			armed[key] = w
		}
	}
	return armed
}

// look reads what w watches, and ends w if that has changed unheard, or may not be read: whoever
// waits for w asks again then.
func (c *Client) look(key WatchKey, w *Watch) {
	if w.HasFired() || c.Closed() {
		return
	}
	now, read := new(Watch), Read(key.Path)
	if key.Children {
		read = Children(key.Path)
	}
	err := c.Ask(c.ctx, read)
	if err == nil {
		err = now.take(key, read)
	}
	if err == nil && now.shows(w, key) || err != nil && leavesHope(err) {
		return
	}
	if errors.Is(err, zk.ErrNoNode) {
		c.observer.Deleted(key.Path)
	}
	c.EndWatch(key, w)
}

// EndWatch ends a watch that has missed a change.
func (c *Client) EndWatch(key WatchKey, w *Watch) {
	ws := &c.watches
	ws.mu.Lock()
	stands := ws.at[key] == w
	if stands {
		delete(ws.at, key)
		w.fire(false)
	}
	ws.mu.Unlock()
	if stands {
		c.observer.Changed(key.Path)
	}
}

// shows reports whether w has read what before has read, or knew.
func (w *Watch) shows(before *Watch, key WatchKey) bool {
	if key.Children {
		return GenerationOf(w.Stat) == GenerationOf(before.Stat)
	}
	if before.Stat == nil {
		return w.Stat.Mzxid <= before.since
	}
	return w.Stat.Mzxid == before.Stat.Mzxid
}
