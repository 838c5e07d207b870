package lock_test

import (
	"testing"

	"github.com/zklock/zklock"
)

var rwCalls = map[string]call{
	"Lock":           func(sc *scene) string { sc.mine.rw.Lock(); return "ok" },
	"LockContext":    func(sc *scene) string { return sc.says(sc.mine.rw.LockContext(sc.ctx)) },
	"TryLock":        func(sc *scene) string { return sc.given(sc.mine.rw.TryLock(), nil) },
	"TryLockFor 0":   func(sc *scene) string { return sc.given(sc.mine.rw.TryLockFor(sc.ctx, 0)) },
	"TryLockFor":     func(sc *scene) string { return sc.given(sc.mine.rw.TryLockFor(sc.ctx, stateLimit)) },
	"Unlock":         func(sc *scene) string { sc.mine.rw.Unlock(); return "ok" },
	"UnlockContext":  func(sc *scene) string { return sc.says(sc.mine.rw.UnlockContext(sc.ctx)) },
	"Acquire":        func(sc *scene) string { return sc.granted(sc.mine.rw.Acquire(sc.ctx)) },
	"TryAcquire":     func(sc *scene) string { return sc.granted(sc.mine.rw.TryAcquire(sc.ctx)) },
	"Held":           func(sc *scene) string { return heldAs(sc.mine.rw.Held()) },
	"Lost":           func(sc *scene) string { return openOr(sc.mine.rw.Lost()) },
	"RLock":          func(sc *scene) string { sc.mine.rw.RLock(); return "ok" },
	"RLocker.Lock":   func(sc *scene) string { sc.mine.rw.RLocker().Lock(); return "ok" },
	"RLockContext":   func(sc *scene) string { return sc.says(sc.mine.rw.RLockContext(sc.ctx)) },
	"TryRLock":       func(sc *scene) string { return sc.given(sc.mine.rw.TryRLock(), nil) },
	"TryRLockFor 0":  func(sc *scene) string { return sc.given(sc.mine.rw.TryRLockFor(sc.ctx, 0)) },
	"TryRLockFor":    func(sc *scene) string { return sc.given(sc.mine.rw.TryRLockFor(sc.ctx, stateLimit)) },
	"RUnlock":        func(sc *scene) string { sc.mine.rw.RUnlock(); return "ok" },
	"RLocker.Unlock": func(sc *scene) string { sc.mine.rw.RLocker().Unlock(); return "ok" },
	"RUnlockContext": func(sc *scene) string { return sc.says(sc.mine.rw.RUnlockContext(sc.ctx)) },
	"RAcquire":       func(sc *scene) string { return sc.granted(sc.mine.rw.RAcquire(sc.ctx)) },
	"TryRAcquire":    func(sc *scene) string { return sc.granted(sc.mine.rw.TryRAcquire(sc.ctx)) },
	"RHeld":          func(sc *scene) string { return heldAs(sc.mine.rw.RHeld()) },
	"RLost":          func(sc *scene) string { return openOr(sc.mine.rw.RLost()) },
}

// Who reads and who writes.
var (
	reads         = state{before: func(sc *scene) { sc.mine.rw.RLock() }}
	writes        = state{before: func(sc *scene) { sc.mine.rw.Lock() }}
	readsAndWrite = writes.then(reads.before)
	downgraded    = readsAndWrite.then(func(sc *scene) { sc.mine.rw.Unlock() })
	anotherReads  = state{before: func(sc *scene) { sc.byAnother(sc.mine.rw.RLock) }}
	anotherWrites = state{before: func(sc *scene) { sc.byAnother(sc.mine.rw.Lock) }}
	theyRead      = state{before: func(sc *scene) { sc.theirs.rw.RLock() }}
	theyWrite     = state{before: func(sc *scene) { sc.theirs.rw.Lock() }}
)

var rwStates = map[string]state{
	"free": free, "reads": reads, "writes": writes, "both": readsAndWrite, "downgraded": downgraded,
	"another reads": anotherReads, "another writes": anotherWrites, "they read": theyRead, "they write": theyWrite,
	"a Locker's": theirs,

	"reads, lost":         reads.then(expire),
	"writes, lost":        writes.then(expire),
	"both, lost":          readsAndWrite.then(expire),
	"downgraded, lost":    downgraded.then(expire),
	"another reads, lost": anotherReads.then(expire), "another writes, lost": anotherWrites.then(expire),

	"closed":             free.then(closeSession),
	"reads, closed":      reads.then(closeSession),
	"writes, closed":     writes.then(closeSession),
	"they write, closed": theyWrite.until(closeSession),

	"cut off":         free.then(disconnect),
	"reads, cut off":  reads.then(disconnect),
	"writes, cut off": writes.then(disconnect),

	"ctx over":             free.then(endContext),
	"writes, ctx over":     writes.then(endContext),
	"they write, deadline": theyWrite.then(limitContext),
	"they write, cause":    cancelled(theyWrite, errUser),
	"reads, deadline":      reads.then(limitContext),
}

