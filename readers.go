package zklock

import "sync"

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
// hold; only anyone, WithoutOwner, has as many as it took.
type readers struct {
	mu     sync.Mutex
	owners map[int64][]*reader
}

// of returns the owner's hold, nil if it has none.
func (rs *readers) of(owner int64) *reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if held := rs.owners[owner]; len(held) > 0 {
		return held[len(held)-1]
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
// and whether that was the last one on it.
func (rs *readers) yield(owner int64) (r *reader, outermost bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	held := rs.owners[owner]
	if len(held) == 0 {
		return nil, false
	}
	r = held[len(held)-1]
	if r.depth--; r.depth > 0 {
		return r, false
	}
	if held = held[:len(held)-1]; len(held) == 0 {
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
