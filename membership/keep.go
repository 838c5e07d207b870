package membership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/wire"
)

// keep is the member's goroutine.
func (m *Member) keep() {
	m.stay()
	session := cmp.Or(m.state.Session, m.session.ID()) // of the last create, whose node need not have been seen
	m.withdraw()
	m.leave()
	close(m.off)
	if m.news.Add(func() { close(m.done) }) { // behind the functions of the user
		m.news.Run()
	}
	if m.leaveErr != nil {
		m.outlast(session)
	}
}

// stay sees to it that the node is there, until the member leaves or its session is closed.
func (m *Member) stay() {
	doubting := time.NewTicker(m.options.interval)
	defer doubting.Stop()
	for doubt, failures := time.Duration(0), 0; m.ctx.Err() == nil && !isClosed(m.session); {
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
		}
	}
}

// attempt puts the node right once, and notes how that went. It returns the node if that is in
// place.
func (m *Member) attempt(doubt time.Duration) *sight {
	u := m.wanted()
	g, err := m.settle(u, doubt)
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
		m.place(u)
	case client.Refused(err):
		m.takeBack(u, err)
	}
	m.broadcast()
	return g
}

// wanted returns what the node is to have.
func (m *Member) wanted() *update {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.wants); n > 0 {
		return m.wants[n-1]
	}
	return m.placed
}

// place notes that u is in place: what is older is wanted no more. m.mu is held.
func (m *Member) place(u *update) {
	m.placed = u
	m.wants = slices.DeleteFunc(m.wants, func(v *update) bool { return v.number <= u.number })
}

// takeBack notes that u was refused, which may be for its data: the newest of the others is
// wanted, if there is any. m.mu is held.
func (m *Member) takeBack(u *update, refusal error) {
	u.refusal = refusal
	if i := slices.Index(m.wants, u); i >= 0 && m.placed != nil {
		m.wants = slices.Delete(m.wants, i, i+1)
		m.wake()
	}
}

// errUnsettled says that the node changed as often as it was put right.
var errUnsettled = errors.New("membership: the member's node keeps changing")

// mostTries bounds how often the node is put right at once.
const mostTries = 10

// settle looks at the node, does what is missing, and looks again until nothing
// is. So a request whose answer was lost does no harm, whether it was executed or
// not, and neither does one that was executed in the session's successor. A node that is
// in place is returned also if its data may not be written.
func (m *Member) settle(u *update, doubt time.Duration) (*sight, error) {
	node := view{m.node, data}
	if m.zxid == 0 { // there is no node yet, unless its create's answer was lost
		if err := m.create(u); err != nil && !overtaken(err) {
			return nil, err
		}
	}
	for range mostTries {
		g, err := look(m.ctx, m.session, node, doubt)
		unsure := err == nil && m.unsure == g.stat.Czxid
		switch {
		case errors.Is(err, zk.ErrNoNode):
			m.unregistered(errGone)
			if err = m.create(u); client.Refused(err) {
				m.unregistered(err)
			}
		case err != nil:
		case g.stat.EphemeralOwner != m.session.ID():
			m.unregistered(errOutlived)
			err = order(m.session, func(conn *zk.Conn) error { return conn.Delete(m.node, g.stat.Version) })
		case unsure || !u.sent || !bytes.Equal(g.data, u.data):
			err = m.write(u, g.stat)
			switch refused := client.Refused(err); {
			case refused && unsure: // the write before may have been executed
				err = zk.ErrBadVersion
			case refused:
				return g, err
			}
		default:
			if doubt != 0 && client.Of(m.session).DueToConfirm(m.node) {
				err = client.Of(m.session).Confirm(m.node)
			}
			return g, err
		}
		if err != nil && !overtaken(err) {
			return nil, err
		}
		sightsOf(m.session).drop(node, g) // it is out of date, also if there was no event: see stands
	}
	if err := client.Of(m.session).Confirm(m.node); err != nil {
		return nil, err
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

// write gives the node u's data, if it is as seen.
func (m *Member) write(u *update, seen *zk.Stat) error {
	if err := m.fits(u); err != nil {
		return err
	}
	u.sent = true
	err := order(m.session, func(conn *zk.Conn) error {
		_, err := conn.Set(m.node, u.data, seen.Version)
		return err
	})
	switch {
	case err == nil: // though it may not be readable any more
		m.unsure = 0
		m.mu.Lock()
		defer m.mu.Unlock()
		m.place(u)
	case client.Refused(err):
		m.unsure = 0
	case !overtaken(err):
		m.unsure = seen.Czxid
	}
	return client.OverQuota(err, m.path, "the member's data")
}

// create creates the node with u's data, and the parents if they are missing.
func (m *Member) create(u *update) error {
	u.sent = true
	if err := m.fits(u); err != nil {
		return err
	}
	acl := m.options.acl
	above := client.Of(m.session).Parents(m.path, m.path, acl)
	node := wire.Op{Code: wire.OpCreate, Path: m.node, Data: u.data, ACL: acl, Flags: zk.FlagEphemeral}
	for {
		err := order(m.session, func(*zk.Conn) error { return above.Create(node) })
		if !above.Learn(err) {
			return client.OverQuota(client.ExplainACL(err, acl), m.path, "the member's node")
		}
	}
}

// fits returns an error if the servers do not take a request with u's data.
func (m *Member) fits(u *update) error {
	return client.Of(m.session).Fits(client.CreateSize(m.path, u.data, m.options.acl))
}

// withdraw deletes the node, for as long as it takes, unless the session is closed. That there is
// none is final: a create that an earlier connection carried has been executed before this write,
// or is refused since the session has moved.
func (m *Member) withdraw() {
	for failures := 0; ; {
		err := m.delete()
		switch {
		case err == nil:
			m.left()
			return
		case isClosed(m.session):
			m.sessionClosed()
			return
		case client.Refused(err):
			m.leaveErr = err
			return
		}
		failures++
		_ = client.Of(m.session).Sleep(context.Background(), backoff.Before(failures))
	}
}

// outlast returns when the node, which the server did not let us delete, has gone: an operator may
// change the ACL, and it goes with its session.
func (m *Member) outlast(session int64) {
	wait := time.Second
	again := time.NewTimer(wait)
	defer again.Stop()
	for {
		changed := client.Of(m.session).Changed()
		switch {
		case isClosed(m.session):
			m.sessionClosed()
			return
		case m.session.ID() != session:
			m.left()
			return
		}
		select {
		case <-changed:
		case <-m.session.Closed():
		case <-again.C:
			if m.delete() == nil {
				m.left()
				return
			}
			wait = min(2*wait, time.Minute)
			again.Reset(wait)
		}
	}
}

// delete deletes the node, if there is one. ZooKeeper refuses who may not before it looks for it:
// of this session's there may be none.
func (m *Member) delete() error {
	err := order(m.session, func(conn *zk.Conn) error { return conn.Delete(m.node, -1) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) && m.outlived() {
		return nil
	}
	return err
}

// outlived reports whether there is no node, or one of a session that has ended.
func (m *Member) outlived() bool {
	stat, err := request(m.session, func(conn *zk.Conn) (*zk.Stat, error) {
		_, stat, err := conn.Exists(m.node)
		return stat, err
	})
	return err == nil && stat.EphemeralOwner != m.session.ID()
}
