package lock_test

import (
	"context"
	"math"
	"strconv"
	"testing"

	"github.com/zklock/zklock"
)

var multiCalls = map[string]call{
	"Lock":           func(sc *scene) string { sc.mine.multi.Lock(); return "ok" },
	"LockContext":    func(sc *scene) string { return sc.says(sc.mine.multi.LockContext(sc.ctx)) },
	"TryLock":        func(sc *scene) string { return sc.given(sc.mine.multi.TryLock(), nil) },
	"TryLockFor 0":   func(sc *scene) string { return sc.given(sc.mine.multi.TryLockFor(sc.ctx, 0)) },
	"TryLockFor":     func(sc *scene) string { return sc.given(sc.mine.multi.TryLockFor(sc.ctx, stateLimit)) },
	"TryLockFor max": func(sc *scene) string { return sc.given(sc.mine.multi.TryLockFor(sc.ctx, math.MaxInt64)) },
	"Unlock":         func(sc *scene) string { sc.mine.multi.Unlock(); return "ok" },
	"UnlockContext":  func(sc *scene) string { return sc.says(sc.mine.multi.UnlockContext(sc.ctx)) },
	"Lost":           func(sc *scene) string { return openOr(sc.mine.multi.Lost()) },
	"HoldCount":      func(sc *scene) string { return strconv.Itoa(sc.mine.multi.HoldCount()) },
	// What one of the locks is left with by a call that fails.
	"LockContext, HoldCounts": func(sc *scene) string {
		_ = sc.mine.multi.LockContext(sc.ctx)
		counts := ""
		for _, l := range sc.mine.parts {
			counts += strconv.Itoa(l.HoldCount())
		}
		return counts
	},
}

// Who has the three locks, or one of them.
var (
	all        = state{before: func(sc *scene) { sc.mine.multi.Lock() }}
	one        = state{before: func(sc *scene) { sc.mine.parts[1].Lock() }}
	anotherAll = state{before: func(sc *scene) { sc.byAnother(sc.mine.multi.Lock) }}
	anotherOne = state{before: func(sc *scene) { sc.byAnother(sc.mine.parts[1].Lock) }}
	theirLast  = state{before: func(sc *scene) { sc.theirs.parts[2].Lock() }}
)

func deleteOne(sc *scene) {
	node := sc.mine.parts[1].Held().Node()
	if err := sc.theirs.Conn().Delete(node, -1); err != nil {
		panic(err)
	}
}

var multiStates = map[string]state{
	"free": free, "all": all, "twice": all.then(all.before), "one": one,
	"another's": anotherAll, "one is another's": anotherOne, "the last is theirs": theirLast,
	"one, the last is theirs": one.then(theirLast.before),
	"all but one":             all.then(func(sc *scene) { sc.mine.parts[1].Unlock() }),

	"all, one lost":   all.then(deleteOne),
	"all, all lost":   all.then(expire),
	"twice, one lost": all.then(all.before).then(deleteOne),
	"one, lost":       one.then(deleteOne),

	"closed":                     free.then(closeSession),
	"all, closed":                all.then(closeSession),
	"the last is theirs, closed": theirLast.until(closeSession),
	"cut off":                    free.then(disconnect),
	"all, cut off":               all.then(disconnect),

	"ctx over":                     free.then(endContext),
	"all, ctx over":                all.then(endContext),
	"the last is theirs, deadline": theirLast.then(limitContext),
	"the last is theirs, cause":    cancelled(theirLast, errUser),
}

func TestWhatTheCallsOfAMultiLockerComeTo(t *testing.T) {
	statesTable{nil, multiStates, multiCalls, `
		call           | free      | all  | twice | one       | another's | one is another's | the last is theirs | one, the last is theirs | all but one
		Lock           | ok        | ok   | ok    | ok        | waits     | waits            | waits              | waits                   | ok
		LockContext    | ok        | ok   | ok    | ok        | waits     | waits            | waits              | waits                   | ok
		TryLock        | true      | true | true  | true      | false     | false            | false              | false                   | true
		TryLockFor 0   | true      | true | true  | true      | false     | false            | false              | false                   | true
		TryLockFor     | true      | true | true  | true      | false     | false            | false              | false                   | true
		TryLockFor max | true      | true | true  | true      | waits     | waits            | waits              | waits                   | true
		Unlock         | !not held | ok   | ok    | !not held | !not held | !not held        | !not held          | !not held               | !not held
		UnlockContext  | not held  | ok   | ok    | not held  | not held  | not held         | not held           | not held                | not held
		Lost           | closed    | open | open  | closed    | closed    | closed           | closed             | closed                  | closed
		HoldCount      | 0         | 1    | 2     | 0         | 0         | 0                | 0                  | 0                       | 0
	`}.run(t)
}

