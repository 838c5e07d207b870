package wire

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// resumes is a connect request of a client that has seen a transaction.
var resumes = framed(number(0), long(7), number(8000), long(1), password)

// asks has the client ask the next server for its session, and reports whether it names what it
// has seen.
func (p *plug) asks(request []byte) (l *line, named bool) {
	p.t.Helper()
	p.told.last = int64(binary.BigEndian.Uint64(request[seenAt:]))
	l = p.dialed()
	_, err := l.Write(request)
	require.NoError(p.t, err)
	synctest.Wait()
	var got []byte
	for len(l.got) > 0 {
		got = append(got, <-l.got...)
	}
	named = bytes.Equal(request, got)
	if !named {
		require.Equal(p.t, naming(request, seenAt, 0), got, "all else is as it was")
	}
	l.listen()
	return l, named
}

// hangsUp has the server do so that was asked.
func (l *line) hangsUp() {
	l.server.Close()
	<-l.over
}

func goingOn() *audience { return &audience{pressed: pressed{id: 1, timeout: 8000 * ms}} }

// hungUpOn has all servers hang up until a request names no transaction, and returns the
// connection over which it goes.
func (p *plug) hungUpOn() *line {
	p.t.Helper()
	for began := time.Now(); time.Since(began) < time.Hour; {
		l, named := p.asks(resumes)
		if !named {
			return l
		}
		l.hangsUp()
	}
	require.Fail(p.t, "each request names a transaction")
	return nil
}

// hungUpOnNamed has servers hang up on so many requests, each of which names a transaction.
func (p *plug) hungUpOnNamed(times int) {
	p.t.Helper()
	for range times {
		l, named := p.asks(resumes)
		require.True(p.t, named)
		l.hangsUp()
	}
}

func TestServersThatHangUpForTwoTimeoutsAreEachAskedOnceWithNoTransactionNamed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, goingOn())
		began := time.Now()
		for range 3 {
			p.hungUpOn().hangsUp()
			require.GreaterOrEqual(t, time.Since(began), 16000*ms, "one that is restored may have the session")
			require.Less(t, time.Since(began), 18000*ms, "the longest pause is a second")
			for range 2 {
				l, named := p.asks(resumes)
				require.False(t, named, "the first one may be of no use")
				began = time.Now()
				l.hangsUp()
			}
		}
	})
}

// countless is a user's provider that cannot say how many servers there are.
type countless struct{ zk.HostProvider }

func (countless) Len() int { return 0 }

func TestAServerIsAskedThoughItsProviderCountsNone(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, goingOn())
		p.Hosts = countless{p.Hosts}
		p.hungUpOn().hangsUp()
	})
}

func TestASessionThatIsOverAtAServerThatIsBehindIsOver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := goingOn()
		p := plugged(t, a)
		l := p.hungUpOn()
		a.all()
		l.says(hello(0))
		require.Equal(t, []string{"warns", "connected to 0 for 8s"}, a.all())
		l.hangsUp()
		p.hungUpOnNamed(3)
	})
}

// The connection would show it the past.
func TestASessionThatLivesAtAServerThatIsBehindIsNotUsedThereAndNotLost(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := goingOn()
		p := plugged(t, a)
		began := time.Now()
		for range 3 { // a server that is restored may have it for a while
			l := p.hungUpOn()
			require.GreaterOrEqual(t, time.Since(began), 16000*ms)
			began = time.Now()
			a.all()
			l.says(hello(1))
			require.Equal(t, errLagging, <-l.over)
			require.Equal(t, []string{"ended"}, a.all())
			require.Equal(t, errLagging, a.cause)
			l, named := p.asks(resumes)
			require.True(t, named, "another one may be up to date")
			l.hangsUp()
		}
		l, _ := p.asks(resumes)
		l.says(hello(1))
		require.True(t, l.isUp())
	})
}

// It may be another server's session timeout that the session has to expire by.
func TestServersAreAskedAgainWhenWhatOneHasGrantedIsOver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, goingOn())
		l, began := p.hungUpOn(), time.Now()
		l.says(framed(number(0), number(24000), long(1), password))
		require.Equal(t, errLagging, <-l.over)
		p.hungUpOn()
		require.GreaterOrEqual(t, time.Since(began), 48000*ms)
	})
}

// As a server answers that replaces a session without saying that the old one has expired.
func TestAnotherSessionIsUsedAtAServerThatIsBehind(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, goingOn()).hungUpOn()
		l.says(hello(2))
		require.True(t, l.isUp())
	})
}

func TestEachOtherOutcomeLeavesTheTransactionNamed(t *testing.T) {
	for name, outcome := range map[string]func(p *plug, l *line){
		"an answer now and then": func(p *plug, l *line) {
			l.hangsUp()
			time.Sleep(15000 * ms)
			l, _ = p.asks(resumes)
			l.says(hello(1))
			time.Sleep(2000 * ms)
			l.hangsUp()
		},
		"no answer": func(_ *plug, l *line) { <-l.over },
	} {
		virtual.Run(t, name, func(t *testing.T) {
			p := plugged(t, goingOn())
			for range 20 {
				l, named := p.asks(resumes)
				require.True(t, named)
				outcome(p, l)
			}
		})
	}
}

func TestWithHoldsToBeSavedTheTransactionIsNamed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := goingOn()
		p := plugged(t, a)
		a.left = 8000 * ms
		p.hungUpOnNamed(100)
	})
}

// There is none to be named, and the answer is a session that is new.
func TestANewSessionIsUsedHoweverLongServersHaveHungUp(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := goingOn()
		p := plugged(t, a)
		l, _ := p.asks(ask)
		l.hangsUp()
		time.Sleep(16000 * ms)
		l, _ = p.asks(ask)
		l.says(hello(2))
		require.True(t, l.isUp())
		require.NotContains(t, a.all(), "warns", "nobody has lost anything")
	})
}
