package membership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
)

// keep is the member's goroutine: it sees to it that the node is there, until the
// member leaves.
func (m *Member) keep() {
	defer m.tell(func() { close(m.done) })
	defer close(m.off)
	defer m.leave()
	doubting := time.NewTicker(m.options.interval)
	defer doubting.Stop()
	for doubt, failures := time.Duration(0), 0; m.ctx.Err() == nil; {
		var alarm <-chan zk.Event
		var again <-chan time.Time
		if g := m.attempt(doubt); g != nil {
			doubt, failures, alarm = 0, 0, g.changed
		} else {
			failures++
			again = time.After(backoff.Before(failures))
		}
		select {
		case <-alarm:
		case <-again:
		case <-m.updated:
		case <-doubting.C:
			doubt = m.options.interval
		case <-m.ctx.Done():
		case <-m.session.Closed():
			m.sessionClosed()
			return
		}
	}
	m.withdraw()
	if m.zxid == 0 {
		m.leavePath()
	}
}

// attempt puts the node right once, and notes how that went. It returns the node if that is in
// place.
func (m *Member) attempt(doubt time.Duration) *sight {
	m.mu.Lock()
	content, number := m.data, m.number
	m.mu.Unlock()
	g, err := m.settle(content, doubt)
	if errors.Is(err, zklock.ErrClosed) {
		return nil
	}
	if g != nil {
		m.registered(g)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.placed, m.written = content, number
	case client.Refused(err):
		m.takeBack(number, err)
	}
	m.broadcast()
	return g
}

// takeBack notes that the data of that number was refused: the member has again what was in place
// last, unless somebody has changed it meanwhile. m.mu is held.
func (m *Member) takeBack(number int, refusal error) {
	if number > m.refused {
		m.refused, m.refusal = number, refusal
	}
	if m.number == number && m.written > 0 {
		m.data, m.number = m.placed, m.written
	}
}

// errUnsettled says that the node changed as often as it was put right.
var errUnsettled = errors.New("membership: the member's node keeps changing")

// settle looks at the node, does what is missing, and looks again until nothing
// is. So a request whose answer was lost does no harm, whether it was executed or
// not, and neither does one that was executed in the session's successor. A node that is
// in place is returned also if its data may not be written.
func (m *Member) settle(content []byte, doubt time.Duration) (*sight, error) {
	if m.zxid == 0 { // there is no node yet, unless its create's answer was lost
		if err := m.create(content); err != nil && !overtaken(err) {
			return nil, err
		}
	}
	for range 10 {
		g, err := look(m.ctx, m.session, view{m.node, data}, doubt)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			m.unregistered(errGone)
			if err = m.create(content); client.Refused(err) {
				m.unregistered(err)
			}
		case err != nil:
		case g.stat.EphemeralOwner != m.session.ID():
			m.unregistered(errOutlived)
			err = order(m.session, func(conn *zk.Conn) error { return conn.Delete(m.node, g.stat.Version) })
		case m.unsure == g.stat.Czxid || !bytes.Equal(g.data, content):
			if err = m.write(content, g.stat); client.Refused(err) {
				return g, err
			}
		default:
			return g, nil
		}
		if err != nil && !overtaken(err) {
			return nil, err
		}
	}
	return nil, errUnsettled
}

var (
	errGone = errors.New("membership: the node is gone")

	// errOutlived says that the node's session has ended; the server will delete
	// the node as soon as it has noticed.
	errOutlived = errors.New("membership: the session has ended")
)

// overtaken reports whether a write failed because the node is not any more as it
// was when it was looked at.
func overtaken(err error) bool {
	return errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion)
}

// write gives the node the data, if it is as seen.
func (m *Member) write(content []byte, seen *zk.Stat) error {
	err := order(m.session, func(conn *zk.Conn) error {
		_, err := conn.Set(m.node, content, seen.Version)
		return err
	})
	switch {
	case err == nil, client.Refused(err):
		m.unsure = 0
	case !overtaken(err):
		m.unsure = seen.Czxid
	}
	return err
}

// create creates the node, and the parents if they are missing.
func (m *Member) create(content []byte) error {
	err := order(m.session, func(conn *zk.Conn) error {
		_, err := conn.Create(m.node, content, zk.FlagEphemeral, m.options.acl)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		above := client.Of(m.session).Parents(m.path, 0)
		m.leavePath = above.Leave
		err = above.Make(client.Of(m.session).Context(), m.options.acl)
	}
	return err
}

// withdraw deletes the node, for as long as it takes. That there is none is final: a
// create that an earlier connection carried has been executed before this write, or
// is refused since the session has moved.
func (m *Member) withdraw() {
	session := m.session.ID() // of the last create, whose node need not have been seen
	for failures := 0; ; {
		err := order(m.session, func(conn *zk.Conn) error { return conn.Delete(m.node, -1) })
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode), isClosed(m.session):
			m.left()
			return
		case client.Refused(err):
			m.leaveErr = err
			m.mu.Lock()
			defer m.mu.Unlock()
			m.kept, m.keptIn = true, cmp.Or(m.state.Session, session)
			return
		}
		failures++
		pause(context.Background(), m.session, backoff.Before(failures))
	}
}
