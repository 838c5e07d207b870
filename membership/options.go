package membership

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// Option changes how [Join] or [Watch] works.
type Option func(*options)

type options struct {
	acl      []zk.ACL
	log      *slog.Logger
	notify   func(State)
	interval time.Duration
	users    bool // one of the functions is the user's
}

// WithACL sets the access list of the member's node and, if Join has to create it, of
// the path. What is missing above that has the same list, and everybody may create
// others there. A list of a missing path that does not let the session itself create the node
// and read its path is an error, and nothing is created. The default lets everybody do everything. The member itself needs
// to read its node, to write it for [Member.Update], and to create and delete
// children of the path; who watches needs to read the path, and sees the members that
// it may read.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl = slices.Clone(acl) }
}

// WithLogger has a member log its registrations, and its leaving, to logger at Info,
// and the loss of a registration at Warn; and a Watch at Warn that a member may not be
// read. It is called as WithNotify's function is, but a Watch waits for it until that ends.
func WithLogger(logger *slog.Logger) Option {
	return func(o *options) { o.log, o.users = logger, true }
}

// WithNotify has notify called with each new state of a member, in order and one
// at a time, in goroutines of its own: its panic ends the process. It may take its
// time, but for the member's Leave, which waits for it, and which it must not call. The
// session's Close does not wait for it.
func WithNotify(notify func(State)) Option {
	return func(o *options) { o.notify, o.users = notify, true }
}

// WithInterval sets how often it is made sure that no watch was lost, of a long list's
// members that of four at a time, in turn. Watches of a path share the turns. As often, and
// when the list has changed, each Watch tries again to read the members that may not be
// read. The default is the session timeout.
func WithInterval(d time.Duration) Option {
	return func(o *options) { o.interval = d }
}

// newOptions checks everything that Join and Watch are given.
func newOptions(s *zklock.Session, path string, opts []Option) (*options, error) {
	if _, err := zklock.New(s, path); err != nil { // it has the same needs
		return nil, errors.Unwrap(err) // which Join or Watch failed
	}
	o := &options{
		acl:      zk.WorldACL(zk.PermAll),
		log:      slog.New(slog.DiscardHandler),
		notify:   func(State) {},
		interval: s.Timeout(),
	}
	if err := client.Apply(o, opts); err != nil {
		return nil, err
	}
	switch {
	case len(o.acl) == 0:
		return nil, errors.New("WithACL: the list is empty: nobody could see the member")
	case o.log == nil:
		return nil, errors.New("WithLogger: the logger is nil")
	case o.notify == nil:
		return nil, errors.New("WithNotify: the function is nil")
	case o.interval <= 0:
		return nil, fmt.Errorf("WithInterval(%v): it must be positive", o.interval)
	}
	return o, nil
}
