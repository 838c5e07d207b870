package wire

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// answersOfApache are bodies of answers of Apache ZooKeeper 3.8.0, and what they say; zktest's are the same.
var answersOfApache = map[string]struct {
	op   int32
	body string
	says any
}{
	"create":      {OpCreate, "0000000f 2f612f6e2d30303030303030303031", "/a/n-0000000001"},
	"sync":        {OpSync, "00000002 2f61", "/a"},
	"exists":      {OpExists, statOfA, statA},
	"set":         {OpSetData, statOfA, statA},
	"data":        {OpGetData, "00000004 73616964" + statOfA, dataOfA{[]byte("said"), statA}},
	"no data":     {OpGetData, "ffffffff" + statOfA, dataOfA{nil, statA}},
	"empty data":  {OpGetData, "00000000" + statOfA, dataOfA{[]byte{}, statA}},
	"children":    {OpGetChildren2, "00000002 0000000c 6e2d30303030303030303031 0000000c 6e2d30303030303030303030" + statOfA, childrenOfA{[]string{"n-0000000001", "n-0000000000"}, statA}},
	"no children": {OpGetChildren2, "00000000" + statOfA, childrenOfA{[]string{}, statA}},
	"an empty id": {OpGetACL, "00000001 00000001 00000004 61757468 00000000" + statOfA, zk.AuthACL(zk.PermRead)},
	"access list": {OpGetACL, "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65" + statOfA, zk.WorldACL(zk.PermAll)},
	"a transaction": {
		OpMulti,
		"0000000f 00 00000000 00000002 2f63" + statOfA + // a container's create
			"00000001 00 00000000 0000000f 2f632f6e2d30303030303030303030" +
			"00000005 00 00000000" + statOfA + "0000000d 00 00000000" + "00000002 00 00000000" + theEnd,
		outcome{results: []Result{{Path: "/c", Stat: statA}, {Path: "/c/n-0000000000"}, {}, {}, {}}},
	},
	"reads": {
		OpMultiRead, "00000004 00 00000000 00000004 73616964" + statOfA + "ffffffff 00 ffffff9b ffffff9b" + theEnd,
		outcome{[]Result{{Stat: statA}, {Err: zk.ErrNoNode}}, zk.ErrNoNode},
	},
	"one that has failed": {
		OpMulti, "ffffffff 00 00000000 00000000" + "ffffffff 00 ffffff9b ffffff9b" + "ffffffff 00 fffffffe fffffffe" + theEnd,
		outcome{[]Result{{}, {Err: zk.ErrNoNode}, {Err: Code(-2)}}, zk.ErrNoNode},
	},
}

const (
	statOfA = "0000000000000004 0000000000000008 000001a223e1c8df 000001a223e1c921 00000001 00000002 00000000 010000e9966a0001 00000004 00000002 0000000000000007"
	theEnd  = "ffffffff 01 ffffffff"
)

var statA = &zk.Stat{
	Czxid: 4, Mzxid: 8, Ctime: 0x1a223e1c8df, Mtime: 0x1a223e1c921, Version: 1, Cversion: 2,
	EphemeralOwner: 0x10000e9966a0001, DataLength: 4, NumChildren: 2, Pzxid: 7,
}

// What reads say of a node, and a transaction of its operations.
type (
	dataOfA struct {
		data []byte
		stat *zk.Stat
	}
	childrenOfA struct {
		names []string
		stat  *zk.Stat
	}
	outcome struct {
		results []Result
		first   error
	}
)

// answered is a request for the operation that has that answer; one for several has n operations.
func answered(op int32, body []byte, n int) *Request {
	r := NewRequest(Op{Code: op})
	switch op {
	case OpMulti:
		r = NewTransaction(make([]Op, n)...)
	case OpMultiRead:
		r = NewReads(make([]Op, n)...)
	}
	r.answer(framed(number(firstXid), long(7), number(0), body))
	return r
}

// says is what the answer to a request says, in full.
func says(r *Request) (any, error) {
	switch r.op {
	case OpCreate, OpSync:
		return r.Path()
	case OpExists, OpSetData:
		return r.Stat()
	case OpGetData:
		data, stat, err := r.Data()
		return dataOfA{data, stat}, err
	case OpGetChildren2:
		names, stat, err := r.Children()
		return childrenOfA{names, stat}, err
	case OpGetACL:
		return r.ACL()
	case OpMulti, OpMultiRead:
		results, err := r.Results()
		if results != nil {
			return outcome{results, err}, nil
		}
		return nil, err
	}
	return nil, nil
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestWhatAServerAnswersIsRead(t *testing.T) {
	for name, tc := range answersOfApache {
		body, n := unhex(t, tc.body), 0
		if multi, is := tc.says.(outcome); is {
			n = len(multi.results)
		}
		got, err := says(answered(tc.op, body, n))
		require.NoError(t, err, name)
		require.Equal(t, tc.says, got, name)
		got, err = says(answered(tc.op, append(slices.Clone(body), 1), n))
		require.NoError(t, err, "a newer server may say more: %s", name)
		require.Equal(t, tc.says, got, name)
		for short := range body {
			_, err := says(answered(tc.op, body[:short], n))
			require.ErrorIs(t, err, ErrMalformed, "%s without all but %d bytes", name, short)
		}
		for _, wrong := range []int{n - 1, n + 1} {
			if n > 0 {
				_, err := says(answered(tc.op, body, wrong))
				require.ErrorIs(t, err, ErrMalformed, "of %d operations", wrong)
			}
		}
	}
}

func TestACountOrALengthThatIsNotTrueIsRefusedAndMakesNoRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		op   int32
		body []byte
	}{
		"too many children":           {OpGetChildren2, number(1 << 20)},
		"too many rights":             {OpGetACL, number(1 << 20)},
		"less than no children":       {OpGetChildren2, number(-1)},
		"less than no rights":         {OpGetACL, number(-1)},
		"a path without a length":     {OpCreate, number(-1)},
		"a name without a length":     {OpGetChildren2, append(number(1), number(-1)...)},
		"a kind that no answer has":   {OpMulti, slices.Concat(result(OpGetACL), unhex(t, theEnd))},
		"more results than were due":  {OpMulti, slices.Concat(bytes.Repeat(result(OpCheck), 2), unhex(t, theEnd))},
		"fewer results than were due": {OpMulti, unhex(t, theEnd)},
	} {
		r := answered(tc.op, append(tc.body, make([]byte, 1<<10)...), 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := says(r)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrMalformed, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<17), name)
	}
}

