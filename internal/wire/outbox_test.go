package wire

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
)

// reading is a request for a node's data.
func reading(path string) *Request { return NewRequest(Op{Code: OpGetData, Path: path}) }

// nth is the xid of the nth request of ours, counted from 0.
func nth(n int32) int32 { return firstXid + n }

// said is the answer to a read of data.
func said(xid int32, data string) []byte {
	return framed(number(xid), long(int64(xid)), number(0), text(data), make([]byte, statSize))
}

// frames are those that are in b.
func frames(b []byte) (some [][]byte) {
	for len(b) > 0 {
		var length [4]byte
		copy(length[:], b)
		end := 4 + int(length[2])<<8 + int(length[3])
		some, b = append(some, b[:end]), b[end:]
	}
	return some
}

// brink is a connection that writes when it is told to.
type brink struct {
	net.Conn
	writes chan struct{}
}

func (b brink) Write(p []byte) (int, error) {
	if _, ok := <-b.writes; !ok {
		return 0, net.ErrClosed
	}
	return b.Conn.Write(p)
}

func (b brink) Close() error {
	close(b.writes)
	return b.Conn.Close()
}

// busy has the link's writer be in the middle of a write, until the channel it returns has an element.
func (l *line) busy() (writes chan struct{}) {
	writes = make(chan struct{})
	l.conn.Conn = brink{l.conn.Conn, writes}
	l.Send(reading("/busy"))
	synctest.Wait()
	return writes
}

func TestAllThatIsReadyGoesOutInOneWriteInTheOrderInWhichItCame(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		writes := make(chan struct{})
		l.conn.Conn = brink{l.conn.Conn, writes}
		first, second, third := reading("/0"), reading("/1"), reading("/2")
		l.Send(first, second)
		synctest.Wait()
		l.Send(third)
		var askers sync.WaitGroup
		later := make([]*Request, 20)
		for i := range later {
			later[i] = reading(fmt.Sprint("/", i))
			askers.Go(func() { l.Send(later[i]) })
		}
		askers.Wait()
		theirs := framed(number(7), number(OpGetData), at("/user", 0))
		askers.Go(func() { _, _ = l.Write(theirs) })
		synctest.Wait()
		require.False(t, latch.IsClosed(first.Written()))
		writes <- struct{}{}
		synctest.Wait()
		require.True(t, latch.IsClosed(first.Written()) && latch.IsClosed(second.Written()))
		require.False(t, latch.IsClosed(third.Written()))
		require.Len(t, frames(<-l.got), 2, "what one Send has")
		writes <- struct{}{}
		askers.Wait()
		synctest.Wait()
		rest := frames(<-l.got)
		require.Len(t, rest, 1+1+len(later))
		require.Contains(t, rest, theirs)
		var xids []int32
		for _, f := range slices.DeleteFunc(rest, func(f []byte) bool { return slices.Equal(f, theirs) }) {
			xids = append(xids, xidOf(f))
		}
		require.Equal(t, nth(2), xids[0])
		require.True(t, slices.IsSorted(xids))
		for _, r := range later {
			require.True(t, latch.IsClosed(r.Written()))
		}
		require.Empty(t, l.got)
	})
}

