package lock_test

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/zklock/zklock"
)

var lockerCalls = map[string]call{
	"Lock":           func(sc *scene) string { sc.mine.lock.Lock(); return "ok" },
	"LockContext":    func(sc *scene) string { return sc.says(sc.mine.lock.LockContext(sc.ctx)) },
	"TryLock":        func(sc *scene) string { return sc.given(sc.mine.lock.TryLock(), nil) },
	"TryLockFor 0":   func(sc *scene) string { return sc.given(sc.mine.lock.TryLockFor(sc.ctx, 0)) },
	"TryLockFor":     func(sc *scene) string { return sc.given(sc.mine.lock.TryLockFor(sc.ctx, stateLimit)) },
	"TryLockFor max": func(sc *scene) string { return sc.given(sc.mine.lock.TryLockFor(sc.ctx, math.MaxInt64)) },
	"Acquire":        func(sc *scene) string { return sc.granted(sc.mine.lock.Acquire(sc.ctx)) },
	"TryAcquire":     func(sc *scene) string { return sc.granted(sc.mine.lock.TryAcquire(sc.ctx)) },
	"Do": func(sc *scene) string {
		return sc.says(sc.mine.lock.Do(sc.ctx, func(context.Context) error { return nil }))
	},
	"Unlock":        func(sc *scene) string { sc.mine.lock.Unlock(); return "ok" },
	"UnlockContext": func(sc *scene) string { return sc.says(sc.mine.lock.UnlockContext(sc.ctx)) },
	"Held":          func(sc *scene) string { return heldAs(sc.mine.lock.Held()) },
	"Lost":          func(sc *scene) string { return openOr(sc.mine.lock.Lost()) },
	"HoldCount":     func(sc *scene) string { return strconv.Itoa(sc.mine.lock.HoldCount()) },
}

// Who has the lock: the caller, another goroutine of its process, or another process.
var (
	free    = state{before: func(*scene) {}}
	mine    = state{before: func(sc *scene) { sc.mine.lock.Lock() }}
	another = state{before: func(sc *scene) { sc.byAnother(sc.mine.lock.Lock) }}
	theirs  = state{before: func(sc *scene) { sc.theirs.lock.Lock() }}
	handle  = state{before: func(sc *scene) { sc.mine.hold = must(sc.mine.lock.Acquire(sc.ctx)) }}
)

// byAnother has another goroutine do f.
func (sc *scene) byAnother(f func()) {
	done := make(chan struct{})
	sc.stays(func() {
		f()
		close(done)
	})
	<-done
}

// What may happen.

func expire(sc *scene) { sc.server.ExpireSession(sc.mine.ID()) }

func closeSession(sc *scene) { sc.mine.Close() }

func disconnect(sc *scene) {
	sc.server.Refuse(true)
	sc.server.Client("mine").Cut()
}

func endContext(sc *scene) {
	ctx, cancel := context.WithCancel(sc.ctx)
	cancel()
	sc.ctx = ctx
}

func limitContext(sc *scene) {
	// The state itself takes a limit.
	ctx, cancel := context.WithTimeout(sc.ctx, stateLimit*3/2)
	sc.atEnd = append(sc.atEnd, cancel)
	sc.ctx = ctx
}

// cancelled is st in which the call's ctx is cancelled while the call waits.
func cancelled(st state, cause error) state {
	var cancel context.CancelCauseFunc
	return st.then(func(sc *scene) {
		sc.ctx, cancel = context.WithCancelCause(sc.ctx)
	}).until(func(*scene) { cancel(cause) })
}

var lockerStates = map[string]state{
	"free": free, "mine": mine, "twice": mine.then(mine.before), "another's": another, "theirs": theirs, "handle": handle,

	"lost":           mine.then(expire),
	"twice, lost":    mine.then(mine.before).then(expire),
	"another's lost": another.then(expire),

	"closed":            free.then(closeSession),
	"mine, closed":      mine.then(closeSession),
	"another's, closed": another.then(closeSession),
	"theirs, closed":    theirs.until(closeSession),

	"cut off":         free.then(disconnect),
	"mine, cut off":   mine.then(disconnect),
	"cut off, closed": free.then(disconnect).until(closeSession),

	"ctx over":         free.then(endContext),
	"mine, ctx over":   mine.then(endContext),
	"twice, ctx over":  mine.then(mine.before).then(endContext),
	"lost, ctx over":   mine.then(expire).then(endContext),
	"closed, ctx over": free.then(closeSession).then(endContext),

	"theirs, deadline":         theirs.then(limitContext),
	"another's lost, deadline": another.then(expire).then(limitContext),
	"cut off, deadline":        free.then(disconnect).then(limitContext),
	"theirs, cancelled":        cancelled(theirs, nil),
	"theirs, cause":            cancelled(theirs, errUser),
	"another's, cause":         cancelled(another, errUser),
}

