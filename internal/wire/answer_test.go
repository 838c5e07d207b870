package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// shapes are the bodies of answers, by operation: s is a text, b data that may be missing, 8 and 4 a
// number of as many bytes, [ ] several of what is between, and R what a transaction says.
var shapes = map[int32]string{
	OpCreate: "s", OpCreateContainer: "s", OpCreateTTL: "s", OpSync: "s",
	OpExists: stat, OpSetData: stat, OpSetACL: stat, OpGetData: "b" + stat, OpReconfig: "b" + stat,
	OpGetACL: "[4ss]" + stat, OpGetChildren: "[s]", OpGetChildren2: "[s]" + stat,
	OpMulti: "R", OpMultiRead: "R", opEvent: "44s",
	OpDelete: "", OpSetAuth: "", OpSetWatches: "", OpCloseSession: "",
}

const stat = "8888" + "444" + "8" + "44" + "8"

// fits reads what the shape says, as slowly as it is plain, and reports whether all of it was there.
func fits(shape string, from *bytes.Reader) bool {
	pass := func(n int64) bool { passed, _ := io.CopyN(io.Discard, from, n); return n >= 0 && passed == n }
	number := func() (n int32, ok bool) { return n, binary.Read(from, binary.BigEndian, &n) == nil }
	for i := 0; i < len(shape); i++ {
		ok, n := true, int32(0)
		switch shape[i] {
		case '4', '8':
			ok = pass(int64(shape[i] - '0'))
		case 's':
			n, ok = number()
			ok = ok && pass(int64(n))
		case 'b':
			n, ok = number()
			ok = ok && pass(int64(max(n, 0)))
		case '[':
			end := i + bytes.IndexByte([]byte(shape[i:]), ']')
			for n, ok = number(); ok && n > 0; n-- {
				ok = fits(shape[i+1:end], from)
			}
			ok = ok && n == 0
			i = end
		case 'R':
			kind, is := number()
			done, err := from.ReadByte()
			ok = is && err == nil && pass(4)
			if ok && done == 0 {
				each, known := map[int32]string{OpCreate: "s", OpCreate2: "s" + stat, OpDelete: "", OpSetData: stat, OpCheck: "", OpGetData: "b" + stat, opError: "4"}[kind]
				ok = known && fits(each+"R", from)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func text(s string) []byte { return append(number(int32(len(s))), s...) }

// result is one of a transaction's.
func result(kind int32, body ...[]byte) []byte {
	return slices.Concat(number(kind), []byte{0}, number(0), slices.Concat(body...))
}

// go-zookeeper decodes an answer by the type of its request: it makes room for as many children as the
// answer counts, and a byte that is missing ends the process.
func TestAnAnswerGoesOnOnlyIfAllOfItsFieldsAreThere(t *testing.T) {
	zeros, end := make([]byte, statSize), slices.Concat(number(-1), []byte{1}, number(-1))
	for _, tc := range []struct {
		op   int32
		body []byte
	}{
		{OpCreate, text("/lock/n-0000000001")},
		{OpCreateContainer, text("/lock")},
		{OpCreateTTL, text("/lock")},
		{OpSync, text("/")},
		{OpExists, zeros},
		{OpSetData, zeros},
		{OpSetACL, zeros},
		{OpGetData, slices.Concat(text("data"), zeros)},
		{OpGetData, slices.Concat(number(-1), zeros)},
		{OpReconfig, slices.Concat(text("server.1=..."), zeros)},
		{OpGetACL, slices.Concat(number(2), number(31), text("world"), text("anyone"), number(1), text(""), text(""), zeros)},
		{OpGetChildren, slices.Concat(number(2), text("a"), text("b"))},
		{OpGetChildren2, slices.Concat(number(2), text("a"), text("b"), zeros)},
		{OpMulti, end},
		{OpMulti, slices.Concat(result(OpCreate2, text("/a"), zeros), result(OpCreate, text("/a")), result(OpDelete), result(OpSetData, zeros), result(OpCheck), result(opError, number(noNode)), end)},
		{opEvent, slices.Concat(number(1), number(3), text("/lock"))},
	} {
		require.True(t, isWhole(tc.op, tc.body), tc)
		require.True(t, isWhole(tc.op, append(slices.Clone(tc.body), 1)), "a newer server may say more: %v", tc)
		for n := range tc.body {
			require.False(t, isWhole(tc.op, tc.body[:n]), "%v without all but %d bytes", tc, n)
		}
	}
	for op, body := range map[int32][]byte{
		OpCreate:       number(-1),
		OpGetChildren2: slices.Concat(number(-1), zeros),
		OpGetACL:       slices.Concat(number(1), zeros[:4], number(-1), zeros),
		OpMulti:        slices.Concat(result(OpGetACL), end),
	} {
		require.False(t, isWhole(op, body), op)
	}
	require.True(t, isWhole(OpDelete, nil))
}

func TestAFrameThatNoServerSendsEndsTheConnectionBeforeTheClientHasAnyOfIt(t *testing.T) {
	asked := framed(number(7), number(OpGetChildren2), at("/lock", 0))
	said := func(xid, code int32, body ...[]byte) []byte {
		return framed(number(xid), long(1), number(code), slices.Concat(body...))
	}
	for says, what := range map[string]string{
		string(number(15)):                   "a frame of 15 bytes, and an answer has 16 at least",
		string(number(64<<20 + 1)):           "a frame of 67108865 bytes, and 67108864 are the most that is taken",
		string(number(-1)):                   "a frame of 4294967295 bytes, and 67108864 are the most that is taken",
		string(said(7, 0)):                   "an answer to operation 12 that cannot be read",
		string(said(xidEvent, 0)):            "an answer to operation -2 that cannot be read",
		string(said(7, noNode)):              "", // it has no body
		string(said(8, 0)):                   "", // to what nobody has asked for, as a login
		string(said(7, 0, make([]byte, 72))): "",
	} {
		virtual.Test(t, func(t *testing.T) {
			a := lively()
			l := plugged(t, a).greeted(1, ms)
			_, err := l.Write(asked)
			require.NoError(t, err)
			a.all()
			l.says([]byte(says))
			if what == "" {
				<-l.heard
				require.True(t, l.isUp())
				return
			}
			want := Malformed{"a:2181", what}
			require.Equal(t, want, <-l.over)
			require.Empty(t, l.heard)
			require.Equal(t, want, a.cause)
			require.Equal(t, []string{"warns", "ended"}, a.all())
			require.EqualError(t, want, "a:2181 has sent "+what)
		})
	}
}

// recorded is a connection to a server that says what it always says.
type recorded struct {
	net.Conn
	said *bytes.Reader
}

func (r recorded) Read(p []byte) (int, error) { return r.said.Read(p) }
func (recorded) Write(p []byte) (int, error)  { return len(p), nil }
func (recorded) Close() error                 { return nil }

func FuzzWhatGoesOnToTheClientAreWholeFrames(f *testing.F) {
	ops := slices.Sorted(maps.Keys(shapes))
	f.Add(hello(1), answer(3, 0))
	f.Add(hello(1), slices.Concat(answer(xidEvent, 0), answer(xidPing, 0), answer(1, noNode)))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"), []byte{})
	f.Add(hello(0), framed(number(5), long(1), number(0), number(1), text("a"), make([]byte, statSize)))
	f.Fuzz(func(t *testing.T, greeting, answers []byte) {
		said := slices.Concat(greeting, answers)
		p := plugged(t, lively())
		l := newLink(p.Dialer, recorded{said: bytes.NewReader(said)}, "a:2181")
		defer l.Close()
		_, _ = l.Write(ask)
		for xid, op := range ops {
			l.follow(int32(xid), inFlight{op: op, sent: p.Clock.Now()})
		}
		passed, _ := io.ReadAll(l)
		answered := make(map[int32]bool)
		require.LessOrEqual(t, len(passed), len(said))
		want := said[:len(passed)]
		for greets, rest := true, bytes.NewReader(passed); rest.Len() > 0; {
			var length int32
			require.NoError(t, binary.Read(rest, binary.BigEndian, &length))
			frame := make([]byte, length)
			_, err := io.ReadFull(rest, frame)
			require.NoError(t, err)
			xid, code := int32(binary.BigEndian.Uint32(frame)), binary.BigEndian.Uint32(frame[12:])
			if at := len(want) - rest.Len() - len(frame); !greets {
				clear(want[at+4 : at+12]) // but for the transaction
			}
			switch {
			case greets:
				greets = binary.BigEndian.Uint64(frame[8:]) == 0 // of a session that has expired
				require.LessOrEqual(t, length, int32(longestGreeting))
				require.True(t, fits("448b", bytes.NewReader(frame)))
			case xid == xidEvent:
				require.True(t, fits(shapes[opEvent], bytes.NewReader(frame[16:])))
			case code == 0 && 0 <= xid && int(xid) < len(ops) && !answered[xid]:
				require.True(t, fits(shapes[ops[xid]], bytes.NewReader(frame[16:])), "operation %d: %x", ops[xid], frame)
			}
			answered[xid] = true
		}
		require.True(t, bytes.Equal(want, passed), "it is what the server has said")
	})
}