func TestFieldsAreCountedIfTheyMayAllBeThere(t *testing.T) {
	for left, counted := range map[int]int{2 * 4: 2, 2*4 - 1: 0} {
		in := reader{left: append(number(2), make([]byte, left)...)}
		require.Equal(t, counted, in.count())
		require.Equal(t, counted == 0, in.err != nil)
	}
}

func TestARefusalIsWhatEachAnswerSays(t *testing.T) {
	for name, a := range answersOfApache {
		r := answered(a.op, nil, 1)
		r.answer(framed(number(firstXid), long(7), number(noNode)))
		_, err := says(r)
		require.Equal(t, zk.ErrNoNode, err, name)
	}
}

func TestAnErrorThatAServerAnswersIsGoZookeepers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var code int32
		conn, asked := goZookeeper(t, func() int32 { return code })
		for code = -200; code < 0; code++ {
			_, _, theirs := conn.Get("/a")
			<-asked
			r := reading("/a")
			r.answer(framed(number(firstXid), long(7), number(code)))
			_, _, ours := r.Data()
			require.Equal(t, ours, r.Err())
			require.True(t, r.Answered())
			require.EqualValues(t, 7, r.Zxid())
			if _, nameless := ours.(Code); nameless {
				require.EqualError(t, ours, theirs.Error())
			} else {
				require.Equal(t, theirs, ours)
			}
		}
	})
}

// FuzzAnswer has answers read that any server may give. Exactly those are read whose fields are all there, and
// what is told has no more in it than came.
func FuzzAnswer(f *testing.F) {
	for _, a := range answersOfApache {
		body, n := unhex(f, a.body), 0
		if multi, is := a.says.(outcome); is {
			n = len(multi.results)
		}
		f.Add(uint8(a.op), body, uint8(n))
	}
	for _, count := range []int32{-1, -2, 1 << 20} {
		f.Add(uint8(OpGetChildren2), slices.Concat(number(count), make([]byte, statSize)), uint8(0))
		f.Add(uint8(OpGetACL), slices.Concat(number(count), make([]byte, statSize)), uint8(0))
		f.Add(uint8(OpGetData), slices.Concat(number(count), make([]byte, statSize)), uint8(0))
		f.Add(uint8(OpMulti), number(count), uint8(1))
	}
	f.Fuzz(func(t *testing.T, op uint8, body []byte, n uint8) {
		r := answered(int32(op), body, int(n))
		shape, known := shapes[r.op]
		if !known {
			return
		}
		whole := fits(shape, bytes.NewReader(body))
		require.Equal(t, whole, isWhole(r.op, body))
		rest, err := reread(r)
		switch {
		case err != nil:
			require.ErrorIs(t, err, ErrMalformed)
			require.True(t, !whole || r.op == OpMulti || r.op == OpMultiRead, "operation %d: %x", op, body)
		case rest != nil:
			require.True(t, whole)
			require.True(t, bytes.HasPrefix(body, rest), "operation %d: %x", op, body)
		}
	})
}

// reread returns what the answer to a request says, as a server writes it; nil of what is not told in full.
func reread(r *Request) (body []byte, err error) {
	switch r.op {
	case OpCreate, OpSync:
		path, err := r.Path()
		return text(path), err
	case OpExists, OpSetData:
		stat, err := r.Stat()
		return writtenStat(stat), err
	case OpGetData:
		data, stat, err := r.Data()
		if data == nil {
			return nil, err
		}
		return slices.Concat(text(string(data)), writtenStat(stat)), err
	case OpGetChildren2:
		names, stat, err := r.Children()
		body = number(int32(len(names)))
		for _, name := range names {
			body = append(body, text(name)...)
		}
		return append(body, writtenStat(stat)...), err
	case OpGetACL:
		acl, err := r.ACL()
		return appendACL(nil, acl), err
	case OpMulti, OpMultiRead:
		results, err := r.Results()
		if results != nil {
			return nil, nil // and the first error of them
		}
		return nil, err
	}
	return nil, nil
}

func writtenStat(stat *zk.Stat) (b []byte) {
	if stat == nil {
		return nil
	}
	for _, n := range []int64{stat.Czxid, stat.Mzxid, stat.Ctime, stat.Mtime} {
		b = append(b, long(n)...)
	}
	for _, n := range []int32{stat.Version, stat.Cversion, stat.Aversion} {
		b = append(b, number(n)...)
	}
	return slices.Concat(b, long(stat.EphemeralOwner), number(stat.DataLength), number(stat.NumChildren), long(stat.Pzxid))
}
