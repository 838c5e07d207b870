package lock_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/recipe"
)

// oddKeys are keys that could be taken for something else, or that ZooKeeper refuses in a path.
func oddKeys() []string {
	keys := []string{
		"", "%", "%2F", "%sha256-", ".", "..", "/", "a/b", "//", "zookeeper", "locks", "leases", "a b", "ünï", "\x00", "a\nb", "\u0085", "\ue000",
		"\ufff0", "\U0001f512", "\xff", "\xed\xa0\x80", "order-1234567890", "1234567890", "x-lock-0000000001", "x-lease-0000000001", "-123456789",
		strings.Repeat("k", recipe.LongestKeyName), strings.Repeat("k", recipe.LongestKeyName+1), strings.Repeat("\xff", recipe.LongestKey),
	}
	random := rand.New(rand.NewPCG(3, 6))
	for range 100 {
		key := make([]byte, random.IntN(80))
		for i := range key {
			key[i] = byte(random.UintN(256))
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// requireListed checks that just those keys are shown, and held.
func requireListed(t *testing.T, s *zklock.Session, prefix string, want []string) {
	t.Helper()
	found, err := zklock.List(t.Context(), s, prefix)
	require.NoError(t, err)
	keys := []string{}
	for _, l := range found {
		require.True(t, l.HasKey, l.Path)
		require.True(t, l.Contenders[0].Held, l.Path)
		require.WithinDuration(t, time.Now(), l.Contenders[0].Created, patience, l.Path)
		keys = append(keys, l.Key)
	}
	slices.Sort(keys)
	require.Equal(t, want, keys)
}

func TestEachKeyIsALockOfItsOwn(t *testing.T) {
	at := newSite(t)
	s, other := at.session(), at.session()
	mine, theirs := must(zklock.NewKeyed(s, at.path)), must(zklock.NewKeyed(other, at.path))
	keys := oddKeys()
	holds := make(map[string]*zklock.Hold)
	for _, key := range keys {
		h, err := mine.TryAcquire(t.Context(), key)
		require.NoError(t, err, "%q", key)
		holds[key] = h
	}
	requireListed(t, other, at.path, keys)
	for _, key := range keys {
		require.ErrorIs(t, errOf(theirs.TryAcquire(t.Context(), key)), zklock.ErrLocked, "%q", key)
		found, err := zklock.Inspect(t.Context(), other, theirs.PathOf(key))
		require.NoError(t, err)
		require.Len(t, found, 1, "%q", key)
		require.Equal(t, holds[key].Node(), found[0].Node, "%q", key)
	}

	// A lock on the path itself stands in nobody's way, nor they in its.
	l := must(zklock.New(s, at.path)) // whose node goes with its hold, whatever the options of the others
	require.NoError(t, l.LockContext(within(t, patience)))
	require.NoError(t, holds[keys[0]].Release(t.Context()))
	h, err := theirs.TryAcquire(t.Context(), keys[0])
	require.NoError(t, err)
	holds[keys[0]] = h
	l.Unlock()

	for _, h := range holds {
		require.NoError(t, h.Release(t.Context()))
	}
	requireListed(t, other, at.path, []string{})
}

// The path is a container that says the key, and goes when nobody uses it.
func TestALongKeyIsSaidAgainWhenItsNodeHasBeenRemoved(t *testing.T) {
	at := newSite(t)
	s := at.session()
	k := must(zklock.NewKeyed(s, at.path))
	long := strings.Repeat("/long", 1000)
	for range 2 {
		h, err := k.Acquire(t.Context(), long)
		require.NoError(t, err)
		requireListed(t, s, at.path, []string{long})
		require.NoError(t, h.Release(t.Context()))
		eventually(t, "the servers to remove what nobody uses", func() bool {
			there, _, err := at.conn.Exists(k.PathOf(long))
			return err == nil && !there
		})
	}
}

func TestWhoWaitsForAKeyIsListedBehindItsHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		k, theirs := must(zklock.NewKeyed(s, "/keys")), must(zklock.NewKeyed(b.session("there"), "/keys"))
		h := must(k.Acquire(t.Context(), "a/b"))
		got := begin(func() *zklock.Hold { return must(theirs.Acquire(t.Context(), "a/b")) })
		time.Sleep(time.Second)
		// Not of a Keyed: no key has such a name.
		must(must(zklock.New(s, "/keys/job-0123456789")).Acquire(t.Context()))
		found, err := zklock.List(t.Context(), s, "/keys")
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Equal(t, "/keys/job-0123456789", found[1].Path)
		require.False(t, found[1].HasKey)
		require.Equal(t, "/keys/a%2Fb", found[0].Path)
		require.Equal(t, "a/b", found[0].Key)
		require.Len(t, found[0].Contenders, 2)
		require.Equal(t, h.Node(), found[0].Contenders[0].Node)
		require.True(t, found[0].Contenders[0].Held)
		require.False(t, found[0].Contenders[1].Held)

		require.NoError(t, zklock.Revoke(t.Context(), s, k.PathOf("a/b")))
		<-h.Revoked()
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-got).Err())
		_, err = zklock.List(t.Context(), s, "/nowhere")
		require.NoError(t, err)
		_, err = zklock.List(done(), s, "/keys")
		require.EqualError(t, err, "zklock: list /keys: context canceled")
		require.ErrorContains(t, errOf(zklock.List(t.Context(), s, "keys")), "is relative")
		require.ErrorContains(t, errOf(zklock.List(t.Context(), nil, "/keys")), "make it with Connect")
	})
}