func TestWhatTheCallsOfAMultiLockerComeToWhenItIsLostOrTheirContextEnds(t *testing.T) {
	statesTable{nil, multiStates, multiCalls, `
		call        | all, one lost | all, all lost | twice, one lost | one, lost | ctx over | all, ctx over | the last is theirs, deadline | the last is theirs, cause
		Lock        | !lost         | !lost         | !lost           | !lost     | ok       | ok            | waits                        | waits
		LockContext | lost          | lost          | lost            | lost      | canceled | canceled      | locked+deadline              | canceled+cause
		LockContext, HoldCounts | 111           | 111           | 222             | 010       | 000       | 111           | 000                          | 000
		TryLock       | false  | false  | false  | false     | true      | true     | false     | false
		TryLockFor 0  | lost   | lost   | lost   | lost      | canceled  | canceled | false     | false
		Unlock        | ok     | ok     | ok     | !not held | !not held | ok       | !not held | !not held
		UnlockContext | lost   | lost   | lost   | not held  | not held  | canceled | not held  | not held
		Lost          | closed | closed | closed | closed    | closed    | open     | closed    | closed
		HoldCount     | 1      | 1      | 2      | 0         | 0         | 1        | 0         | 0
	`}.run(t)
}

func TestWhatTheCallsOfAMultiLockerComeToWhenTheSessionIsClosedOrCutOff(t *testing.T) {
	statesTable{nil, multiStates, multiCalls, `
		call           | closed    | all, closed  | the last is theirs, closed | cut off   | all, cut off
		Lock           | !closed   | !lost+closed | !closed                    | waits     | ok
		LockContext    | closed    | lost+closed  | closed                     | waits     | ok
		TryLock        | false     | false        | false                      | false     | true
		TryLockFor     | closed    | lost+closed  | false                      | false     | true
		TryLockFor max | closed    | lost+closed  | closed                     | waits     | true
		Unlock         | !not held | ok           | !not held                  | !not held | ok
		UnlockContext  | not held  | lost+closed  | not held                   | not held  | waits
		Lost           | closed    | closed       | closed                     | closed    | open
		HoldCount      | 0         | 1            | 0                          | 0         | 1
	`}.run(t)
}

var semaphoreCalls = map[string]call{
	"Acquire 1":    func(sc *scene) string { return sc.granted(sc.mine.sem.Acquire(sc.ctx, 1)) },
	"Acquire 2":    func(sc *scene) string { return sc.granted(sc.mine.sem.Acquire(sc.ctx, 2)) },
	"TryAcquire 1": func(sc *scene) string { return sc.granted(sc.mine.sem.TryAcquire(sc.ctx, 1)) },
	"TryAcquire 2": func(sc *scene) string { return sc.granted(sc.mine.sem.TryAcquire(sc.ctx, 2)) },
	"Inspect": func(sc *scene) string {
		found, err := zklock.Inspect(sc.ctx, sc.mine.Session, statesPath)
		if err != nil {
			return sc.says(err)
		}
		return strconv.Itoa(len(found))
	},
}

// permits is a state in which somebody has n permits.
func permits(whose func(*scene) *actor, n int) state {
	return state{before: func(sc *scene) {
		a := whose(sc)
		a.hold = must(a.sem.Acquire(sc.ctx, n))
	}}
}

func me(sc *scene) *actor   { return sc.mine }
func them(sc *scene) *actor { return sc.theirs }

// line has another process wait for both permits.
func line(sc *scene) {
	go func() {
		if h, err := sc.theirs.sem.Acquire(context.Background(), 2); err == nil {
			_ = h.Release(context.Background())
		}
	}()
}

var semaphoreStates = map[string]state{
	"free": free, "mine 1": permits(me, 1), "mine 2": permits(me, 2), "theirs 1": permits(them, 1), "theirs 2": permits(them, 2),
	"theirs 1, a line": permits(them, 1).then(line),

	"mine 2, lost":       permits(me, 2).then(expire),
	"closed":             free.then(closeSession),
	"theirs 2, closed":   permits(them, 2).until(closeSession),
	"cut off":            free.then(disconnect),
	"ctx over":           free.then(endContext),
	"theirs 2, deadline": permits(them, 2).then(limitContext),
	"theirs 2, cause":    cancelled(permits(them, 2), errUser),
	"a line, deadline":   permits(them, 1).then(line).then(limitContext),
}

func TestWhatTheCallsOfASemaphoreComeTo(t *testing.T) {
	statesTable{nil, semaphoreStates, semaphoreCalls, `
		call         | free | mine 1 | mine 2 | theirs 1 | theirs 2 | theirs 1, a line | mine 2, lost | closed | theirs 2, closed | cut off | ctx over | theirs 2, deadline | theirs 2, cause | a line, deadline
		Acquire 1    | ok   | ok     | waits  | ok       | waits    | waits            | ok           | closed | closed           | waits   | canceled | locked+deadline    | canceled+cause  | locked+deadline
		Acquire 2    | ok   | waits  | waits  | waits    | waits    | waits            | ok           | closed | closed           | waits   | canceled | locked+deadline    | canceled+cause  | locked+deadline
		TryAcquire 1 | ok   | ok     | locked | ok       | locked   | locked           | ok           | closed | locked           | waits   | canceled | locked             | locked          | locked
		TryAcquire 2 | ok   | locked | locked | locked   | locked   | locked           | ok           | closed | locked           | waits   | canceled | locked             | locked          | locked
		Inspect      | 0    | 1      | 2      | 1        | 2        | 2                | 0            | closed | 2                | waits   | canceled | 2                  | 2               | 2
	`}.run(t)
}