func TestWhatTheCallsOfAnRWLockerComeTo(t *testing.T) {
	statesTable{nil, rwStates, rwCalls, `
		call          | free      | reads     | writes | both   | downgraded | another reads | another writes | they read | they write | a Locker's
		Lock          | ok        | !upgrade  | ok     | ok     | !upgrade   | waits         | waits          | waits     | waits      | waits
		LockContext   | ok        | upgrade   | ok     | ok     | upgrade    | waits         | waits          | waits     | waits      | waits
		TryLock       | true      | false     | true   | true   | false      | false         | false          | false     | false      | false
		TryLockFor 0  | true      | upgrade   | true   | true   | upgrade    | false         | false          | false     | false      | false
		TryLockFor    | true      | upgrade   | true   | true   | upgrade    | false         | false          | false     | false      | false
		Unlock        | !not held | !not held | ok     | ok     | !not held  | !not held     | !not held      | !not held | !not held  | !not held
		UnlockContext | not held  | not held  | ok     | ok     | not held   | not held      | not held       | not held  | not held   | not held
		Acquire       | ok        | waits     | waits  | waits  | waits      | waits         | waits          | waits     | waits      | waits
		TryAcquire    | ok        | locked    | locked | locked | locked     | locked        | locked         | locked    | locked     | locked
		Held          | nil       | nil       | held   | held   | nil        | nil           | nil            | nil       | nil        | nil
		Lost          | closed    | closed    | open   | open   | closed     | closed        | closed         | closed    | closed     | closed
		RLock         | ok        | ok        | ok     | ok     | ok         | ok            | waits          | ok        | waits      | waits
		RLocker.Lock   | ok        | ok        | ok        | ok     | ok         | ok            | waits          | ok        | waits      | waits
		RLockContext  | ok        | ok   | ok        | ok   | ok   | ok        | waits     | ok        | waits     | waits
		TryRLock      | true      | true | true      | true | true | true      | false     | true      | false     | false
		TryRLockFor 0 | true      | true | true      | true | true | true      | false     | true      | false     | false
		TryRLockFor   | true      | true | true      | true | true | true      | false     | true      | false     | false
		RUnlock       | !not held | ok   | !not held | ok   | ok   | !not held | !not held | !not held | !not held | !not held
		RLocker.Unlock | !not held | ok        | !not held | ok     | ok         | !not held     | !not held      | !not held | !not held  | !not held
		RUnlockContext | not held | ok   | not held | ok     | ok   | not held | not held | not held | not held | not held
		RAcquire       | ok       | ok   | waits    | waits  | ok   | ok       | waits    | ok       | waits    | waits
		TryRAcquire    | ok       | ok   | locked   | locked | ok   | ok       | locked   | ok       | locked   | locked
		RHeld          | nil      | held | nil      | held   | held | nil      | nil      | nil      | nil      | nil
		RLost          | closed   | open | closed   | open   | open | closed   | closed   | closed   | closed   | closed
	`}.run(t)
}

func TestWhatTheCallsOfAnRWLockerComeToWhenItIsLost(t *testing.T) {
	statesTable{nil, rwStates, rwCalls, `
		call           | reads, lost | writes, lost | both, lost | downgraded, lost | another reads, lost | another writes, lost
		Lock           | !upgrade    | !lost        | !lost      | !upgrade         | waits               | waits
		LockContext    | upgrade     | lost         | lost       | upgrade          | waits               | waits
		TryLock        | false       | false        | false      | false            | false               | false
		TryLockFor     | upgrade     | lost         | lost       | upgrade          | false               | false
		Unlock         | !not held   | ok           | ok         | !not held        | !not held           | !not held
		UnlockContext  | not held    | lost         | lost       | not held         | not held            | not held
		Acquire        | ok          | ok           | ok         | ok               | ok                  | ok
		Held           | nil         | lost         | lost       | nil              | nil                 | nil
		Lost           | closed      | closed       | closed     | closed           | closed              | closed
		RLock          | !lost       | !lost        | !lost      | !lost            | ok                  | waits
		RLockContext   | lost        | lost         | lost       | lost             | ok                  | waits
		TryRLock       | false       | false        | false      | false            | true                | false
		TryRLockFor    | lost        | lost         | lost       | lost             | true                | false
		RUnlock        | ok          | !not held    | ok         | ok               | !not held           | !not held
		RUnlockContext | lost        | not held     | lost       | lost             | not held            | not held
		RAcquire       | ok          | ok           | ok         | ok               | ok                  | ok
		RHeld          | lost        | nil          | lost       | lost             | nil                 | nil
		RLost          | closed      | closed       | closed     | closed           | closed              | closed
	`}.run(t)
}

