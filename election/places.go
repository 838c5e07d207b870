package election

import (
	"context"
	"maps"
	"sync"

	"github.com/zklock/zklock/internal/client"
)

// places are those that a session's observers look at. One that nobody looks at stays until the watch
// there has told of a change, for who comes back meanwhile.
type places struct {
	of        map[string]*place
	observers map[*place]int
	sweepAt   int // how many there may be before those that are of no use are dropped
}

// ofClient has the places of each session that is open.
var ofClient struct {
	mu sync.Mutex // guards of, and all places in it; a place's mu is locked under it
	of map[*client.Client]*places
}

// placeOf returns the place for one observer more, and what that one calls at its end.
func placeOf(c *client.Client, path string) (p *place, leave func()) {
	ofClient.mu.Lock()
	defer ofClient.mu.Unlock()
	if ofClient.of == nil {
		ofClient.of = make(map[*client.Client]*places)
	}
	all := ofClient.of[c]
	if all == nil {
		all = &places{of: make(map[string]*place), observers: make(map[*place]int)}
		ofClient.of[c] = all
		context.AfterFunc(c.Context(), func() {
			ofClient.mu.Lock()
			defer ofClient.mu.Unlock()
			delete(ofClient.of, c)
		})
	}
	if p = all.of[path]; p == nil {
		all.sweep()
		p = &place{client: c, path: path}
		all.of[path] = p
	}
	all.observers[p]++
	return p, func() {
		ofClient.mu.Lock()
		defer ofClient.mu.Unlock()
		if all.observers[p]--; all.observers[p] == 0 {
			delete(all.observers, p)
		}
	}
}

// sweep drops the places that are of no use, once there are enough of them to make it worth while.
// ofClient.mu is held.
func (all *places) sweep() {
	if len(all.of) < all.sweepAt {
		return
	}
	maps.DeleteFunc(all.of, func(_ string, p *place) bool { return all.observers[p] == 0 && p.isOver() })
	all.sweepAt = 2*len(all.of) + 16
}
