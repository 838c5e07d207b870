package recipe

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// awkward are keys that could be taken for something else, or that ZooKeeper refuses.
var awkward = []string{
	"", "%", "%%", "%2F", "%25", "%sha256-", ".", "..", "...", "%2E", "/", "//", "a/b", "/a", "a/", "zookeeper", "locks", "leases",
	"order-1234567890", "1234567890", "12345678901", "-123456789", "a-lock-0000000001", "a-lock--000000001", "x-lease-0000000007", "lock-0000000003",
	"order-123456789", "\x00", "a\nb", "\x7f", "\u0085", "\ue000", "\uf8ff", "\ufff0", "\ufffd", "\U0001f512", "\xff", "\xed\xa0\x80", "a\xffb", "ünï", "a b",
	"%stripe-1-of-2", StripeName(0, 1), strings.Repeat("k", LongestKeyName), strings.Repeat("k", LongestKeyName+1),
	strings.Repeat("/", LongestKeyName/3), strings.Repeat("/", LongestKeyName/3+1), strings.Repeat("1", LongestKeyName), strings.Repeat("k", LongestKey),
}

// requireName checks what is so of each key's name.
func requireName(t *testing.T, key string) (name string) {
	t.Helper()
	name, says := KeyName(key)
	require.NoError(t, CheckPath("/locks/"+name), "key %q", key)
	require.LessOrEqual(t, len(name), LongestKeyName, "key %q", key)
	require.Equal(t, KeyIsSaid(name), says != nil, "key %q", key)
	_, contends := Parse(name)
	require.False(t, contends || IsPermit(name), "key %q has the name %q, which a lock at the prefix would wait for", key, name)
	require.NotContains(t, []string{Turns, Permits}, name)
	require.False(t, isStripe(name), "key %q", key)
	back, ok := KeyOf(name, says)
	require.True(t, ok, "key %q has the name %q", key, name)
	require.Equal(t, key, back)
	return name
}

func TestEachKeyHasANameOfItsOwnThatIsNoLockNodes(t *testing.T) {
	keys := make(map[string]string)
	for _, key := range awkward {
		name := requireName(t, key)
		_, had := keys[name]
		require.False(t, had, "key %.40q has the name of another", key)
		keys[name] = key
	}
	// All short strings over what may be confused.
	const letters = "%/.05Fas\xff\n-"
	names, short := make(map[string]bool), []string{""}
	for length := 0; ; length++ {
		for _, key := range short {
			require.False(t, names[requireName(t, key)], "key %q has the name of another", key)
			names[requireName(t, key)] = true
		}
		if length == 3 {
			return
		}
		var longer []string
		for _, key := range short {
			for i := range len(letters) {
				longer = append(longer, key+letters[i:i+1])
			}
		}
		short = longer
	}
}

func FuzzKeyName(f *testing.F) {
	for _, key := range awkward {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name := requireName(t, key)
		require.NotEqual(t, name, requireName(t, key+"0"))
		// What is read as a name is one, or no key's.
		if back, ok := KeyOf(key, nil); ok {
			again, _ := KeyName(back)
			require.Equal(t, key, again)
		}
	})
}

func TestTheCommonKeysAreTheirOwnNames(t *testing.T) {
	for _, key := range []string{"a", "order-17", "user@example.org", "2026-11-28", "a b", "ünïcode", "zookeeper", "order-123456789", strings.Repeat("k", LongestKeyName)} {
		name, _ := KeyName(key)
		require.Equal(t, key, name)
	}
	for key, want := range map[string]string{
		"": "%", ".": "%2E", "..": ".%2E", "a/b": "a%2Fb", "100%": "100%25", "\xff": "%FF", "\n": "%0A", "\U0001f512": "%F0%9F%94%92",
		"order-1234567890": "order-123456789%30", "locks": "lock%73", "leases": "lease%73",
	} {
		name, _ := KeyName(key)
		require.Equal(t, want, name)
	}
}

// Anybody may have made a node, or written on it.
func TestANameThatNoKeyGivesIsNoKeys(t *testing.T) {
	long, says := KeyName(strings.Repeat("k", 1000))
	for _, name := range []string{"%2f", "%41", "%4", "a%", "%zz", "..", "order-1234567890", "locks", "%sha256-", StripeName(1, 2), strings.Repeat("k", LongestKeyName+1)} {
		_, ok := KeyOf(name, says)
		require.False(t, ok, name)
	}
	for _, other := range []string{"", "k", string(says) + "k"} {
		_, ok := KeyOf(long, []byte(other))
		require.False(t, ok, "it says another key")
	}
}

// Other processes, also of later versions, have to come to the same stripe.
func TestTheStripeOfAKeyStaysAsItIs(t *testing.T) {
	for key, stripe := range map[string]int{"": 52, "a": 50, "order-17": 88, "\xff\x00": 69} {
		require.Equal(t, stripe, StripeOf(key, 100), "%q", key)
	}
	require.Equal(t, "%stripe-17-of-64", StripeName(17, 64))
	for name, is := range map[string]bool{
		"%stripe-17-of-64": true, "%stripe-0-of-1": true, "%stripe-64-of-64": false, "%stripe--1-of-64": false, "%stripe-017-of-64": false,
		"%stripe-1-of-65537": false, "%stripe-17-of-64x": false, "stripe-17-of-64": false, "": false,
	} {
		require.Equal(t, is, isStripe(name), name)
	}
}

func TestKeysAreSpreadOverTheStripes(t *testing.T) {
	const n, keys = 16, 16_000
	var of [n]int
	random := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		of[StripeOf(fmt.Sprintf("order-%d-%d", i, random.Int()), n)]++
	}
	for stripe, count := range of {
		require.InDelta(t, keys/n, count, keys/n/4, "stripe %d", stripe)
	}
}

// isStripe reports whether name is that of a stripe's node.
func isStripe(name string) bool {
	var stripe, n int
	_, err := fmt.Sscanf(name, stripeForm, &stripe, &n)
	return err == nil && name == StripeName(stripe, n) && 0 <= stripe && stripe < n && n <= MostStripes
}
