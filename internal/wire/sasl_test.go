package wire

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// script is a mechanism that says "a", "b" and so on, and is done when the server says "done".
type script struct {
	begins error
	silent bool // it says nothing at first
	heard  []string
}

func (*script) Name() string { return "SCRIPT" }

func (s *script) Start(server string) (func([]byte) ([]byte, bool, error), error) {
	s.heard = []string{server}
	return func(challenge []byte) ([]byte, bool, error) {
		s.heard = append(s.heard, string(challenge))
		switch string(challenge) {
		case "done":
			return nil, true, nil
		case "lie":
			return nil, false, errors.New("the server lies")
		}
		if s.silent && len(challenge) == 0 {
			return nil, false, nil
		}
		return []byte{byte('a' + len(s.heard) - 2)}, false, nil
	}, s.begins
}

// token is a request with that token, to log in.
func token(says string) []byte {
	return framed(number(-5), number(102), number(int32(len(says))), []byte(says))
}

// toToken is an answer to one.
func toToken(xid, code int32, says ...byte) []byte {
	return framed(number(xid), long(0), number(code), number(int32(len(says))), says)
}

// asked returns a connection by s whose connect request has been answered.
func (p *plug) asked(s *script, session int64) *line {
	p.t.Helper()
	p.SASL = always[Mechanism](s)
	l := p.dialed()
	_, err := l.Write(ask)
	require.NoError(p.t, err)
	<-l.got
	l.listen()
	time.Sleep(ms)
	l.says(hello(session))
	return l
}

func TestALoginBySASLIsOverBeforeAnybodyHasTheConnection(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a, s := lively(), new(script)
		p := plugged(t, a)
		l := p.asked(s, 1)
		require.Equal(t, token("a"), <-l.got)
		l.says(toToken(-5, 0, []byte("one")...))
		require.Equal(t, token("b"), <-l.got)
		l.says(framed(number(-5), long(0), number(0), number(-1))) // nothing
		require.Equal(t, token("c"), <-l.got)
		require.Equal(t, []string{"asks"}, a.all())
		require.Empty(t, l.heard)
		time.Sleep(ms)
		l.says(toToken(-5, 0, []byte("done")...))
		<-l.heard
		require.Equal(t, []string{"connected to 1 for 8s", "served"}, a.all())
		require.Equal(t, []string{"a:2181", "", "one", "", "done"}, s.heard)
		require.Empty(t, l.got)
		took, _ := p.Lease.Slow()
		require.Equal(t, ms, took, "the first proof has no login ahead of it")
		require.True(t, l.isUp())
		time.Sleep(time.Hour)
		require.True(t, l.isUp(), "the limit was the handshake's")
		l.server.Close()
		<-l.over
		require.Equal(t, io.EOF, a.cause, "the login has not failed")
	})
}

func TestALoginBySASLThatFailsEndsTheConnectionAndTheSessionIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		answer []byte
		says   string
		is     error
	}{
		"refused":              {toToken(-5, authFailed), ErrRefused.Error(), ErrRefused},
		"refused otherwise":    {toToken(-5, -1), ErrRefused.Error() + " (unknown error: -1)", ErrRefused},
		"where SASL is a must": {toToken(-5, -124), ErrRefused.Error(), ErrRefused},
		"without a body":       {framed(number(-5), long(0), number(authFailed)), ErrRefused.Error(), ErrRefused},
		"by the mechanism":     {toToken(-5, 0, []byte("lie")...), "the server lies: zk: client authentication failed", zk.ErrAuthFailed},
		"another answer":       {toToken(-2, 0), "a:2181 has sent an answer to a SASL login that cannot be read", nil},
		"half an answer":       {framed(number(-5), long(0), number(0), number(3), []byte("ab")), "a:2181 has sent an answer to a SASL login that cannot be read", nil},
		"too long":             {number(longestLogin + 1), "a:2181 has sent a frame of 1048577 bytes, and 1048576 are the most that is taken", nil},
		"too short":            {number(15), "a:2181 has sent a frame of 15 bytes, and an answer has 16 at least", nil},
		"the end":              {nil, "EOF", io.EOF},
	} {
		virtual.Test(t, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).asked(new(script), 1)
			<-l.got
			l.dialer.Clock.Step(time.Hour) // the machine sleeps, which is no time of the server's
			if tc.answer == nil {
				l.server.Close()
			}
			l.says(tc.answer)
			<-l.heard // the client knows the session
			require.Error(t, <-l.over, name)
			require.Equal(t, []string{"ended", "connected to 1 for 8s"}, dropped(a.all(), "asks", "warns"), name)
			require.Zero(t, l.dialer.slow.Load(), "the server has answered, or hung up")
			require.EqualError(t, a.cause, "a:2181, SASL login by SCRIPT: "+tc.says)
			require.Equal(t, errors.Is(tc.is, zk.ErrAuthFailed), errors.Is(a.cause, zk.ErrAuthFailed), name)
			if tc.is != nil {
				require.ErrorIs(t, a.cause, tc.is, name)
			}
			_, err := l.Write(framed(number(1), number(OpSetAuth), number(0)))
			require.NoError(t, err)
			require.Empty(t, l.got, "nothing goes out any more")
		})
	}
}

