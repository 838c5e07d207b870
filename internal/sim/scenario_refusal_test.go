package sim

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestF35ARefusalByAnACLIsToldOnceAndNotTriedAgain(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		_, err := b.Conn().Create(path, nil, zk.FlagContainer, zk.WorldACL(zk.PermRead))
		require.NoError(t, err)
		start, before := time.Now(), total(s.Requests())
		_, err = a.Acquire(context.Background())
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.False(t, a.TryLock())
		require.Less(t, time.Since(start), soon)
		require.Less(t, total(s.Requests())-before, 10)
		s.empty(0)
	})
}

func TestF35CredentialsThatAreRefusedEndConnect(t *testing.T) {
	play(t, 1, func(s *stage) {
		ctx, cancel := context.WithTimeout(context.Background(), anAge)
		defer cancel()
		start := time.Now()
		_, err := zklock.Connect(ctx, s.PipeAddrs(), timeout,
			zklock.WithDialer(s.Client("a").Dial), zklock.WithAuth("nonsense", []byte("x")))
		require.ErrorIs(t, err, zk.ErrAuthFailed)
		require.ErrorContains(t, err, "nonsense")
		require.Less(t, time.Since(start), timeout)
	})
}

func total[K comparable](counts map[K]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}
