package nemesis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// hold is an attempt of its own process that got the lock at got, was last valid
// at valid, and then released it.
func hold(process int, got, valid Instant) *Attempt {
	return &Attempt{
		Process: process, ID: 1, Path: "/lock", Share: Exclusive, Session: int64(process), Token: int64(got),
		Called: got - 5, Got: got, Valid: valid, Open: valid, Freed: valid + 2,
	}
}

// lost makes a hold one that was lost.
func lost(a *Attempt, open, at Instant) *Attempt {
	a.Open, a.Lost, a.Freed = open, at, 0
	return a
}

func shared(a *Attempt, s Share) *Attempt {
	a.Share = s
	return a
}

func linearize(t *testing.T, attempts ...*Attempt) []Violation {
	return Linearize(attempts, nil, t.TempDir())
}

func TestHoldsOneAfterTheOtherAreAccepted(t *testing.T) {
	good := []*Attempt{hold(1, 10, 20), hold(2, 23, 30), lost(hold(3, 40, 50), 50, 58), hold(4, 60, 70)}
	require.Empty(t, Overlaps(good))
	require.Empty(t, linearize(t, good...))
}

func TestTwoHoldersAtOnceAreRefused(t *testing.T) {
	bad := []*Attempt{hold(1, 10, 20), hold(2, 15, 30)}
	require.Len(t, Overlaps(bad), 2)
	require.Len(t, linearize(t, bad...), 1)
}

func TestAHolderThatLostTheLockButFoundItValidIsRefused(t *testing.T) {
	require.NotEmpty(t, Overlaps([]*Attempt{lost(hold(1, 10, 40), 40, 50), hold(2, 30, 60)}))
}

func TestALostChannelThatClosesAfterTheNextGrantIsRefused(t *testing.T) {
	bad := []*Attempt{lost(hold(1, 10, 20), 33, 35), hold(2, 30, 40)}
	require.Len(t, Overlaps(bad), 1)
}

func TestAHolderThatWasStoppedIsExcusedOnceItLooksAtTheClock(t *testing.T) {
	// Its last look began before the stop at 20, its lost channel was seen closed
	// after another had the lock: both are what a stopped process cannot avoid.
	require.Empty(t, Overlaps([]*Attempt{lost(hold(1, 10, 20), 20, 90), hold(2, 30, 40)}))
}

func TestASessionThatAnOperatorEndsIsExcusedFromThenOn(t *testing.T) {
	h := NewHistory()
	before := Now()
	h.Ended(1)
	after := Now()
	h.Report(*lost(hold(1, before-10, after+20), after+20, after+30))
	h.Report(*hold(2, after+5, after+10))
	require.Empty(t, Overlaps(h.Attempts()))
	require.Empty(t, linearize(t, h.Attempts()...))
}

func TestTheLastReportOfAnAttemptCounts(t *testing.T) {
	h := NewHistory()
	a := Attempt{Process: 1, ID: 7, Called: 1}
	h.Report(a)
	a.Got = 5
	h.Report(a)
	require.Len(t, h.Attempts(), 1)
	require.Equal(t, Instant(5), h.Attempts()[0].Got)
}

func TestReadersShareAndAWriterDoesNot(t *testing.T) {
	readers := []*Attempt{shared(hold(1, 10, 20), Reading), shared(hold(2, 15, 30), Reading)}
	require.Empty(t, Overlaps(readers))
	require.Empty(t, linearize(t, readers...))

	bad := append(readers, shared(hold(3, 25, 40), Writing))
	require.NotEmpty(t, Overlaps(bad))
	require.NotEmpty(t, linearize(t, bad...))
}

func TestMorePermitsThanThereAreAreRefused(t *testing.T) {
	bad := []*Attempt{
		shared(hold(1, 10, 20), Permits(2, 3)),
		shared(hold(2, 12, 20), Permits(1, 3)),
		shared(hold(3, 14, 20), Permits(1, 3)),
	}
	require.Empty(t, Overlaps(bad[:2]))
	require.Empty(t, linearize(t, bad[:2]...))
	require.NotEmpty(t, Overlaps(bad))
	require.NotEmpty(t, linearize(t, bad...))
}