func TestWhatTheCallsOfAnRWLockerComeToWhenTheSessionIsClosedOrCutOff(t *testing.T) {
	statesTable{nil, rwStates, rwCalls, `
		call           | closed    | reads, closed | writes, closed | they write, closed | cut off   | reads, cut off | writes, cut off
		Lock           | !closed   | !upgrade      | !lost+closed   | !closed            | waits     | !upgrade       | ok
		LockContext    | closed    | upgrade       | lost+closed    | closed             | waits     | upgrade        | ok
		TryLock        | false     | false         | false          | false              | false     | false          | true
		TryLockFor     | closed    | upgrade       | lost+closed    | false              | false     | upgrade        | true
		Unlock         | !not held | !not held     | ok             | !not held          | !not held | !not held      | ok
		UnlockContext  | not held  | not held      | lost+closed    | not held           | not held  | not held       | waits
		Acquire        | closed    | closed        | closed         | closed             | waits     | waits          | waits
		Held           | nil       | nil           | lost+closed    | nil                | nil       | nil            | held
		Lost           | closed    | closed        | closed         | closed             | closed    | closed         | open
		RLock          | !closed   | !lost+closed  | !lost+closed   | !closed            | waits     | ok             | waits
		RLockContext   | closed    | lost+closed   | lost+closed    | closed             | waits     | ok             | waits
		TryRLock       | false     | false         | false          | false              | false     | true           | false
		TryRLockFor    | closed    | lost+closed   | lost+closed    | false              | false     | true           | false
		RUnlock        | !not held | ok            | !not held      | !not held          | !not held | ok             | !not held
		RUnlockContext | not held  | lost+closed   | not held       | not held           | not held  | waits          | not held
		RAcquire       | closed    | closed        | closed         | closed             | waits     | waits          | waits
		RHeld          | nil       | lost+closed   | nil            | nil                | nil       | held           | nil
		RLost          | closed    | closed        | closed         | closed             | closed    | open           | closed
	`}.run(t)
}

func TestWhatTheCallsOfAnRWLockerComeToWhenTheirContextEnds(t *testing.T) {
	statesTable{nil, rwStates, rwCalls, `
		call           | ctx over | writes, ctx over | they write, deadline | they write, cause | reads, deadline
		LockContext    | canceled | canceled         | locked+deadline      | canceled+cause    | upgrade
		TryLockFor 0   | canceled | canceled         | false                | false             | upgrade
		UnlockContext  | not held | canceled         | not held             | not held          | not held
		Acquire        | canceled | canceled         | locked+deadline      | canceled+cause    | locked+deadline
		TryAcquire     | canceled | canceled         | locked               | locked            | locked
		RLockContext   | canceled | canceled         | locked+deadline      | canceled+cause    | ok
		TryRLockFor 0  | canceled | canceled         | false                | false             | true
		RUnlockContext | not held | not held         | not held             | not held          | ok
		RAcquire       | canceled | canceled         | locked+deadline      | canceled+cause    | ok
		TryRAcquire    | canceled | canceled         | locked               | locked            | ok
	`}.run(t)
}

func TestWhatTheCallsOfAnRWLockerWithoutOwnerComeTo(t *testing.T) {
	statesTable{[]zklock.Option{zklock.WithoutOwner()}, rwStates, rwCalls, `
		call           | free      | reads     | writes    | another reads | another writes | they read | they write | reads, lost | writes, lost
		LockContext    | ok        | waits     | waits     | waits         | waits          | waits     | waits      | waits       | waits
		TryLock        | true      | false     | false     | false         | false          | false     | false      | false       | false
		TryLockFor     | true      | false     | false     | false         | false          | false     | false      | false       | false
		Unlock         | !not held | !not held | ok        | !not held     | ok             | !not held | !not held  | !not held   | ok
		UnlockContext  | not held  | not held  | ok        | not held      | ok             | not held  | not held   | not held    | lost
		Held           | nil       | nil       | held      | nil           | held           | nil       | nil        | nil         | lost
		Lost           | closed    | closed    | open      | closed        | open           | closed    | closed     | closed      | closed
		RLockContext   | ok        | ok        | waits     | ok            | waits          | ok        | waits      | ok          | waits
		TryRLock       | true      | true      | false     | true          | false          | true      | false      | true        | false
		TryRLockFor    | true      | true      | false     | true          | false          | true      | false      | true        | false
		RUnlock        | !not held | ok        | !not held | ok            | !not held      | !not held | !not held  | ok          | !not held
		RUnlockContext | not held  | ok        | not held  | ok            | not held       | not held  | not held   | lost        | not held
		RHeld          | nil       | held      | nil       | held          | nil            | nil       | nil        | lost        | nil
		RLost          | closed    | open      | closed    | open          | closed         | closed    | closed     | closed      | closed
	`}.run(t)
}
