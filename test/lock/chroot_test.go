package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
)

// chrooted connects with a chroot.
func (b *bubble) chrooted(chroot string) *zklock.Session {
	b.t.Helper()
	s := must(zklock.Connect(b.t.Context(), []string{b.server.PipeAddr() + chroot}, longSession,
		zklock.WithDialer(b.server.Client("chrooted").Dial)))
	b.t.Cleanup(func() { s.Close() })
	return s
}

func TestAllPathsOfASessionWithAChrootAreBelowIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, whole := b.chrooted("/deep/app"), b.session("whole")
		l, same := must(zklock.New(s, "/lock")), must(zklock.New(whole, "/deep/app/lock"))
		require.Equal(t, "/deep/app/lock", l.Path())
		h := must(l.Acquire(t.Context()))
		require.Regexp(t, "^/deep/app/lock/", h.Node())
		require.False(t, same.TryLock(), "it is the same lock")
		_, err := l.TryAcquire(t.Context())
		var e *zklock.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "/deep/app/lock", e.Path)
		require.Len(t, must(s.Conn().Multi(h.Check())), 1, "the connection's paths are whole")

		found := must(zklock.Inspect(t.Context(), s, "/lock"))
		require.Len(t, found, 1)
		require.Equal(t, h.Node(), found[0].Node)
		require.NoError(t, zklock.Revoke(t.Context(), s, "/lock"))
		<-h.Revoked()
		require.NoError(t, zklock.Revoke(t.Context(), s, h.Node()), "a node is told whole")
		require.NoError(t, h.Release(t.Context()))

		rw := must(must(zklock.NewRW(s, "/rw")).RAcquire(t.Context()))
		require.Regexp(t, "^/deep/app/rw/", rw.Node())
		sem := must(zklock.NewSemaphore(s, "/sem", 2))
		require.Equal(t, "/deep/app/sem", sem.Path())
		permit := must(sem.Acquire(t.Context(), 1))
		require.Regexp(t, "^/deep/app/sem/leases/", permit.Node())
		require.Len(t, must(zklock.Inspect(t.Context(), s, "/sem")), 1)

		member := must(membership.Join(t.Context(), s, "/servers", []byte("data")))
		require.Contains(t, b.server.Children("/deep/app/servers"), member.ID())
		for peers, err := range membership.Watch(t.Context(), s, "/servers") {
			require.NoError(t, err)
			require.Len(t, peers, 1)
			break
		}
		require.Equal(t, []string{"deep"}, without(b.server.Children("/"), "zookeeper"))
	})
}

func without(names []string, name string) (others []string) {
	for _, n := range names {
		if n != name {
			others = append(others, n)
		}
	}
	return others
}

func TestErrorsOfInspectAndRevokeNameTheWholePath(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.chrooted("/app")
		for name, err := range map[string]error{
			"Inspect": errOf(zklock.Inspect(done(), s, "/lock")), "Revoke": zklock.Revoke(t.Context(), s, "/lock"),
		} {
			var e *zklock.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, "/app/lock", e.Path, name)
		}
	})
}