// Each shows the node as it is behind all that was asked for ahead of it.
func TestAReadThatAsksForTheSameAsTheLastThatWaitsIsAskedForBoth(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		writes := l.busy()
		var told []*Request
		there := func(path string, watch bool) *Request {
			return NewRequest(Op{Code: OpExists, Path: path, Watch: watch}).Then(func(r *Request) {
				if r.Answered() {
					told = append(told, r)
				}
			})
		}
		first, second, third := there("/q", false), NewRequest(Op{Code: OpExists, Path: "/q"}), there("/q", false)
		l.Send(reading("/0"), first)
		l.Send(reading("/1"), second)
		l.Send(reading("/2"), third)
		l.Send(reading("/3"), there("/r", false))
		l.Send(there("/q", false))
		l.Send(there("/q", true))
		l.Send(there("/q", false))
		writes <- struct{}{}
		<-l.got
		writes <- struct{}{}
		var asked []string
		for _, f := range frames(<-l.got) {
			asked = append(asked, string(f[16:18]))
		}
		require.Equal(t, []string{"/0", "/1", "/2", "/q", "/3", "/r", "/q", "/q", "/q"}, asked)
		synctest.Wait()
		require.True(t, latch.IsClosed(first.Written()) && latch.IsClosed(second.Written()) && latch.IsClosed(third.Written()))
		for n := range int32(4) {
			l.says(said(nth(n), ""))
		}
		stat := make([]byte, statSize)
		stat[statSize-1] = 'x'
		l.says(framed(number(nth(4)), long(7), number(0), stat))
		l.says(said(nth(5), ""))
		l.says(framed(number(nth(6)), long(8), number(0), make([]byte, statSize)))
		later, err := second.Stat()
		require.NoError(t, err)
		require.EqualValues(t, 'x', later.Pzxid)
		require.Equal(t, []*Request{first, third}, told[:2])
		for _, r := range []*Request{first, second, third} {
			require.True(t, latch.IsClosed(r.Done()))
			require.EqualValues(t, 7, r.Zxid())
			require.Same(t, l.Link, r.Link())
		}
	})
}

// The room of an answer that is seen where it is read is used for the next.
func TestWhatAnAnswerSaysLastsForWhoWaitsForIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		var seen [][]byte
		see := func(r *Request) {
			data, _, err := r.Data()
			require.NoError(t, err)
			seen = append(seen, data)
		}
		at := []*Request{reading("/0").Then(see), reading("/1"), reading("/2").Then(see), reading("/3"), reading("/4").Then(see)}
		l.Send(at...)
		<-l.got
		for n := range at {
			l.says(said(nth(int32(n)), strings.Repeat(fmt.Sprint(n), 30-n)))
		}
		for n, r := range at {
			data, _, err := r.Data()
			if n%2 == 0 {
				require.ErrorIs(t, err, ErrMalformed, "it was seen")
				data = seen[n/2]
			}
			require.Equal(t, strings.Repeat(fmt.Sprint(n), 30-n), string(data))
		}
	})
}

func TestWhatIsAskedForTwiceIsARead(t *testing.T) {
	for name, tc := range map[string]struct {
		op    Op
		shows bool
	}{
		"a look":                     {Op{Code: OpExists, Path: "/q"}, true},
		"a look that sets a watch":   {Op{Code: OpExists, Path: "/q", Watch: true}, false},
		"a create":                   {Op{Code: OpCreate, Path: "/q"}, false},
		"a read, which takes longer": {Op{Code: OpGetData, Path: "/q"}, false},
	} {
		require.Equal(t, tc.shows, NewRequest(tc.op).shows(NewRequest(tc.op)), name)
	}
}

func TestTheRoomOfRequestsThatWereAnsweredIsUsedAgainAndTheyAreNotKept(t *testing.T) {
	const most = 1 << 10
	var f fifo
	all := make([]*Request, most+3)
	for i := range all {
		all[i] = new(Request)
		f.add(all[i])
	}
	for i := range most {
		require.Same(t, all[i], f.left()[0])
		f.drop()
		require.Equal(t, i+1, f.first)
		require.Nil(t, f.requests[i])
	}
	f.drop()
	require.Zero(t, f.first)
	require.Equal(t, all[most+1:], f.left())
	f.drop()
	require.Equal(t, 1, f.first)
	f.drop()
	require.Empty(t, f.requests)
	require.Zero(t, f.first)
	require.False(t, new(outbox).answered(), "there is none")
}

func TestRequestsThatWereWrittenAreNotKept(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		r := reading("/a").Then(func(*Request) {})
		l.Send(r)
		synctest.Wait()
		for _, room := range [][]*Request{l.out.ours, l.out.written} {
			require.NotContains(t, room[:cap(room)], r)
		}
		l.says(said(nth(0), "a"))
		require.Nil(t, r.asker)
	})
}

func TestARequestThatIsAsLongAsAnyServerMayTakeGoesOut(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		l.busy()
		const head = 4 + 4 + 4 + 1
		for more, sent := range map[int]bool{0: true, 1: false} {
			r := reading(strings.Repeat("a", longestRequest-head+more))
			l.Send(r)
			_, _, buf := l.waiting()
			require.Equal(t, sent, len(buf) > 0)
			require.Equal(t, !sent, latch.IsClosed(r.Done()))
		}
	})
}

