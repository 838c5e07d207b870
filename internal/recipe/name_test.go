package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const id = "8a0e0000-0000-4000-8000-000000000000"

func TestTheNamesOfEveryClientAreRead(t *testing.T) {
	for name, want := range map[string]Node{
		Stem(id, Exclusive) + "0000000041":                       {Kind: Exclusive, Sequence: 41},
		Stem(id, Write) + "0000000041":                           {Kind: Write, Sequence: 41},
		Sequential(Stem(id, Read), 41):                           {Kind: Read, Sequence: 41},
		"0123456789abcdef0123456789abcdef__lock__0000000007":     {Kind: Exclusive, Sequence: 7},
		"0123456789abcdef0123456789abcdef__rlock__0000000007":    {Kind: Read, Sequence: 7},
		"_c_0123456789abcdef0123456789abcdef-lock-0000000007":    {Kind: Exclusive, Sequence: 7},
		Stem(id, Exclusive) + "-2147483648":                      {Kind: Exclusive, Sequence: -2147483648},
		Stem(id, Exclusive) + "-000000001":                       {Kind: Exclusive, Sequence: -1},
		Stem(id, Exclusive) + "2147483647":                       {Kind: Exclusive, Sequence: 2147483647},
		"-lock-0000000001":                                       {Kind: Exclusive, Sequence: 1},
		"prefix-of-somebody-else-__WRIT__0000000003":             {Kind: Write, Sequence: 3},
		"lock-0000000007":                                        {Kind: Exclusive, Sequence: 7},
		"lock--2147483648":                                       {Kind: Exclusive, Sequence: -2147483648},
		"lock--000000001":                                        {Kind: Exclusive, Sequence: -1},
		"with-lock-0000000001-in-it-__READ__0000000002":          {Kind: Read, Sequence: 2},
		"_c_0123456789abcdef0123456789abcdef-lock-lock-00000001": {},
	} {
		got, ok := Parse(name)
		require.Equal(t, want != Node{}, ok, name)
		if want.Name = name; ok {
			require.Equal(t, want, got)
		}
	}
}

func TestWhatIsNoLockNodeIsIgnored(t *testing.T) {
	for _, name := range []string{
		"", "-", "lock", "members", "nine-char", "x-lock-1", "x-lock-000000000a", "x-lock-9999999999", "x-lock--00000000a",
		"order-9999999999", "order-2147483648", "order-123456789", "order--123456789", "lock-123456789", "123456789", "-000000000",
		Stem(id, Permit) + "0000000000", "x-lock-+000000001", "ünïcode-lock-٠٠٠٠٠٠٠٠٠٠",
	} {
		_, ok := Parse(name)
		require.False(t, ok, name)
	}
	require.True(t, IsPermit(Stem(id, Permit)+"0000000000"))
	require.True(t, IsPermit(Stem(id, Permit)+"-2147483648"))
	require.True(t, IsPermit(Stem(id, Permit)+"-000000001"))
	require.False(t, IsPermit(Stem(id, Exclusive)+"0000000000"))
	require.False(t, IsPermit("-lease-"))
	require.False(t, IsPermit("car-lease-2024-03-01"), "a day is no number")
}

// A random UUID may be another library's.
func TestANodeOfOursIsToldByTheEndOfItsUUID(t *testing.T) {
	require.True(t, Ours(Stem(id, Exclusive)+"0000000041"))
	require.True(t, Ours(Stem("8a0e0000-0000-4000-8000-0000ffffffff", Read)+"0000000041"))
	for _, other := range []string{
		"8a0e0000-0000-4000-8abc-000000000000", "8a0e0000-0000-4000-8000-123456789abc", "8a0e0000-0000-4000-9000-000000000000",
	} {
		require.False(t, Ours(Stem(other, Exclusive)+"0000000041"), other)
	}
}

// Of vitess, tooz, libkv, zoo_lock.c, WriteLock and who else wrote a lock by hand. No name that ends in a sequence is
// passed over: that of a permit aside.
func TestAChildThatEndsInASequenceIsForeignIfItsNameSaysNothingMore(t *testing.T) {
	for name, sequence := range map[string]int32{
		"0000000007": 7, "-0000000007": 7, "n_0000000007": 7, "n-0000000007": 7, "lock_0000000007": 7, "lock0000000007": 7,
		"x-72057594037927936-0000000007": 7, "x-lock-00000000007": 7, "lock-x0000000007": 7, "clock-0000000007": 7, "lock-clock-0000000007": 7,
		"order-1234567890": 1234567890, "order-2147483647": 2147483647, "lock-10000000007": 7, "_c_-latch-0000000007": 7,
	} {
		n, ok := Parse(name)
		require.True(t, ok, name)
		require.Equal(t, Node{Name: name, Kind: Exclusive, Sequence: sequence, Foreign: true}, n)
		require.Equal(t, name == "0000000007", n.Bare(), name)
		require.True(t, n.Contends(true), name)
		require.False(t, n.Contends(false), name)
	}
	known, _ := Parse("x-lock-0000000007")
	require.True(t, known.Contends(false), "a lock's node, whatever else it is")
}

func TestTheEndOfTheCounterIsKnownBeforeItComes(t *testing.T) {
	for sequence, unordered := range map[int32]bool{
		0: false, orderEnd - 1: false, orderEnd: true, 2147483647: true, -1: true, -2147483648: true,
	} {
		require.Equal(t, unordered, Node{Sequence: sequence}.Unordered(), sequence)
	}
}

func TestAKindIsCalledByItsName(t *testing.T) {
	for k, want := range map[Kind]string{
		Exclusive: "exclusive", Write: "write", Read: "read", Permit: "permit", -1: "Kind(-1)", Permit + 1: "Kind(4)",
	} {
		require.Equal(t, want, k.String())
	}
}
