package election

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// Option changes how [New] makes an Election.
type Option func(*options)

type options struct {
	lock  []zklock.Option
	acl   []zk.ACL
	value []byte
	pause time.Duration
	retry func(error) bool
}

// WithValue sets what a leader says of itself to observers, such as its address. The default is
// nothing. [Term.Proclaim] changes it for the term.
func WithValue(value []byte) Option {
	return func(o *options) { o.value = slices.Clone(value) }
}

// WithACL sets the access list of the candidates' nodes, and of the path if it has to be created: see
// [zklock.WithACL]. Candidates need what a lock needs, and to write their own nodes. Observers need to
// read the path and the nodes.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl, o.lock = acl, append(o.lock, zklock.WithACL(acl)) }
}

// WithTrace has trace's functions called as they are of a lock: Enqueued tells of a candidate, Acquired
// of a leader, Released and Lost of the end of its term.
func WithTrace(trace *zklock.Trace) Option {
	return func(o *options) { o.lock = append(o.lock, zklock.WithTrace(trace)) }
}

// WithLossGrace keeps others from leading for d after a term was lost, or until [Election.Run]'s function
// has returned, or [Term.Resign] is called after [Election.Campaign], if the leader's session lives that
// long. It is for work that needs a while to stop: see [zklock.WithLossGrace].
func WithLossGrace(d time.Duration) Option {
	return func(o *options) { o.lock = append(o.lock, zklock.WithLossGrace(d)) }
}

// WithPause has [Election.Run] wait for d between the end of a term and the next campaign, so that
// another can lead even if it comes a little later. The default is 0: Run campaigns again at once,
// behind all who stand in line.
func WithPause(d time.Duration) Option {
	return func(o *options) { o.pause = d }
}

// WithRetry has [Election.Run] ask retry what becomes of an error that its function has returned
// while it led. If that says true, Run campaigns again, after the time of [WithPause], and after a
// second at least, unless its context has ended. Otherwise, and without this option, Run returns the
// error. retry is called by Run's goroutine when the leadership has been given up: it may log the error,
// and it may take its time.
func WithRetry(retry func(err error) bool) Option {
	return func(o *options) { o.retry = retry }
}

// check returns what is wrong with the options besides what a lock's own are refused for.
func (o *options) check() error {
	switch {
	case o.pause < 0:
		return fmt.Errorf("WithPause(%v): it must not be negative", o.pause)
	case o.retry == nil:
		return errors.New("WithRetry: the function is nil")
	}
	return nil
}