func TestATokenThatDoesNotRiseIsRefused(t *testing.T) {
	second := hold(2, 30, 40)
	second.Token = 9
	require.Empty(t, Overlaps([]*Attempt{hold(1, 10, 20), second}))
	require.NotEmpty(t, linearize(t, hold(1, 10, 20), second))

	reader := shared(second, Reading)
	require.NotEmpty(t, linearize(t, shared(hold(1, 10, 20), Writing), reader))
}

func TestATokenThatNobodyAskedForIsLeftOutOfTheOrder(t *testing.T) {
	unasked := hold(2, 23, 30)
	unasked.Token = 0
	good := []*Attempt{hold(1, 10, 20), unasked, hold(3, 40, 50)}
	require.Empty(t, linearize(t, good...))
	good[2].Token = 9
	require.NotEmpty(t, linearize(t, good...))
}

func TestAReentryIsOfTheOwnerAlone(t *testing.T) {
	good := hold(1, 10, 40)
	good.Nested = []Nested{{Lock: 12, Locked: 13, Unlock: 14, Unlocked: 15}}
	require.Empty(t, linearize(t, good))

	step := func(s any, kind operationKind, by *Attempt) []any {
		return s.(*lockState).step(operation{kind, by})
	}
	held := step(&lockState{}, acquire, good)[0]
	twice := step(held, lockAgain, good)[0]
	require.Empty(t, step(held, lockAgain, hold(2, 10, 40)), "by a stranger")
	require.Empty(t, step(held, unlockAgain, good), "what was locked once")
	require.Empty(t, step(twice, release, good), "of what is locked twice")
	require.Equal(t, held, step(twice, unlockAgain, good)[0])
}

func TestAnAttemptWithoutAnAnswerMayHaveSucceededOrNot(t *testing.T) {
	unknown := &Attempt{Process: 1, ID: 1, Path: "/lock", Share: Exclusive, Called: 5}
	require.Empty(t, linearize(t, unknown, hold(2, 10, 20), hold(3, 25, 30)))
}

func TestAKilledHolderFreesTheLockSomeTime(t *testing.T) {
	killed := hold(1, 10, 20)
	killed.Freed = 0
	require.Empty(t, linearize(t, killed, hold(2, 30, 40)))
	require.NotEmpty(t, linearize(t, killed, hold(2, 15, 40)))
}

func TestABadHistoryIsDrawn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "histories")
	faults := []Stroke{{What: "leader killed", Began: 12, Ended: 25}}
	found := Linearize([]*Attempt{hold(1, 10, 20), hold(2, 15, 30)}, faults, dir)
	require.Len(t, found, 1)
	picture, err := os.ReadFile(filepath.Join(dir, "lock.html"))
	require.NoError(t, err)
	require.Contains(t, string(picture), "leader killed")
	require.Contains(t, string(found[0]), "lock.html")
}

func TestALostUpdateIsFound(t *testing.T) {
	wrote := func(n int, outcome Outcome) Update { return Update{Register: "r", Wrote: n, Outcome: outcome} }
	for name, c := range map[string]struct {
		updates []Update
		final   int
		bad     bool
	}{
		"each value once":                      {[]Update{wrote(1, Written), wrote(2, Written)}, 2, false},
		"a refused write left nothing":         {[]Update{wrote(1, Written), wrote(2, Refused), wrote(2, Written)}, 2, false},
		"an unknown write may have happened":   {[]Update{wrote(1, Unknown), wrote(2, Written)}, 2, false},
		"an unknown write may have failed":     {[]Update{wrote(1, Unknown), wrote(1, Written)}, 1, false},
		"two wrote the same":                   {[]Update{wrote(1, Written), wrote(1, Written)}, 1, true},
		"a confirmed write is forgotten":       {[]Update{wrote(1, Written), wrote(2, Written)}, 1, true},
		"a value nobody wrote":                 {[]Update{wrote(1, Written), wrote(3, Written)}, 3, true},
		"a refused write happened nonetheless": {[]Update{wrote(1, Refused)}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			found := LostUpdates(c.updates, map[string]int{"r": c.final})
			require.Equal(t, c.bad, len(found) > 0, "%v", found)
		})
	}
}
