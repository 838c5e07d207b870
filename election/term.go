package election

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/owner"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Term is the time for which a candidate leads. Its methods may be called from any goroutine.
type Term struct {
	of     *Election
	hold   *zklock.Hold
	since  time.Time
	byHand bool // from Campaign

	ctx     context.Context // of the term
	end     context.CancelCauseFunc
	refusal atomic.Pointer[error] // of the write without which no observer sees the leader

	writing chan struct{} // has an element while one writes, who alone uses the fields below
	value   []byte        // that the node has, or is to have
	node    version
}

// version is what the leader knows of its node.
type version struct {
	number int32
	marked bool // somebody has asked for the leadership
}

func newTerm(ctx context.Context, e *Election, hold *zklock.Hold) *Term {
	t := &Term{of: e, hold: hold, since: time.Now(), writing: make(chan struct{}, 1), value: e.options.value}
	t.ctx, t.end = context.WithCancelCause(ctx)
	return t
}

// spawn runs f while the session is open, which waits for its end.
func (t *Term) spawn(f func()) { client.Of(t.of.session).Spawn(f) }

// Token returns the term's fencing token. A later term of the same path, whoever leads then, has a
// larger one: see [zklock.Hold.Token].
func (t *Term) Token() int64 { return t.hold.Token() }

// Check returns a request that, put first in a Multi, makes the other operations happen only if nobody
// else leads: see [zklock.Hold.Check].
func (t *Term) Check() *zk.CheckVersionRequest { return t.hold.Check() }

// Lost returns a channel that is closed when the leadership is lost, before another can lead, and never
// by [Term.Resign].
func (t *Term) Lost() <-chan struct{} { return t.hold.Lost() }

// Revoked returns a channel that is closed when somebody has asked for the leadership. The term of a
// [Election.Run] ends then by itself; of a [Election.Campaign] the leader decides.
func (t *Term) Revoked() <-chan struct{} { return t.hold.Revoked() }

// Valid reports whether the term goes on. It looks at the clock, as [zklock.Hold.Valid] does.
func (t *Term) Valid() bool { return t.ctx.Err() == nil && t.hold.Valid() }

// Err returns nil while the term goes on, and then why it has ended: an error that is [zklock.ErrLost]
// and says why, [zklock.ErrReleased] after [Term.Resign], [ErrRevoked] if Run's function is to return
// because somebody has asked for the leadership, the error of Run's context, or of a Run why a server
// refuses to let observers see the leader, such as [zk.ErrNoAuth].
func (t *Term) Err() error { return context.Cause(t.ctx) }

// Resign ends the term. In the function of [Election.Run] it ends that function's context at once and
// returns; the leadership is given up when the function has returned. After [Election.Campaign] it gives
// it up, waits for ZooKeeper's confirmation, and returns the errors of [zklock.Hold.Release]: when ctx
// ends first, that goes on in the background.
func (t *Term) Resign(ctx context.Context) error {
	client.NeedsContext(ctx)
	t.end(zklock.ErrReleased)
	err := t.hold.Err()
	switch {
	case t.byHand:
		err = t.hold.Release(ctx)
	case err == zklock.ErrReleased:
		err = nil
	}
	return t.of.wrap("resign", err)
}

// Proclaim has observers see that value from now on, and returns when ZooKeeper has confirmed it. It
// changes it only while the term goes on; otherwise its error is [Term.Err]'s, such as [zklock.ErrLost].
// When ctx ends first, the value may be the old one or the new.
func (t *Term) Proclaim(ctx context.Context, value []byte) error {
	client.NeedsContext(ctx)
	err := t.of.fits(value)
	if err == nil {
		err = t.Err()
	}
	if err == nil {
		err = t.write(ctx, append([]byte{}, value...))
	}
	return t.of.wrap("proclaim", err)
}

// announce has observers see the leader. If a server refuses that for good, the term is of no use.
func (t *Term) announce() {
	if err := t.write(t.hold.Context(), nil); refused(err) {
		t.refusal.Store(&err)
		t.end(err)
	}
}

// heed ends the term of a Run when somebody asks for the leadership, and puts right what each Curator's
// mark has made of the node.
func (t *Term) heed() {
	c, ctx := client.Of(t.of.session), t.hold.Context()
	select {
	case <-t.hold.Revoked():
	case <-ctx.Done():
		return
	}
	if !t.byHand {
		t.end(ErrRevoked)
	}
	for ctx.Err() == nil {
		node := c.Watch(client.WatchKey{Path: t.hold.Node()}) // the lock watches it too
		select {
		case <-node.Armed:
		case <-ctx.Done():
			return
		}
		if rest, marked := recipe.Revocation(node.Data); marked && rest == nil {
			_ = t.write(ctx, nil)
		}
		if node.Err != nil { // there is no connection, or it may not be read
			_ = c.Sleep(ctx, leastPause)
		}
		select {
		case <-node.Fired:
		case <-ctx.Done():
		}
	}
}

// write has the node say that we lead, with that value, nil for the one that there is. An error tells
// first that the leadership is lost.
func (t *Term) write(ctx context.Context, value []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.hold.Context(), func() { cancel(t.hold.Err()) })()
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-ctx.Done():
		return t.or(client.Ended(ctx))
	}
	if value == nil {
		value = t.value
	}
	if err := t.say(ctx, leadership(t.since, value)); err != nil {
		return t.or(err)
	}
	t.value = value
	return nil
}

// or returns err, or that the hold has ended.
func (t *Term) or(err error) error {
	if over := t.hold.Err(); over != nil {
		return over
	}
	return err
}

// say has the node say text, beside what others have asked for there.
func (t *Term) say(ctx context.Context, text []byte) error {
	c := client.Of(t.of.session)
	err := c.Persist(ctx, func() error {
		err := c.MakeRoom(ctx)
		if err == nil {
			err = t.set(ctx, c, text)
		}
		return err
	})
	return client.OverQuota(err, t.hold.Node(), "the leader's value")
}

// set is one try of say, or more if others have written there meanwhile.
func (t *Term) set(ctx context.Context, c *client.Client, text []byte) error {
	node := t.hold.Node()
	for {
		data := text
		if t.node.marked {
			data = recipe.Revoked(text)
		}
		err := c.Ask(ctx, wire.NewRequest(wire.Op{Code: wire.OpSetData, Path: node, Data: data, Version: t.node.number}))
		switch {
		case err == nil:
			t.node.number++
			return nil
		case !client.Answers(err, zk.ErrBadVersion):
			return err
		}
		read := client.Read(node)
		if err := c.Ask(ctx, read); err != nil {
			return err
		}
		there, _ := client.ContentOf(read) // which was answered
		_, marked := recipe.Revocation(there.Data)
		t.node = version{there.Stat.Version, marked}
	}
}

// candidacy is what a node says that waits: of its process what any lock's node does, so that zklock
// status shows it, and what has become of the candidate.
func candidacy() []byte {
	o := owner.Ourselves()
	o.Election = owner.Candidate
	return []byte(o.String())
}

// leadership is what it says since it leads.
func leadership(since time.Time, value []byte) []byte {
	o := owner.Ourselves()
	o.Election, o.HeldSince, o.Value = owner.Leads, since, value
	return []byte(o.String())
}