func TestWhatTheCallsOfALockerComeTo(t *testing.T) {
	statesTable{nil, lockerStates, lockerCalls, `
		call           | free      | mine   | twice  | another's | theirs    | handle    | lost   | twice, lost | another's lost
		Lock           | ok        | ok     | ok     | waits     | waits     | waits     | !lost  | !lost       | waits
		LockContext    | ok        | ok     | ok     | waits     | waits     | waits     | lost   | lost        | waits
		TryLock        | true      | true   | true   | false     | false     | false     | false  | false       | false
		TryLockFor 0   | true      | true   | true   | false     | false     | false     | lost   | lost        | false
		TryLockFor     | true      | true   | true   | false     | false     | false     | lost   | lost        | false
		TryLockFor max | true      | true   | true   | waits     | waits     | waits     | lost   | lost        | waits
		Acquire        | ok        | waits  | waits  | waits     | waits     | waits     | ok     | ok          | ok
		TryAcquire     | ok        | locked | locked | locked    | locked    | locked    | ok     | ok          | ok
		Do             | ok        | waits  | waits  | waits     | waits     | waits     | waits  | waits       | waits
		Unlock         | !not held | ok     | ok     | !not held | !not held | !not held | ok     | ok          | !not held
		UnlockContext  | not held  | ok     | ok     | not held  | not held  | not held  | lost   | lost        | not held
		Held           | nil       | held   | held   | nil       | nil       | nil       | lost   | lost        | nil
		Lost           | closed    | open   | open   | closed    | closed    | closed    | closed | closed      | closed
		HoldCount      | 0         | 1      | 2      | 0         | 0         | 0         | 1      | 2           | 0
	`}.run(t)
}

func TestWhatTheCallsOfALockerComeToWhenTheSessionIsClosedOrCutOff(t *testing.T) {
	statesTable{nil, lockerStates, lockerCalls, `
		call           | closed    | mine, closed | another's, closed | theirs, closed | cut off   | mine, cut off | cut off, closed
		Lock           | !closed   | !lost+closed | !closed           | !closed        | waits     | ok            | !closed
		LockContext    | closed    | lost+closed  | closed            | closed         | waits     | ok            | closed
		TryLock        | false     | false        | false             | false          | false     | true          | false
		TryLockFor     | closed    | lost+closed  | closed            | false          | false     | true          | false
		TryLockFor max | closed    | lost+closed  | closed            | closed         | waits     | true          | closed
		Acquire        | closed    | closed       | closed            | closed         | waits     | waits         | closed
		TryAcquire     | closed    | closed       | closed            | locked         | waits     | waits         | closed
		Do             | closed    | closed       | closed            | closed         | waits     | waits         | closed
		Unlock         | !not held | ok           | !not held         | !not held      | !not held | ok            | !not held
		UnlockContext  | not held  | lost+closed  | not held          | not held       | not held  | waits         | not held
		Held           | nil       | lost+closed  | nil               | nil            | nil       | held          | nil
		Lost           | closed    | closed       | closed            | closed         | closed    | open          | closed
		HoldCount      | 0         | 1            | 0                 | 0              | 0         | 1             | 0
	`}.run(t)
}

