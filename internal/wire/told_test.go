package wire

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/virtual"
)

// reconnects returns the next connection of the session, and the transaction that its connect request names.
func (p *plug) reconnects(session int64) (l *line, named int64) {
	p.t.Helper()
	if p.last != nil {
		p.last.hangsUp()
	}
	l = p.dialed()
	_, err := l.Write(ask)
	require.NoError(p.t, err)
	named = int64(binary.BigEndian.Uint64((<-l.got)[seenAt:]))
	l.listen()
	l.says(hello(session))
	<-l.heard
	return l, named
}

// tells is a frame that names a transaction.
func tells(xid int32, zxid int64) []byte {
	frame := answer(xid, 0)
	binary.BigEndian.PutUint64(frame[zxidAt:], uint64(zxid))
	return frame
}

// asksForData sends a request of ours.
func (l *line) asksForData() {
	l.Send(NewRequest(Op{Code: OpGetData, Path: "/lock"}))
	synctest.Wait()
	for len(l.got) > 0 {
		<-l.got
	}
}

// A server that is behind that shows the past, and hangs up.
func TestAConnectRequestNamesTheLastTransactionThatTheSessionWasToldOf(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := lively()
		p := plugged(t, a)
		l, named := p.reconnects(1)
		require.Zero(t, named)
		for _, c := range []struct {
			what  string
			frame []byte
			want  int64
		}{
			{"the answer to a lock's request", tells(firstXid, 11), 11},
			{"the answer to one of go-zookeeper's", tells(1, 12), 12},
			{"the answer to a ping", tells(xidPing, 13), 13},
			{"an event, of ZooKeeper 3.9", tells(xidEvent, 14), 14},
			{"an event, of ZooKeeper 3.8", tells(xidEvent, -1), 14},
			{"the answer to a login", tells(xidLogin, 0), 14},
			{"one that says less", tells(firstXid, 12), 14},
		} {
			l.asksForData()
			l.sends(1, OpGetData)
			l.sends(xidPing, opPing)
			l.says(c.frame)
			l, named = p.reconnects(1)
			require.Equal(t, c.want, named, c.what)
		}
		p.reconnects(0)
		a.id = 0
		_, named = p.reconnects(2)
		require.Zero(t, named, "a session that has expired")
		require.Zero(t, p.Told())
	})
}

// It would keep it, and read it for its watches while the next answer changes it.
func TestGoZookeeperIsToldOfNoTransaction(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).dialed()
		defer l.Close()
		_, err := l.Write(ask)
		require.NoError(t, err)
		go l.server.Write(hello(1)) //nolint:errcheck // it is read
		reads(t, l, hello(1))
		l.sends(1, OpGetData)
		go l.server.Write(tells(1, 1<<60+12)) //nolint:errcheck // likewise
		reads(t, l, tells(1, 0))
	})
}

// rewatch is what becomes of go-zookeeper's requests to set its watches again over a connection.
type rewatch struct {
	full int   // so many ahead of the last are so long that another may follow
	code int32 // that the last one is answered with
	none bool  // there is no last one
	dumb bool  // it is not answered
}

// rewatches plays them, behind an answer, and returns which transactions they have named.
func (l *line) rewatches(c rewatch) (named map[int64]bool) {
	named = make(map[int64]bool)
	request := func(length int, code int32, answered bool) {
		const head = 12
		frame := framed(number(7), number(OpSetWatches), long(77), make([]byte, length-head-8))
		_, _ = l.Write(frame)
		got := append(make([]byte, 0, length), <-l.got...)
		for len(got) < length {
			got = append(got, <-l.got...)
		}
		named[int64(binary.BigEndian.Uint64(got[relativeAt:]))] = true
		if answered {
			l.says(answer(7, code))
		}
	}
	for range c.full {
		request(FullRequest, 0, true)
	}
	if !c.none {
		request(FullRequest-1, c.code, !c.dumb)
	}
	return named
}

// An event that was told may be one of several of its transaction.
func TestWatchesAreSetAgainFromWhereTheyHaveToldOfAllChanges(t *testing.T) {
	good := rewatch{}
	for name, c := range map[string]struct {
		later []rewatch
		from  int64 // that the last one names
		set   bool
	}{
		"set again":                              {[]rewatch{good}, 10, true},
		"set again twice":                        {[]rewatch{good, good}, 20, true},
		"set again by many requests":             {[]rewatch{{full: 2}}, 10, true},
		"a second request may follow":            {[]rewatch{{full: 1, none: true}}, 10, false},
		"refused":                                {[]rewatch{{code: -4}}, 10, false},
		"a second one is refused":                {[]rewatch{{full: 1, code: -4}}, 10, false},
		"not confirmed":                          {[]rewatch{{dumb: true}}, 10, false},
		"set again after they were refused":      {[]rewatch{{code: -4}, good}, 10, true},
		"set again after half of them were":      {[]rewatch{{full: 1, none: true}, good}, 10, true},
		"set again after it was not confirmed":   {[]rewatch{{dumb: true}, good}, 10, true},
		"set again after it was not, and it was": {[]rewatch{good, {dumb: true}, good}, 20, true},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := lively()
			p := plugged(t, a)
			a.id = 0
			l, _ := p.reconnects(1)
			a.id = 1
			require.Equal(t, Standing{Connection: 1, Set: true}, p.Watches(), "there was none before")
			var named map[int64]bool
			for i, later := range c.later {
				l.asksForData()
				l.says(tells(firstXid, int64(10*(i+1))))
				l.says(tells(xidEvent, int64(10*(i+1)+5)))
				l.sends(1, OpGetData)
				l.says(tells(1, 0))
				l, _ = p.reconnects(1)
				require.Equal(t, Standing{Connection: int64(i + 2)}, p.Watches())
				l.asksForData()
				l.says(tells(firstXid, int64(10*(i+1)+7)))
				named = l.rewatches(later)
			}
			require.Equal(t, map[int64]bool{c.from: true}, named)
			require.Equal(t, Standing{Connection: int64(len(c.later) + 1), Set: c.set}, p.Watches())
		})
	}
}

// hearer is a session that is told of a connection.
type hearer struct {
	nobody
	connected func()
}

func (s hearer) Connected(*Link, time.Duration) { s.connected() }

// Who has waited for a connection asks which watches stand, and would be told of the connection
// before.
func TestAConnectionIsCountedBeforeAnybodyHasIt(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	var counted int64
	s := hearer{}
	d := NewDialer(context.Background(), &s, Options{Hosts: NewHosts(), Clock: new(clock.Clock), Lease: new(lease.Lease), Log: s})
	s.connected = func() { counted = d.Watches().Connection }
	head := make([]byte, frameHead)
	binary.BigEndian.PutUint32(head[8:], 10_000)
	binary.BigEndian.PutUint64(head[12:], 1)
	l := newLink(d, ours, "")
	defer l.Close()
	l.greet(head)
	require.EqualValues(t, 1, counted)
}
