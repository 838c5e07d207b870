package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/callback"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// Member is a place on the list of servers, from [Join] until it leaves or its
// session is closed. Its methods may be called from any goroutine.
type Member struct {
	session *zklock.Session
	path    string
	node    string
	options *options

	ctx   context.Context // ends with Leave
	leave context.CancelFunc
	off   chan struct{} // closed when the member is off the list, or cannot be taken off
	done  chan struct{} // likewise, and its user has been told

	updated  chan struct{} // has an element when there is something new to write
	leaveErr error         // once done is closed

	news callback.Serial // of its state

	mu      sync.Mutex    // guards the fields up to state; nothing is locked under it
	updates int           // how many there were
	placed  *update       // what was in place last, nil before the first
	wants   []*update     // those after it, the newest last, which the node is to have
	changed chan struct{} // closed and replaced when there was an attempt
	state   State

	// The member's goroutine's own.
	zxid   int64 // of the registration, 0 before the first
	unsure int64 // the node whose last write had no answer, 0 if none: what was seen of it may be out of date
}

// update is data that the node is to have, unless a newer one is in place.
type update struct {
	data   []byte
	number int
	sent   bool // by a create or a write: what was in place before confirms nothing; the member's goroutine's own

	// Guarded by the member's mu.
	refusal error
	alone   bool // nobody waits for it any more
}

// ErrLeft says that the member has left.
var ErrLeft = errors.New("membership: the member has left")

// Join puts a member with that data on the list at path, which it creates if need
// be, and returns when ZooKeeper has confirmed it. After an error there is no
// member: if there is a node, it is being deleted in the background. It waits when
// too much of that is under way.
//
// The member stays until [Member.Leave] or the session's Close, and does not depend
// on ctx. When its ZooKeeper session ends, its node goes with it, and the member
// registers itself again in the next one, under the same name; likewise if
// somebody deletes the node. See [Member.State] and [WithNotify].
func Join(ctx context.Context, s *zklock.Session, path string, data []byte, opts ...Option) (*Member, error) {
	client.NeedsContext(ctx)
	o, err := newOptions(s, path, opts)
	if err == nil {
		err = client.CheckCreate(client.Of(s).Below(path), data, o.acl)
	}
	if err == nil && client.HasEnded(ctx) {
		err = client.Ended(ctx)
	}
	if err != nil {
		return nil, wrap("join", path, err)
	}
	path = client.Of(s).Below(path)
	if err := client.Of(s).MakeRoom(ctx); err != nil {
		return nil, explained(s, "join", path, err)
	}
	m := &Member{
		session: s, path: path, node: recipe.Join(path, memberPrefix+strings.ToLower(rand.Text())), options: o,
		off: make(chan struct{}), done: make(chan struct{}), updated: make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	first := m.want(data)
	m.ctx, m.leave = context.WithCancel(context.Background())
	if !client.Of(s).Spawn(m.keep) {
		m.leave()
		return nil, wrap("join", path, zklock.ErrClosed)
	}
	joined := false
	defer func() { // also if a context of the user's panics
		if !joined {
			m.leave()
			client.Of(s).CleanUp(m.awaitEnd)
		}
	}()
	if err := m.await(ctx, first); err != nil {
		return nil, explained(s, "join", path, err)
	}
	joined = true
	return m, nil
}

// awaitEnd returns when the member is off the list, whether its user has been told or not, or its
// session is closed.
func (m *Member) awaitEnd() {
	select {
	case <-m.off:
	case <-m.session.Closed():
	}
}

// memberPrefix begins the names of members' nodes. A random text follows, so that
// a name is never used by two members.
const memberPrefix = "member-"

// ID returns the name of the member's node, which is its [Peer.ID]. It stays the
// same when the member registers again.
func (m *Member) ID() string {
	m.mustBeMade("id")
	return recipe.Base(m.node)
}

// State returns how the member stands. After the session's Close it is registered no
// more: Err is [zklock.ErrClosed] unless the member has left before. One whose delete the
// server has refused stays registered until that succeeds, or its ZooKeeper session ends.
func (m *Member) State() State {
	m.mustBeMade("state")
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(m.session) { // its goroutine may not have noticed yet
		return m.state.closed()
	}
	return m.state
}

// Update changes the member's data and returns when ZooKeeper has confirmed it, or
// a later update; it writes what is in place already, too. If ZooKeeper refuses it, as the
// access list of the node or a quota may, the member stays as it was, and the update
// before it is written if that waits. If it fails because ctx has ended, the new data will
// be written all the same as soon as that is possible, unless ZooKeeper refuses that or
// there is a later update. The member owns its data: what others write to its node is
// undone, where it may write there. One that has left has none: the error is [ErrLeft].
func (m *Member) Update(ctx context.Context, data []byte) error {
	if err := m.made("update"); err != nil {
		return err
	}
	if err := client.CheckCreate(m.path, data, m.options.acl); err != nil { // it may have to register again
		return wrap("update", m.path, err)
	}
	client.NeedsContext(ctx)
	u := m.want(data)
	defer m.stopWaiting(u)
	m.wake()
	return explained(m.session, "update", m.path, m.await(ctx, u))
}

// want notes that the node is to have that data.
func (m *Member) want(data []byte) *update {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates++
	u := &update{data: slices.Clone(data), number: m.updates}
	m.wants = append(m.wants, u)
	return u
}

// stopWaiting notes that nobody waits for u any more. Of those that are wanted only the newest is
// kept, or they would pile up while there is no server.
func (m *Member) stopWaiting(u *update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u.alone = true
	newest := u
	for _, v := range m.wants {
		if v.alone {
			newest = v
		}
	}
	m.wants = slices.DeleteFunc(m.wants, func(v *update) bool { return v.alone && v != newest })
}

// wake has the member's goroutine look whether there is something to write.
func (m *Member) wake() {
	select {
	case m.updated <- struct{}{}:
	default:
	}
}

// Leave takes the member off the list and returns when ZooKeeper has confirmed it.
// If ctx ends first, its error is returned and the delete goes on in the
// background. It goes on, too, if the server refuses it, at least once a minute.
// Leaving again returns nil, or once more that refusal; after the delete has succeeded, or
// the session was closed or has ended, it returns nil.
func (m *Member) Leave(ctx context.Context) error {
	if err := m.made("leave"); err != nil {
		return err
	}
	client.NeedsContext(ctx)
	m.leave()
	select {
	case <-m.done:
	default:
		select {
		case <-m.done:
		case <-ctx.Done():
			return explained(m.session, "leave", m.path, client.Ended(ctx))
		}
	}
	if isClosed(m.session) || m.State().Err == ErrLeft { // the node goes with it, whatever kept it
		return nil
	}
	return explained(m.session, "leave", m.path, m.leaveErr)
}

// await returns when u, or a later one, is in place, or with the reason why it will not be.
func (m *Member) await(ctx context.Context, u *update) error {
	for {
		m.mu.Lock()
		changed, refusal := m.changed, u.refusal
		placed := m.placed != nil && m.placed.number >= u.number
		m.mu.Unlock()
		switch {
		case placed:
			return nil
		case refusal != nil:
			return refusal
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		case <-m.ctx.Done():
		case <-m.session.Closed():
		}
		switch {
		case isClosed(m.session) && m.State().Err != ErrLeft: // which makes the member leave
			return zklock.ErrClosed
		case isClosed(m.session), m.ctx.Err() != nil:
			return ErrLeft
		}
		return client.Ended(ctx)
	}
}

// broadcast wakes whoever waits for a change. m.mu is held.
func (m *Member) broadcast() {
	close(m.changed)
	m.changed = make(chan struct{})
}
