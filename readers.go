package zklock

import (
	"slices"
	"sync"
)

// reader is one owner's hold for reading.
type reader struct {
	hold   *Hold
	depth  int
	tenant bool // has a share of the tenancy of its own, not its write lock's
}

func (r *reader) reenter() error {
	if err := r.hold.reentry(); err != nil {
		return err
	}
	r.depth++
	return nil
}

// readers are the owners of the read lock in this process. Each owner has one
// hold; only anyone, WithoutOwner, has as many as it took: a stack, whose oldest is
// there for as long as any goroutine reads.
type readers struct {
	mu     sync.Mutex
	owners map[int64][]*reader
}

// of returns the owner's hold, the oldest of several, nil if it has none.
func (rs *readers) of(owner int64) *reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if held := rs.owners[owner]; len(held) > 0 {
		return held[0]
	}
	return nil
}

func (rs *readers) add(owner int64, h *Hold, tenant bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.owners == nil {
		rs.owners = make(map[int64][]*reader)
	}
	rs.owners[owner] = append(rs.owners[owner], &reader{hold: h, depth: 1, tenant: tenant})
}

// yield undoes one lock of the owner. It returns its hold, nil if there is none,
// and whether that was the last one on it. Of several, those that have ended go first:
// whoever still reads is to be left with one that is held.
func (rs *readers) yield(owner int64) (r *reader, outermost bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	held := rs.owners[owner]
	if len(held) == 0 {
		return nil, false
	}
	i := slices.IndexFunc(held, func(r *reader) bool { return r.hold.Err() != nil })
	if i < 0 {
		i = len(held) - 1
	}
	r = held[i]
	if r.depth--; r.depth > 0 {
		return r, false
	}
	if held = slices.Delete(held, i, i+1); len(held) == 0 {
		delete(rs.owners, owner)
	} else {
		rs.owners[owner] = held
	}
	return r, true
}

// downgraded gives a reader that its writer's share of the tenancy covered a
// share of its own; false if the owner does not read.
func (rs *readers) downgraded(owner int64) bool {
	r := rs.of(owner)
	if r == nil || r.tenant {
		return false
	}
	r.tenant = true
	return true
}
