package election

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
)

// place is an election as all observers of a session see it: they share each look at it, and the watch
// that this leaves, since go-zookeeper cannot remove one.
type place struct {
	client *client.Client
	path   string

	mu     sync.Mutex // guards the fields below; nothing is locked under it
	looked *looked
	seen   *sight // by the last look that showed anything
}

// sight is a picture that tells when it is out of date.
type sight struct {
	*picture
	connection int64 // the newest one over which its watch was found to stand
	watch      *watch
	trusted    time.Time // until then the watch is relied on
}

// trust is how long a watch is relied on without a look at what it is on: see internal/client.
const trust = time.Minute

// isTrusted reports whether s is still so as long as its watch has told nothing.
func (s *sight) isTrusted() bool { return time.Now().Before(s.trusted) }

// looked is a look, under way or done.
type looked struct {
	*client.Work
	sight *sight // once it is done, unless it has failed
}

// watch is that of a sight, which all who wait for it share.
type watch struct {
	over chan struct{} // closed when it has told of a change, or ended
	gone bool          // then: the node that it was on was deleted
}

// await returns a watch that changed tells of.
func (p *place) await(changed alarm) *watch {
	w := &watch{over: make(chan struct{})}
	p.client.Spawn(func() { // or the session is closed, and its connection ends
		defer close(w.over)
		select {
		case event := <-changed:
			w.gone = event.Type == zk.EventNodeDeleted
		case <-p.client.Context().Done():
		}
	})
	return w
}

// look returns a look at what is so: the last one, unless that is out of date.
func (p *place) look() *looked {
	connection := p.client.Watches().Connection
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looked != nil {
		if !latch.IsClosed(p.looked.Done()) {
			return p.looked
		}
		if s := p.looked.sight; p.looked.Err() == nil {
			p.seen = s
			if s.connection == connection && !latch.IsClosed(s.watch.over) && s.isTrusted() {
				return p.looked
			}
		}
	}
	before := p.seen
	l := new(looked)
	l.Work = p.client.Background(func() (err error) {
		l.sight, err = p.lookAgain(before)
		return err
	})
	p.looked = l
	return l
}

// isOver reports whether nothing is known any more of what has been seen.
func (p *place) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looked == nil {
		return true
	}
	return latch.IsClosed(p.looked.Done()) && (p.looked.Err() != nil || latch.IsClosed(p.looked.sight.watch.over))
}

// lookAgain looks at what has become of what was seen before, nil if nothing was. It never shows what
// is older: go-zookeeper goes to no server that lags behind its session, and the server that a new
// session begins at has caught up with its beginning, which is a write.
func (p *place) lookAgain(before *sight) (*sight, error) {
	connection := p.client.Watches().Connection
	var known *picture
	if before != nil {
		known = before.picture
		switch {
		case !latch.IsClosed(before.watch.over):
			if p.stands() {
				switch {
				case before.isTrusted():
					return &sight{known, connection, before.watch, before.trusted}, nil
				case p.isStillSo(known):
					return &sight{known, connection, before.watch, time.Now().Add(trust)}, nil
				}
			}
		case before.watch.gone && len(known.line) > 0: // a read would tell no more than that
			known = &picture{leader: known.leader, line: known.line[1:]}
		}
	}
	seen, err := look(watching{p.client.Conn}, p.path, known)
	if err != nil {
		return nil, err
	}
	return &sight{seen, connection, p.await(seen.changed), time.Now().Add(trust)}, nil
}

// isStillSo looks once more at what a watch is on that has told nothing, and has the leader confirm
// what the server shows. From a stale server the session goes to another one.
func (p *place) isStillSo(seen *picture) bool {
	now, err := look(once{p.client.Context(), p.client}, p.path, seen)
	if err != nil || !now.leader.same(seen.leader) {
		return false
	}
	shown := p.path
	if len(seen.line) > 0 {
		shown = recipe.Join(p.path, seen.line[0])
	}
	return !p.client.DueToConfirm("leader of "+p.path) || p.client.Confirm(shown) == nil
}

// How long it may take until the client has set its watches again, and how often that is looked at.
const (
	settingTime = 2 * time.Second
	settingLook = 10 * time.Millisecond
)

// stands reports whether the watches of earlier connections stand over the newest one, and tell of what has
// changed in between. Those of an earlier session are over.
func (p *place) stands() bool {
	for range settingTime / settingLook {
		if p.client.Watches().Set {
			return true
		}
		_ = p.client.Sleep(p.client.Context(), settingLook)
	}
	return false
}
