package election

import (
	"context"
	"iter"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// Observe yields who leads: at once, and then again whenever another leads, nobody leads any more, or
// the leader has proclaimed another value. That nobody leads is told as [ErrNoLeader], and the loop goes
// on. Changes that come while the loop's body runs, or close together, show as one: the last state is
// always the truth, those between need not be told. Nobody is told who never led.
//
// It goes on through lost connections and expired sessions: while there is no connection, nothing new
// is told. It needs the permission to read the path and the leader's node, and a path that does not
// exist has no leader yet. The sequence ends when ctx does, and with an error that is not ErrNoLeader if
// it cannot go on: a bad argument, what the session may not read (zk.ErrNoAuth), a closed session
// ([zklock.ErrClosed]).
func Observe(ctx context.Context, s *zklock.Session, path string) iter.Seq2[Leadership, error] {
	client.NeedsContext(ctx)
	return func(yield func(Leadership, error) bool) {
		path, err := path, check(s, path)
		if err == nil {
			path = client.Of(s).Below(path)
			err = observe(ctx, s, path, func(l *Leadership) bool { return yield(l.told()) })
		}
		if err != nil && !client.HasEnded(ctx) {
			yield(Leadership{}, wrap(s, "observe", path, err))
		}
	}
}

// observe yields until it fails or yield has had enough.
func observe(ctx context.Context, s *zklock.Session, path string, yield func(*Leadership) bool) error {
	c := client.Of(s)
	place := placeOf(c, path)
	var last *Leadership
	for first := true; ctx.Err() == nil; {
		moved := c.Changed()
		var seen *sight
		err := c.Persist(ctx, func() error {
			look := place.look()
			err := client.Wait(ctx, look)
			if err == nil {
				seen = look.sight
			}
			return err
		})
		if err != nil {
			return err
		}
		if first || !seen.leader.same(last) {
			first, last = false, seen.leader
			if !yield(last) {
				return nil
			}
		}
		select {
		case <-moved:
		case <-seen.watch.over:
		case <-time.After(time.Until(seen.trusted)):
		case <-ctx.Done():
		}
	}
	return nil
}

// watching reads with watches; of an election that is not there, one on its path.
type watching struct{ conn *zk.Conn }

func (r watching) node(path string) ([]byte, *zk.Stat, alarm, error) { return r.conn.GetW(path) }

func (r watching) children(path string) ([]string, alarm, error) {
	names, _, changed, err := client.WatchChildren(r.conn, path)
	return names, changed, err
}
