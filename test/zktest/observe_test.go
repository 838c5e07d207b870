package zktest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// ledger writes down what an observer is told.
type ledger struct {
	t     *testing.T
	lines []string
	zxid  int64
}

func (l *ledger) observe(txn zktest.Txn) {
	require.Greater(l.t, txn.Zxid, l.zxid)
	require.Equal(l.t, time.Now(), txn.Time)
	l.zxid = txn.Zxid
	for _, c := range txn.Changes {
		line := fmt.Sprint(c.Kind)
		if c.Path != "" {
			line += " " + c.Path
		}
		l.lines = append(l.lines, fmt.Sprintf("%s by %v", line, c.Cause))
	}
	if len(txn.Changes) == 0 {
		l.lines = append(l.lines, fmt.Sprintf("%v failed=%t", txn.Op, txn.Failed))
	}
}

func TestAnObserverIsToldOfEveryTransactionAndItsCause(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		l := &ledger{t: t}
		s.Observe(l.observe)
		a, b := at(t, s), at(t, s)
		a.call(t, opCreate, create("/a", 1))
		b.call(t, opCreate, create("/a", 1))
		b.call(t, int32(zktest.OpMulti), rawMulti(13, packet{}.string("/a").int32(0)))
		b.call(t, int32(zktest.OpMulti), rawMulti(13, packet{}.string("/a").int32(1)))
		b.call(t, int32(zktest.OpMulti), rawMulti(1, create("/b", 1), 5, packet{}.string("/a").string("x").int32(0)))
		b.call(t, int32(zktest.OpSetACL), packet{}.string("/a").openACL().int32(-1))
		b.call(t, int32(zktest.OpDelete), packet{}.string("/b").int32(-1))
		b.call(t, int32(zktest.OpCreateContainer), create("/c", 4))
		b.call(t, opCreate, create("/c/d", 1))
		a.nc.Close()
		time.Sleep(1900 * time.Millisecond)
		b.call(t, opPing, nil)
		time.Sleep(time.Second)
		b.call(t, int32(zktest.OpCloseSession), nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{
			"session created by client", "session created by client",
			"created /a by client", "create failed=true", "multi failed=false", "multi failed=true",
			"created /b by client", "data set /a by client", "acl set /a by client", "deleted /b by client",
			"created /c by client", "created /c/d by client",
			"deleted /a by expiry", "session closed by expiry",
			"deleted /c/d by client", "session closed by client",
			"deleted /c by reaper",
		}, l.lines)
	})
}

func TestAnObserverIsToldWhoOwnsWhatChanges(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := at(t, s), at(t, s)
		var told []string
		s.Observe(func(txn zktest.Txn) {
			for _, c := range txn.Changes {
				told = append(told, fmt.Sprintf("%v %s owned=%t", c.Kind, c.Path, c.Owner == a.session))
				require.True(t, c.Owner == a.session || c.Owner == 0)
			}
		})
		for _, node := range []struct {
			path  string
			flags int32
		}{{"/ephemeral", 1}, {"/persistent", 0}} {
			a.call(t, opCreate, create(node.path, node.flags))
			b.call(t, int32(zktest.OpSetData), packet{}.string(node.path).string("x").int32(-1))
			b.call(t, opMulti, rawMulti(5, packet{}.string(node.path).string("y").int32(-1)))
			b.call(t, int32(zktest.OpSetACL), packet{}.string(node.path).openACL().int32(-1))
			b.call(t, opDelete, packet{}.string(node.path).int32(-1))
		}
		require.Equal(t, []string{
			"created /ephemeral owned=true", "data set /ephemeral owned=true", "data set /ephemeral owned=true",
			"acl set /ephemeral owned=true", "deleted /ephemeral owned=true",
			"created /persistent owned=false", "data set /persistent owned=false", "data set /persistent owned=false",
			"acl set /persistent owned=false", "deleted /persistent owned=false",
		}, told)
	})
}

func TestAnObserverIsToldBeforeAnyClientCanSee(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		told := false
		e.Observe(func(txn zktest.Txn) { told = told || len(txn.Changes) > 0 && txn.Changes[0].Path == "/a" })
		for _, s := range e.Servers() {
			w := at(t, s)
			w.call(t, opExists, packet{}.string("/a").byte(1))
			go func() {
				_, err := w.next()
				require.NoError(t, err)
				require.True(t, told)
			}()
		}
		at(t, e.Server(0)).call(t, opCreate, create("/a", 0))
		require.True(t, told)
		synctest.Wait()
	})
}

func TestAnObserverThatIsNilPanicsWhereItIsGiven(t *testing.T) {
	require.PanicsWithValue(t, "zktest: Observe of a nil function", func() { zktest.NewServer(t).Observe(nil) })
}

func TestAnObserverOfAnEnsembleIsToldOnceOfWhatANewLeaderCommitsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		l := &ledger{t: t}
		e.Observe(l.observe)
		commitAgain(t, e, func() {})
		require.Equal(t, []string{
			"session created by client", "created /a by client", "session created by client", "created /b by client",
		}, l.lines)
	})
}

func TestAnObserverIsNotToldOfWhatANewLeaderCommitsAgainIfItCameLater(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		l := &ledger{t: t}
		commitAgain(t, e, func() { e.Observe(l.observe) })
		require.Equal(t, []string{"session created by client", "created /b by client"}, l.lines)
	})
}

// commitAgain creates /a, then has a new leader that commits it again, and creates /b.
func commitAgain(t *testing.T, e *zktest.Ensemble, between func()) {
	e.Server(0).Lag(time.Hour)
	e.Server(1).Lag(time.Hour)
	at(t, e.Server(2)).call(t, opCreate, create("/a", 0))
	between()
	e.Server(2).Stop()
	time.Sleep(time.Second)
	e.Server(0).Lag(0)
	w := at(t, e.Leader())
	require.True(t, exists(t, w, "/a"))
	w.call(t, opCreate, create("/b", 0))
	synctest.Wait()
}