func TestWhatTheCallsOfALockerComeToWhenTheirContextEnds(t *testing.T) {
	statesTable{nil, lockerStates, lockerCalls, `
		call           | ctx over | mine, ctx over | twice, ctx over | lost, ctx over | closed, ctx over | theirs, deadline | another's lost, deadline | cut off, deadline | theirs, cancelled | theirs, cause  | another's, cause
		LockContext    | canceled | canceled       | canceled        | canceled       | canceled         | locked+deadline  | locked+deadline          | deadline          | canceled          | canceled+cause | canceled+cause
		TryLockFor 0   | canceled | canceled       | canceled        | canceled       | canceled         | false            | false                    | deadline          | false             | false          | false
		TryLockFor max | canceled | canceled       | canceled        | canceled       | canceled         | locked+deadline  | locked+deadline          | deadline          | canceled          | canceled+cause | canceled+cause
		Acquire        | canceled | canceled       | canceled        | canceled       | canceled         | locked+deadline  | ok                       | deadline          | canceled          | canceled+cause | canceled+cause
		TryAcquire     | canceled | canceled       | canceled        | canceled       | canceled         | locked           | ok                       | deadline          | locked            | locked         | locked
		Do             | canceled | canceled       | canceled        | canceled       | canceled         | locked+deadline  | locked+deadline          | deadline          | canceled          | canceled+cause | canceled+cause
		UnlockContext  | not held | canceled       | ok              | lost           | not held         | not held         | not held                 | not held          | not held          | not held       | not held
		HoldCount      | 0        | 1              | 2               | 1              | 0                | 0                | 0                        | 0                 | 0                 | 0              | 0
	`}.run(t)
}

// WithHandoff and WithRetention change nothing of what a caller sees.
func TestWhatTheCallsOfALockerComeToWhenItsNodeIsShared(t *testing.T) {
	statesTable{[]zklock.Option{zklock.WithHandoff(4), zklock.WithRetention(time.Minute)}, lockerStates, lockerCalls, `
		call          | free      | mine   | another's | theirs    | handle    | lost   | mine, closed | another's, cause | mine, ctx over
		LockContext   | ok        | ok     | waits     | waits     | waits     | lost   | lost+closed  | canceled+cause   | canceled
		TryLock       | true      | true   | false     | false     | false     | false  | false        | false            | true
		TryLockFor    | true      | true   | false     | false     | false     | lost   | lost+closed  | false            | canceled
		Acquire       | ok        | waits  | waits     | waits     | waits     | ok     | closed       | canceled+cause   | canceled
		TryAcquire    | ok        | locked | locked    | locked    | locked    | ok     | closed       | locked           | canceled
		Unlock        | !not held | ok     | !not held | !not held | !not held | ok     | ok           | !not held        | ok
		UnlockContext | not held  | ok     | not held  | not held  | not held  | lost   | lost+closed  | not held         | ok
		Held          | nil       | held   | nil       | nil       | nil       | lost   | lost+closed  | nil              | held
		Lost          | closed    | open   | closed    | closed    | closed    | closed | closed       | closed           | open
		HoldCount     | 0         | 1      | 0         | 0         | 0         | 1      | 1            | 0                | 1
	`}.run(t)
}

func TestWhatTheCallsOfALockerWithoutOwnerComeTo(t *testing.T) {
	statesTable{[]zklock.Option{zklock.WithoutOwner()}, lockerStates, lockerCalls, `
		call          | free      | mine   | another's | theirs    | handle    | lost   | another's lost | mine, closed | mine, cut off
		Lock          | ok        | waits  | waits     | waits     | waits     | waits  | waits          | !closed      | waits
		LockContext   | ok        | waits  | waits     | waits     | waits     | waits  | waits          | closed       | waits
		TryLock       | true      | false  | false     | false     | false     | false  | false          | false        | false
		TryLockFor 0  | true      | false  | false     | false     | false     | false  | false          | closed       | false
		TryLockFor    | true      | false  | false     | false     | false     | false  | false          | closed       | false
		Acquire       | ok        | waits  | waits     | waits     | waits     | ok     | ok             | closed       | waits
		TryAcquire    | ok        | locked | locked    | locked    | locked    | ok     | ok             | closed       | waits
		Do            | ok        | waits  | waits     | waits     | waits     | waits  | waits          | closed       | waits
		Unlock        | !not held | ok     | ok        | !not held | !not held | ok     | ok             | ok           | ok
		UnlockContext | not held  | ok     | ok        | not held  | not held  | lost   | lost           | lost+closed  | waits
		Held          | nil       | held   | held      | nil       | nil       | lost   | lost           | lost+closed  | held
		Lost          | closed    | open   | open      | closed    | closed    | closed | closed         | closed       | open
		HoldCount     | 0         | 1      | 1         | 0         | 0         | 1      | 1              | 1            | 1
	`}.run(t)
}