func TestAnswersThatAreToLastDoNotShareTheirRoom(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		at := []*Request{reading("/0").Then(func(*Request) {}), reading("/1"), reading("/2")}
		l.Send(at...)
		<-l.got
		for n := range at {
			l.says(said(nth(int32(n)), fmt.Sprint(n)))
		}
		for _, n := range []int{1, 2} {
			data, _, err := at[n].Data()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(n), string(data))
		}
	})
}

func TestReadsThatAreAskedForTogetherFailTogether(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		l.busy()
		first, second := NewRequest(Op{Code: OpExists, Path: "/q"}), NewRequest(Op{Code: OpExists, Path: "/q"})
		l.Send(first)
		l.Send(second)
		require.Equal(t, []*Request{second}, l.out.ours)
		l.CutOff()
		require.Empty(t, l.out.ours)
		require.Empty(t, l.out.sent.left())
		for _, r := range []*Request{first, second} {
			<-r.Done()
			<-r.Written()
			require.ErrorIs(t, r.Err(), zk.ErrConnectionClosed)
		}
	})
}

func TestAConnectionHasOneWriter(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		synctest.Wait()
		before := runtime.NumGoroutine()
		for xid := range int32(10) {
			l.sends(xid+1, OpGetData)
			l.Send(reading("/a"))
			synctest.Wait()
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
}

// noting has the client read, and note the xids that it is given, beside what else is noted there.
func (l *line) noting(seen *[]string) {
	go func() {
		read := make([]byte, 4096)
		for {
			n, err := l.Read(read)
			if err != nil {
				l.over <- err
				return
			}
			*seen = append(*seen, fmt.Sprint(xidOf(read[:n])))
		}
	}()
}

func TestAnswersAndEventsAreSeenInTheServersOrderWhoeverTheyAreFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).dialed()
		_, err := l.Write(ask)
		require.NoError(t, err)
		var seen []string
		l.noting(&seen)
		l.says(hello(1))
		note := func(r *Request) {
			data, _, err := r.Data()
			require.NoError(t, err)
			require.False(t, latch.IsClosed(r.Done()), "whoever waits for it goes on later")
			seen = append(seen, string(data))
		}
		ours := []*Request{reading("/a").Then(note), reading("/b").Then(note), reading("/c").Then(note)}
		l.Send(ours...)
		l.sends(7, OpGetData)
		l.sends(xidPing, opPing)
		event := framed(number(xidEvent), long(-1), number(0), number(3), number(3), text("/user"))
		l.says(slices.Concat(said(nth(0), "a"), event, said(nth(1), "b"), answer(xidPing, 0), said(7, "user"), event, said(nth(2), "c"), answer(xidEvent, 0)))
		require.Equal(t, []string{"0", "a", "-1", "b", "-2", "7", "-1", "c", "-1"}, seen)
		for i, r := range ours {
			require.True(t, latch.IsClosed(r.Done()))
			require.NoError(t, r.Err())
			require.True(t, r.Answered())
			require.True(t, r.Link() == l.Link)
			require.EqualValues(t, nth(int32(i)), r.Zxid())
		}
		require.True(t, l.isUp())
	})
}

func TestAnAnswerThatIsNotToTheNextRequestOrCannotBeReadEndsTheConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		says []byte
		what string
	}{
		"the second":            {said(nth(1), "b"), fmt.Sprintf("the answer to request %d out of turn", nth(1))},
		"one that was not sent": {said(nth(2), "c"), fmt.Sprintf("the answer to request %d out of turn", nth(2))},
		"once more":             {slices.Concat(said(nth(0), "a"), said(nth(0), "a")), fmt.Sprintf("the answer to request %d out of turn", nth(0))},
		"one too many":          {slices.Concat(said(nth(0), "a"), said(nth(1), "b"), said(nth(2), "c")), fmt.Sprintf("the answer to request %d out of turn", nth(2))},
		"without its stat":      {framed(number(nth(0)), long(1), number(0), text("a")), "an answer to operation 4 that cannot be read"},
		"too long":              {slices.Concat(number(longestAnswer+1), number(nth(0))), "a frame of 67108865 bytes, and 67108864 are the most that is taken"},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).greeted(1, ms)
			ours := []*Request{reading("/a"), reading("/b")}
			l.Send(ours...)
			synctest.Wait()
			a.all()
			l.says(tc.says)
			want := Malformed{"a:2181", tc.what}
			require.Equal(t, want, <-l.over)
			require.Equal(t, want, a.cause)
			require.Equal(t, []string{"warns", "ended"}, a.all())
			require.False(t, l.isUp())
			for _, r := range ours {
				<-r.Done()
			}
		})
	}
}

