package lock_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/zklock/zklock"
)

var holdCalls = map[string]call{
	"Err":      func(sc *scene) string { return sentinels(sc.mine.hold.Err()) },
	"Valid":    func(sc *scene) string { return fmt.Sprint(sc.mine.hold.Valid()) },
	"Lost":     func(sc *scene) string { return openOr(sc.mine.hold.Lost()) },
	"Revoked":  func(sc *scene) string { return openOr(sc.mine.hold.Revoked()) },
	"Context":  func(sc *scene) string { return sentinels(context.Cause(sc.mine.hold.Context())) },
	"HoldFrom": func(sc *scene) string { return heldAs(zklock.HoldFrom(sc.mine.hold.Context())) },
	"Release":  func(sc *scene) string { return sc.says(sc.mine.hold.Release(sc.ctx)) },
	"Release twice": func(sc *scene) string {
		_ = sc.mine.hold.Release(sc.ctx)
		return sc.says(sc.mine.hold.Release(sc.ctx))
	},
	"Token": func(sc *scene) string { return fmt.Sprint(sc.mine.hold.Token() > 0) },
}

func release(sc *scene) { _ = sc.mine.hold.Release(sc.ctx) }

func revoke(sc *scene) {
	if err := zklock.Revoke(sc.ctx, sc.theirs.Session, sc.mine.hold.Node()); err != nil {
		panic(err)
	}
}

func deleteNode(sc *scene) { _ = sc.theirs.Conn().Delete(sc.mine.hold.Node(), -1) }

var holdStates = map[string]state{
	"held": handle, "released": handle.then(release), "lost": handle.then(expire), "deleted": handle.then(deleteNode),
	"closed": handle.then(closeSession), "revoked": handle.then(revoke),
	"released, expired":  handle.then(release).then(expire),
	"released, closed":   handle.then(release).then(closeSession),
	"lost, released":     handle.then(expire).then(release),
	"cut off":            handle.then(disconnect),
	"cut off, closed":    handle.then(disconnect).until(closeSession),
	"ctx over":           handle.then(endContext),
	"released, ctx over": handle.then(release).then(endContext),
	"permits":            permits(me, 2), "permits, lost": permits(me, 2).then(expire), "a permit deleted": permits(me, 2).then(deleteNode),
}

func TestWhatTheCallsOfAHoldComeTo(t *testing.T) {
	statesTable{nil, holdStates, holdCalls, `
		call          | held | released | lost   | deleted | closed      | revoked | released, expired | released, closed | lost, released | permits | permits, lost | a permit deleted
		Err           | ok   | released | lost   | lost    | lost+closed | ok      | released          | released         | lost           | ok      | lost          | lost
		Valid         | true | false    | false  | false   | false       | true    | false             | false            | false          | true    | false         | false
		Lost          | open | open     | closed | closed  | closed      | open    | open              | open             | closed         | open    | closed        | closed
		Revoked       | open | open     | open   | open    | open        | closed  | open              | open             | open           | open    | open          | open
		Context       | ok   | released | lost   | lost    | lost+closed | ok      | released          | released         | lost           | ok      | lost          | lost
		HoldFrom      | held | released | lost   | lost    | lost+closed | held    | released          | released         | lost           | held    | lost          | lost
		Release       | ok   | ok       | lost   | lost    | lost+closed | ok      | ok                | ok               | lost           | ok      | lost          | lost
		Release twice | ok   | ok       | lost   | lost    | lost+closed | ok      | ok                | ok               | lost           | ok      | lost          | lost
		Token         | true | true     | true   | true    | true        | true    | true              | true             | true           | true    | true          | true
	`}.run(t)
	statesTable{nil, holdStates, holdCalls, `
		call          | cut off | cut off, closed | ctx over | released, ctx over
		Err           | ok      | ok              | ok       | released
		Valid         | true    | true            | true     | false
		Lost          | open    | open            | open     | open
		Context       | ok      | ok              | ok       | released
		Release       | waits   | ok              | canceled | ok
		Release twice | waits   | ok              | canceled | ok
	`}.run(t)
}

var sessionCalls = map[string]call{
	"ID":      func(sc *scene) string { return fmt.Sprint(sc.mine.ID() != 0) },
	"Timeout": func(sc *scene) string { return fmt.Sprint(sc.mine.Timeout() > 0) },
	"Closed":  func(sc *scene) string { return openOr(sc.mine.Closed()) },
	"Ping":    func(sc *scene) string { return sc.says(sc.mine.Ping(sc.ctx)) },
	"New": func(sc *scene) string {
		_, err := zklock.New(sc.mine.Session, statesPath)
		return sc.says(err)
	},
	"NewRW": func(sc *scene) string {
		_, err := zklock.NewRW(sc.mine.Session, statesPath)
		return sc.says(err)
	},
	"NewSemaphore": func(sc *scene) string {
		_, err := zklock.NewSemaphore(sc.mine.Session, statesPath, 1)
		return sc.says(err)
	},
	"Inspect": func(sc *scene) string {
		found, err := zklock.Inspect(sc.ctx, sc.mine.Session, statesPath)
		if err != nil {
			return sc.says(err)
		}
		return strconv.Itoa(len(found))
	},
	"Revoke": func(sc *scene) string {
		return sc.says(zklock.Revoke(sc.ctx, sc.mine.Session, sc.theirs.hold.Node()))
	},
}

var theirHandle = state{before: func(sc *scene) { sc.theirs.hold = must(sc.theirs.lock.Acquire(sc.ctx)) }}

var sessionStates = map[string]state{
	"connected": theirHandle, "expired": theirHandle.then(expire), "closed": theirHandle.then(closeSession),
	"cut off":           theirHandle.then(disconnect),
	"cut off, closed":   theirHandle.then(disconnect).until(closeSession),
	"cut off, deadline": theirHandle.then(disconnect).then(limitContext),
	"ctx over":          theirHandle.then(endContext),
}

func TestWhatTheCallsOfASessionComeTo(t *testing.T) {
	statesTable{nil, sessionStates, sessionCalls, `
		call         | connected | expired | closed | cut off | cut off, closed | cut off, deadline | ctx over
		ID           | true      | true    | true   | true    | true            | true              | true
		Timeout      | true      | true    | true   | true    | true            | true              | true
		Closed       | open      | open    | closed | open    | open            | open              | open
		New          | ok        | ok      | closed | ok      | ok              | ok                | ok
		NewRW        | ok        | ok      | closed | ok      | ok              | ok                | ok
		NewSemaphore | ok        | ok      | closed | ok      | ok              | ok                | ok
		Inspect      | 1         | 1       | closed | waits   | closed          | deadline          | canceled
		Revoke       | ok        | ok      | closed | waits   | closed          | deadline          | canceled
		Ping         | ok        | ok      | closed | waits   | closed          | deadline          | canceled
	`}.run(t)
}
