package client

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// What package zklock does for membership with a *zklock.Session, beside what that
// exports. It sets these, since it cannot be imported here.
var (
	// Begin makes the session's Close wait until done is called. Once the session is
	// closed ok is false, and the connection must not be used.
	Begin func(session any) (done func(), ok bool)

	// MakeRoom waits until few enough calls whose ctx has ended are being cleaned up
	// after, and CleanUp has finish do that for one more, in the background.
	MakeRoom func(ctx context.Context, session any) error
	CleanUp  func(session any, finish func())

	// MakeSessionParents creates dir and what is missing above it: the session knows
	// whether its servers have containers. Whoever has come to have no node there calls
	// leave.
	MakeSessionParents func(session any, dir string, acl []zk.ACL) (leave func(), err error)

	// Watches returns the number of the session's connection, and that of the oldest
	// one whose watches stand: what was watched over an earlier one may have changed
	// without an event.
	Watches func(session any) (connection, standing int64)
)
