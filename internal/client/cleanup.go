package client

import (
	"context"
	"sync"
)

// maxUnclean bounds the calls whose ctx has ended and whose nodes are not known to be gone yet.
const maxUnclean = 64

// cleanups counts those.
type cleanups struct {
	mu    sync.Mutex // guards the fields below; nothing is locked under it
	count int
	fewer chan struct{} // closed when there is room again; nil if nobody waits
}

// CleanUp finishes in the background what a call has left behind. The next calls wait when too
// much of that is under way: see MakeRoom.
func (c *Client) CleanUp(finish func()) {
	c.LeftBehind(1)
	if !c.Spawn(func() {
		defer c.LeftBehind(-1)
		finish()
	}) {
		c.LeftBehind(-1)
	}
}

// LeftBehind counts what calls have left behind that is finished without CleanUp: thousands of them
// may end together.
func (c *Client) LeftBehind(more int) {
	u := &c.cleanups
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count += more; u.count < maxUnclean && u.fewer != nil {
		close(u.fewer)
		u.fewer = nil
	}
}

// full returns what to wait for if there is no room, and nil otherwise.
func (u *cleanups) full() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count < maxUnclean {
		return nil
	}
	if u.fewer == nil {
		u.fewer = make(chan struct{})
	}
	return u.fewer
}

// MakeRoom waits until few enough nodes of ended calls are left, so that a caller that polls a
// server which hangs, or is slower than the polling, does not pile up work without bound.
func (c *Client) MakeRoom(ctx context.Context) error {
	for {
		fewer := c.cleanups.full()
		if fewer == nil {
			return nil
		}
		WaitsFor(ctx, "the nodes of earlier calls to be deleted")
		select {
		case <-fewer:
		case <-c.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return Ended(ctx)
		}
	}
}
