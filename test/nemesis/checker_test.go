package nemesis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// hold is an op of its own process that got the lock at got, was last valid
// at valid, and then released it.
func hold(process int, got, valid Instant) *Op {
	return &Op{
		Process: process, ID: 1, Path: "/lock", Share: Exclusive, Session: int64(process), Token: int64(got),
		Invoked: got - 5, OK: got, Valid: valid, Open: valid, Freed: valid + 2,
	}
}

// lost makes a hold one that was lost.
func lost(a *Op, open, at Instant) *Op {
	a.Open, a.Lost, a.Freed = open, at, 0
	return a
}

func shared(a *Op, s Share) *Op {
	a.Share = s
	return a
}

func accept(t *testing.T, ops ...*Op) {
	t.Helper()
	require.Empty(t, Linearizable(ops, nil, t.TempDir()))
}

func refuse(t *testing.T, ops ...*Op) {
	t.Helper()
	require.Len(t, Linearizable(ops, nil, t.TempDir()), 1)
}

func TestHoldsOneAfterTheOtherAreAccepted(t *testing.T) {
	accept(t, hold(1, 10, 20), hold(2, 23, 30), lost(hold(3, 40, 50), 50, 58), hold(4, 60, 70))
}

func TestTwoHoldersAtOnceAreRefused(t *testing.T) {
	refuse(t, hold(1, 10, 20), hold(2, 15, 30))
}

func TestAHolderThatLostTheLockButFoundItValidIsRefused(t *testing.T) {
	refuse(t, lost(hold(1, 10, 40), 20, 50), hold(2, 30, 60))
}

func TestALostChannelThatClosesAfterTheNextGrantIsRefused(t *testing.T) {
	refuse(t, lost(hold(1, 10, 20), 33, 35), hold(2, 30, 40))
}

func TestAHolderThatWasStoppedIsExcusedOnceItLooksAtTheClock(t *testing.T) {
	// Its last look began before the stop at 20, its lost channel was seen closed
	// after another had the lock: both are what a stopped process cannot avoid.
	accept(t, lost(hold(1, 10, 20), 20, 90), hold(2, 30, 40))
}

func TestASessionThatAnOperatorEndsIsExcusedFromThenOn(t *testing.T) {
	h := NewHistory()
	before := Now()
	h.Ended(1)
	after := Now()
	h.Report(*lost(hold(1, before-10, after+20), after+20, after+30))
	h.Report(*hold(2, after+5, after+10))
	accept(t, h.Ops()...)
}

func TestTheLastReportOfAnOpCounts(t *testing.T) {
	h := NewHistory()
	a := Op{Process: 1, ID: 7, Invoked: 1}
	h.Report(a)
	a.OK = 5
	h.Report(a)
	require.Len(t, h.Ops(), 1)
	require.Equal(t, Instant(5), h.Ops()[0].OK)
}

func TestReadersShareAndAWriterDoesNot(t *testing.T) {
	readers := []*Op{shared(hold(1, 10, 20), Reading), shared(hold(2, 15, 30), Reading)}
	accept(t, readers...)
	refuse(t, append(readers, shared(hold(3, 25, 40), Writing))...)
}

func TestMorePermitsThanThereAreAreRefused(t *testing.T) {
	bad := []*Op{
		shared(hold(1, 10, 20), Permits(2, 3)),
		shared(hold(2, 12, 20), Permits(1, 3)),
		shared(hold(3, 14, 20), Permits(1, 3)),
	}
	accept(t, bad[:2]...)
	refuse(t, bad...)
}

func TestATokenThatDoesNotRiseIsRefused(t *testing.T) {
	second := hold(2, 30, 40)
	second.Token = 9
	refuse(t, hold(1, 10, 20), second)
	refuse(t, shared(hold(1, 10, 20), Writing), shared(second, Reading))
	refuse(t, shared(hold(1, 10, 20), Reading), shared(second, Writing))
	accept(t, shared(hold(1, 10, 20), Reading), shared(second, Reading))
}

func TestATokenThatNobodyAskedForIsLeftOutOfTheOrder(t *testing.T) {
	unasked := hold(2, 23, 30)
	unasked.Token = 0
	good := []*Op{hold(1, 10, 20), unasked, hold(3, 40, 50)}
	accept(t, good...)
	good[2].Token = 9
	refuse(t, good...)
}

func TestAnOpWithoutAnAnswerMayHaveSucceededOrNot(t *testing.T) {
	unknown := &Op{Process: 1, ID: 1, Path: "/lock", Share: Exclusive, Invoked: 5}
	accept(t, unknown, hold(2, 10, 20), hold(3, 25, 30))
}

func TestAKilledHolderFreesTheLockSomeTime(t *testing.T) {
	killed := hold(1, 10, 20)
	killed.Freed = 0
	accept(t, killed, hold(2, 30, 40))
	refuse(t, killed, hold(2, 15, 40))
}

func TestABadHistoryIsDrawn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "histories")
	faults := []Injection{{Fault: "leader killed", Began: 12, Ended: 25}}
	found := Linearizable([]*Op{hold(1, 10, 20), hold(2, 16, 30)}, faults, dir)
	require.Len(t, found, 1)
	picture, err := os.ReadFile(filepath.Join(dir, "lock.html"))
	require.NoError(t, err)
	require.Contains(t, string(picture), "leader killed")
	require.Contains(t, found[0], "lock.html")
	require.Contains(t, found[0], "acquired: lock of /lock by client 0 of process 2")
	require.Contains(t, found[0], "while held: lock of /lock by client 0 of process 1")
}