func TestARequestEndsWithItsConnectionWhateverHasBecomeOfIt(t *testing.T) {
	for name, tc := range map[string]struct {
		before  func(l *line) // the request is sent
		end     func(l *line)
		written bool
	}{
		"it was written":      {written: true, end: func(l *line) { l.Close() }},
		"the server hangs up": {written: true, end: func(l *line) { l.server.Close() }},
		"it hangs up amid the answer": {written: true, end: func(l *line) {
			l.says(said(nth(0), "a")[:frameHead])
			l.server.Close()
		}},
		"the server was silent":  {written: true, end: func(l *line) { l.giveUp() }},
		"the server is given up": {written: true, end: func(l *line) { l.CutOff() }},
		"an answer that is none": {written: true, end: func(l *line) { l.says(number(0)) }},
		"it stands behind another's write": {
			before: func(l *line) { l.busy() },
			end:    func(l *line) { l.Close() },
		},
		"it cannot be written": {
			before:  func(l *line) { l.conn.write = net.ErrClosed },
			end:     func(*line) {},
			written: true, // as far as anybody knows
		},
		"the connection had ended": {before: func(l *line) { l.Close() }, end: func(*line) {}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			session := lively()
			l := plugged(t, session).greeted(1, ms)
			if tc.before != nil {
				tc.before(l)
			}
			then := 0
			r := reading("/a").Then(func(r *Request) {
				then++
				require.Contains(t, session.all(), "ended", "whoever asks again is not to be given this connection")
				require.ErrorIs(t, r.Err(), zk.ErrConnectionClosed)
			})
			l.Send(r)
			synctest.Wait()
			tc.end(l)
			synctest.Wait()
			require.True(t, latch.IsClosed(r.Done()))
			require.True(t, latch.IsClosed(r.Written()))
			require.ErrorIs(t, r.Err(), zk.ErrConnectionClosed)
			require.False(t, r.Answered())
			require.Equal(t, 1, then)
			require.Equal(t, tc.written, r.Link() != nil, "it may have reached the server")
		})
	}
}

func TestNothingOfOursGoesOutBeforeTheLoginIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(l *line)
		goes bool
	}{
		"the login is accepted": {func(l *line) { l.says(answer(1, 0)) }, true},
		"one of two is":         {func(l *line) { l.dialer.Logins = append(l.dialer.Logins, Credential{}); l.says(answer(1, 0)) }, true},
		"it is refused":         {func(l *line) { l.says(answer(1, authFailed)) }, false},
		"go-zookeeper goes on":  {func(l *line) { l.sends(2, OpGetData) }, true},
		"a ping is sent":        {func(l *line) { l.sends(xidPing, opPing) }, true},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			p := plugged(t, lively())
			p.Logins = make([]Credential, 1)
			l := p.greeted(1, ms)
			r := reading("/a")
			l.Send(r)
			synctest.Wait()
			require.Empty(t, l.got)
			l.sends(1, OpSetAuth)
			require.Equal(t, OpSetAuth, opOf(<-l.got))
			require.Empty(t, l.got)
			tc.then(l)
			synctest.Wait()
			require.Equal(t, tc.goes, latch.IsClosed(r.Written()))
			require.Equal(t, tc.goes, len(l.got) > 0)
			l.Close()
			synctest.Wait()
			require.ErrorIs(t, r.Err(), zk.ErrConnectionClosed)
		})
	}
}

func opOf(request []byte) int32 { return int32(binary.BigEndian.Uint32(request[8:])) }

