package wire

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
)

// nobody is a session that takes whatever it is told.
type nobody struct{}

func (nobody) ID() int64                           { return 0 }
func (nobody) Left() (timeout, left time.Duration) { return time.Second, 0 }
func (nobody) Asks(clock.Instant)                  {}
func (nobody) Connected(*Link, time.Duration)      {}
func (nobody) Disconnected(*Link, error)           {}
func (nobody) Served(*Link)                        {}
func (nobody) Failed(error)                        {}
func (nobody) KeepsWatches(*Link)                  {}
func (nobody) Spawn(f func()) bool                 { go f(); return true }
func (nobody) Debug(message string, args ...any)   {}
func (nobody) Warn(message string, args ...any)    {}

// told is a session that is told of a connection.
type told struct {
	nobody
	connected func()
}

func (s told) Connected(*Link, time.Duration) { s.connected() }

// reconnect is how a client sets its watches again over a new connection.
type reconnect struct {
	seen     int64   // that its connect request says
	requests []int64 // the last transaction that each request to set watches says
	full     int     // how many of them are so long that another may follow
	code     int32   // of the last answer
	unheard  bool    // there is no last answer
}

func (c reconnect) pass(r *rewatch) {
	ask := make([]byte, 60)
	binary.BigEndian.PutUint64(ask[8:], uint64(c.seen))
	r.asked(ask)
	r.connected()
	for i, zxid := range c.requests {
		frame := make([]byte, FullRequest-1)
		if i < c.full {
			frame = make([]byte, FullRequest)
		}
		xid := int32(i + 1)
		binary.BigEndian.PutUint32(frame[4:], uint32(xid))
		binary.BigEndian.PutUint64(frame[12:], uint64(zxid))
		r.sent(frame)
		code, last := int32(0), i == len(c.requests)-1
		if last {
			code = c.code
		}
		if !last || !c.unheard {
			r.answered(xid, code)
		}
		r.answered(1000, 0) // to another request
	}
	r.answered(0, 0)
	r.answered(xidPing, 0)
}

func TestWatchesStandIfTheServerHasConfirmedAllOfThemInTime(t *testing.T) {
	good := reconnect{seen: 7, requests: []int64{7}}
	for name, c := range map[string]struct {
		later []reconnect
		want  int64
		set   bool
	}{
		"set again":                             {[]reconnect{good}, 1, true},
		"set again twice":                       {[]reconnect{good, good}, 1, true},
		"set again by many requests":            {[]reconnect{{seen: 7, requests: []int64{7, 7}, full: 1}}, 1, true},
		"not set again":                         {[]reconnect{{seen: 7}}, 2, false},
		"refused":                               {[]reconnect{{seen: 7, requests: []int64{7}, code: -4}}, 2, false},
		"not confirmed":                         {[]reconnect{{seen: 7, requests: []int64{7}, unheard: true}}, 2, false},
		"behind an answer of the connection":    {[]reconnect{{seen: 7, requests: []int64{8}}}, 2, true},
		"some behind an answer":                 {[]reconnect{{seen: 7, requests: []int64{7, 8}, full: 1}}, 2, true},
		"a second request may follow":           {[]reconnect{{seen: 7, requests: []int64{7}, full: 1}}, 2, false},
		"set again after it was not":            {[]reconnect{{seen: 7}, good}, 2, true},
		"set again after it was not and it was": {[]reconnect{good, {seen: 7}, good}, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r rewatch
			reconnect{}.pass(&r)
			for _, later := range c.later {
				later.pass(&r)
			}
			require.Equal(t, Standing{Connection: int64(len(c.later) + 1), Oldest: c.want, Set: c.set}, r.standing())
		})
	}
}

// Who has waited for a connection asks which watches stand, and would be told of the connection
// before.
func TestAConnectionIsCountedBeforeAnybodyHasIt(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	var counted int64
	s := told{}
	d := NewDialer(context.Background(), &s, Options{Hosts: NewHosts(), Clock: new(clock.Clock), Log: s})
	s.connected = func() { counted = d.Watches().Connection }
	head := make([]byte, frameHead)
	binary.BigEndian.PutUint32(head[8:], 10_000)
	binary.BigEndian.PutUint64(head[12:], 1)
	newLink(d, ours, "").greet(head)
	require.EqualValues(t, 1, counted)
}