func TestAServerThatRefusesWhoHasSaidNothingRefusesTheMechanism(t *testing.T) {
	for _, code := range []int32{authFailed, demandsSASL} {
		virtual.Test(t, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).asked(&script{silent: true}, 1)
			require.Equal(t, token(""), <-l.got)
			l.says(toToken(-5, code))
			<-l.heard
			require.Error(t, <-l.over)
			require.ErrorIs(t, a.cause, zk.ErrAuthFailed)
			require.ErrorContains(t, a.cause, "a:2181, SASL login by SCRIPT: the server refuses the mechanism")
		})
	}
}

func TestWhoHasSaidNothingMayBeAskedToGoOn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).asked(&script{silent: true}, 1)
		require.Equal(t, token(""), <-l.got)
		l.says(toToken(-5, 0, []byte("done")...))
		<-l.heard
		require.True(t, l.isUp())
	})
}

func TestAnAnswerToALoginBySASLMayBeAsLongAsIsTaken(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).asked(new(script), 1)
		<-l.got
		l.says(toToken(-5, 0, make([]byte, longestLogin-shortestAnswer-4)...))
		require.Equal(t, token("b"), <-l.got)
	})
}

func TestALoginBySASLThatCannotBeWrittenFailsAtOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a, gone := lively(), errors.New("gone")
		p := plugged(t, a)
		p.SASL = always[Mechanism](new(script))
		l := p.dialed()
		_, err := l.Write(ask)
		require.NoError(t, err)
		l.conn.write = gone
		began := time.Now()
		l.listen()
		l.says(hello(1))
		require.Error(t, <-l.over)
		require.ErrorIs(t, a.cause, gone)
		require.Zero(t, time.Since(began))
	})
}

func dropped(told []string, names ...string) (left []string) {
	for _, one := range told {
		if one != names[0] && one != names[1] {
			left = append(left, one)
		}
	}
	return left
}

func TestALoginBySASLHasAsMuchTimeAsTheHandshake(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		p := plugged(t, a)
		limit := p.handshakeLimit()
		l := p.asked(new(script), 1)
		began := time.Now()
		<-l.got
		time.Sleep(limit / 2)
		l.says(toToken(-5, 0))
		<-l.over
		require.Equal(t, limit, time.Since(began), "however often the server answers")
		require.ErrorIs(t, a.cause, os.ErrDeadlineExceeded)
		require.NotErrorIs(t, a.cause, zk.ErrAuthFailed)
		require.EqualValues(t, 1, p.slow.Load(), "the next one has longer")
	})
}

func TestNoLoginIsAskedForASessionThatHasExpired(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a, s := lively(), new(script)
		l := plugged(t, a).asked(s, 0)
		<-l.heard
		require.Equal(t, []string{"a:2181"}, s.heard)
		require.Equal(t, []string{"asks", "connected to 0 for 8s"}, a.all())
	})
}

func TestALoginBySASLThatCannotBeginIsAnAttemptThatHasFailed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		no := errors.New("no ticket")
		p := plugged(t, lively())
		p.SASL = always[Mechanism](&script{begins: no})
		_, err := p.Connect("tcp", "a:2181", time.Second)
		require.Equal(t, SASLError{"SCRIPT", "a:2181", no}, err)
		require.Nil(t, p.last, "nothing was dialled")
	})
}