// Whoever sends may have a mutex that Then takes.
func TestSendReturnsBeforeThenIsCalled(t *testing.T) {
	for name, spoil := range map[string]func(l *line){
		"the connection has ended": func(l *line) { l.Close() },
		"nothing can be written":   func(l *line) { l.conn.write = net.ErrClosed },
		"the request is too long":  func(*line) {},
		"it is answered at once":   nil,
	} {
		virtual.Run(t, name, func(t *testing.T) {
			l := plugged(t, lively()).greeted(1, ms)
			sent, path := make(chan struct{}), "/a"
			if spoil != nil {
				spoil(l)
				path += strings.Repeat("a", longestRequest)
			}
			r := reading(path).Then(func(*Request) { <-sent })
			l.Send(r)
			close(sent)
			if spoil == nil {
				synctest.Wait()
				l.says(said(nth(0), "a"))
			}
			<-r.Done()
			require.Equal(t, spoil == nil, r.Answered())
		})
	}
}

func TestARequestThatNoServerTakesFailsAndThoseBesideItGoOut(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := plugged(t, lively()).greeted(1, ms)
		before, long, after := reading("/a"), reading("/"+strings.Repeat("a", longestRequest)), reading("/b")
		l.Send(before, long, after)
		synctest.Wait()
		require.ErrorIs(t, long.Err(), zk.ErrShortBuffer)
		require.Nil(t, long.Link())
		_, unanswered := l.Longest()
		require.Equal(t, before.Size(), unanswered)
		require.Len(t, frames(<-l.got), 2)
		l.says(slices.Concat(said(nth(0), "a"), said(nth(1), "b")))
		data, _, err := after.Data()
		require.NoError(t, err)
		require.Equal(t, "b", string(data))
		l.Send(reading("/" + strings.Repeat("a", longestRequest)))
		synctest.Wait()
		l.Send(reading("/c"))
		synctest.Wait()
		require.Equal(t, nth(2), xidOf(<-l.got), "one that is too long by itself stops nothing")
		require.True(t, l.isUp())
	})
}

// What an answer to go-zookeeper says of the session, one to ours does.
func TestAnAnswerToOursIsASignOfLifeAndAWriteThatWasAnsweredCatchesUp(t *testing.T) {
	for _, tc := range []struct {
		r              *Request
		code           int32
		serves, caught bool
	}{
		{reading("/a"), 0, true, false},
		{reading("/a"), noNode, false, false},
		{NewRequest(Op{Code: OpSync, Path: "/a"}), 0, true, false},
		{NewRequest(Op{Code: OpCreate, Path: "/a"}), 0, true, true},
		{NewRequest(Op{Code: OpCreate, Path: "/a"}), noNode, false, false},
		{NewRequest(Op{Code: OpDelete, Path: "/a"}), 0, true, true},
		{NewRequest(Op{Code: OpSetData, Path: "/a"}), 0, true, true},
		{NewTransaction(Op{Code: OpCheck, Path: "/a"}), 0, true, true},
	} {
		virtual.Test(t, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).greeted(1, ms)
			time.Sleep(1000 * ms)
			writes, begun := make(chan struct{}), l.dialer.Clock.Now()
			l.conn.Conn = brink{l.conn.Conn, writes}
			l.Send(tc.r)
			time.Sleep(10 * ms)
			writes <- struct{}{}
			synctest.Wait()
			taken, unanswered := l.Longest()
			require.Zero(t, taken)
			require.Equal(t, tc.r.Size(), unanswered)
			time.Sleep(33 * ms)
			body := make([]byte, 4+statSize)
			if tc.r.Is(OpMulti) {
				body = slices.Concat(result(OpCheck), make([]byte, 4), []byte{1}, make([]byte, 4))
			}
			l.says(framed(number(nth(0)), long(1), number(tc.code), body))
			require.True(t, latch.IsClosed(tc.r.Done()))
			require.Equal(t, tc.serves, l.Serving())
			require.Equal(t, tc.caught, l.CaughtUp())
			require.Equal(t, 43*ms, l.dialer.Lease.RoundTrip(), "from before the write on: the server may have had it then")
			taken, unanswered = l.Longest()
			require.Equal(t, tc.r.Size(), taken)
			require.Zero(t, unanswered)
			time.Sleep(2000 * ms)
			require.Equal(t, begun, l.dialer.Lease.Proof(l.dialer.Clock.Now()).Touched)
		})
	}
}