func TestAListSaysWhichKeysMayNotBeRead(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		owner, s := b.session("owner", zklock.WithAuth("digest", []byte("ann:secret"))), b.session("here")
		_, err := s.Conn().Create("/keys", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		must(must(zklock.NewKeyed(owner, "/keys", zklock.WithACL(zk.AuthACL(zk.PermAll)))).Acquire(t.Context(), "hidden"))
		must(must(zklock.NewKeyed(owner, "/keys")).Acquire(t.Context(), "open"))
		found, err := zklock.List(t.Context(), s, "/keys")
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "zklock: list /keys: /keys/hidden: ")
		require.Len(t, found, 1)
		require.Equal(t, "open", found[0].Key)
	})
}

func TestThePathsOfKeysAreBelowTheChroot(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr() + "/app"}, longSession, zklock.WithDialer(b.server.Client("here").Dial))
		require.NoError(t, err)
		defer s.Close()
		k := must(zklock.NewKeyed(s, "/keys"))
		h := must(k.Acquire(t.Context(), "a"))
		require.True(t, strings.HasPrefix(h.Node(), "/app/keys/a/"), h.Node())
		require.Equal(t, "/keys/a", k.PathOf("a"))
		require.ErrorIs(t, errOf(must(zklock.New(s, k.PathOf("a"))).TryAcquire(t.Context())), zklock.ErrLocked)
		found, err := zklock.List(t.Context(), s, "/keys")
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "/keys/a", found[0].Path)
		require.ErrorContains(t, errOf(k.Acquire(t.Context(), "a"[:0]+strings.Repeat("k", recipe.LongestKey+1))),
			"zklock: acquire /app/keys: the key has 65537 bytes: it must not have more than 65536")
	})
}

func TestKeysOfOneStripeExcludeEachOther(t *testing.T) {
	const n = 4
	inBubble(t, func(t *testing.T, b *bubble) {
		s, other := b.session("here"), b.session("there")
		k := must(zklock.NewKeyed(s, "/keys", zklock.WithStripes(n), zklock.WithRetention(time.Minute)))
		theirs := must(zklock.NewKeyed(other, "/keys", zklock.WithStripes(n)))
		byStripe := make(map[string][]string)
		for i := range 100 {
			key := fmt.Sprint(i)
			byStripe[k.PathOf(key)] = append(byStripe[k.PathOf(key)], key)
		}
		require.Len(t, byStripe, n)
		paths := slices.Sorted(maps.Keys(byStripe))
		same, another := byStripe[paths[0]], byStripe[paths[1]][0]

		var node string
		require.NoError(t, k.Do(t.Context(), same[0], func(ctx context.Context) error {
			node = zklock.HoldFrom(ctx).Node()
			require.ErrorIs(t, k.Do(ctx, same[1], nothing), zklock.ErrDeadlock)
			require.ErrorIs(t, errOf(theirs.TryAcquire(ctx, same[1])), zklock.ErrLocked)
			require.NoError(t, k.Do(ctx, another, nothing))
			return nil
		}))
		found, err := zklock.List(t.Context(), other, "/keys")
		require.NoError(t, err)
		require.Len(t, found, 2, "they are kept")
		require.Equal(t, paths[0], found[0].Path)
		require.False(t, found[0].HasKey)
		require.NoError(t, k.Do(t.Context(), same[1], func(ctx context.Context) error {
			require.Equal(t, node, zklock.HoldFrom(ctx).Node(), "the stripe's node was kept")
			return nil
		}))
	})
}

func TestAKeyedHeedsOrRefusesEachOption(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		for option, c := range map[string]struct {
			zklock.Option
			refused string
		}{
			"WithACL":            {zklock.WithACL(zk.WorldACL(zk.PermAll)), ""},
			"WithData":           {zklock.WithData([]byte("me")), ""},
			"WithTrace":          {zklock.WithTrace(new(zklock.Trace)), ""},
			"WithMinHold":        {zklock.WithMinHold(time.Second), ""},
			"WithLossGrace":      {zklock.WithLossGrace(time.Second), ""},
			"WithHandoff(2)":     {zklock.WithHandoff(2), ""},
			"WithStripes(65536)": {zklock.WithStripes(65536), ""},
			"WithStripes(65537)": {zklock.WithStripes(65537), "from 1 to 65536"},
			"WithStripes(0)":     {zklock.WithStripes(0), "from 1 to 65536"},
			"WithoutOwner":       {zklock.WithoutOwner(), "no goroutine owns"},
			"WithRetention(1s)":  {zklock.WithRetention(time.Second), "it goes with WithStripes"},
			"WithData, WithACL":  {zklock.WithData(make([]byte, 1<<20)), "ZooKeeper accepts"},
		} {
			k, err := zklock.NewKeyed(s, "/keys", c.Option)
			if c.refused != "" {
				require.ErrorContains(t, err, "zklock: new /keys: "+option+": ")
				require.ErrorContains(t, err, c.refused)
				continue
			}
			require.NoError(t, err, option)
			require.NoError(t, k.Do(t.Context(), "a", nothing), option)
			time.Sleep(2 * time.Second) // a minimum
		}
		for kind, err := range map[string]error{
			"Locker":    errOf(zklock.New(s, b.path, zklock.WithStripes(2))),
			"RWLocker":  errOf(zklock.NewRW(s, b.path, zklock.WithStripes(2))),
			"Semaphore": errOf(zklock.NewSemaphore(s, b.path, 2, zklock.WithStripes(2))),
		} {
			require.ErrorContains(t, err, "WithStripes(2): it is for a Keyed alone", kind)
		}
		require.ErrorContains(t, errOf(zklock.NewKeyed(s, "keys")), "is relative")
		require.ErrorContains(t, errOf(zklock.NewKeyed(nil, "/keys")), "make it with Connect")
		require.ErrorContains(t, errOf(zklock.NewKeyed(s, "/keys", zklock.WithHandoff(2), nil)), "option 2 is nil")
	})
}
