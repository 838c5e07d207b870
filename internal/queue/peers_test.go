package queue

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const (
	curatorsLatch = "_c_89828215-0848-46eb-9811-070aa416b844-latch-"
	kazoosLock    = "4f1c2d3e5a6b47988a9b0c1d2e3f4a5b__lock__"
)

// beside has a lock asked for behind another client's node, and returns what it is told and the log's warnings.
func beside(t *testing.T, stem string, o Options) (warnings []string, err error) {
	server := zktest.NewServer(t)
	s, log := connectTold(t, server)
	takeAway := other(t, server, zk.FlagEphemeralSequential, stem)
	for range 2 {
		ctx, end := context.WithCancel(t.Context())
		came := ask(ctx, New(s, "/lock", recipe.Exclusive, o).Acquire)
		if end(); len(came) > 0 {
			return nil, (<-came).err
		}
		synctest.Wait()
	}
	takeAway[0]()
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=WARN") {
			warnings = append(warnings, line)
		}
	}
	return warnings, nil
}

func TestTheLogTellsOnceForEachPathOfAClientThatMayNotWait(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		warnings, err := beside(t, kazoosLock, defaults())
		require.NoError(t, err)
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], `msg="zklock: another client in the queue may not wait for this lock" path=/lock node=/lock/`+kazoosLock+"0000000000")
		require.Contains(t, warnings[0], `extra_lock_patterns=[\"-lock-\"]`)
	})
}

func TestALockIsRefusedBesideWhatNeverWaitsForIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		_, err := beside(t, curatorsLatch, defaults())
		require.ErrorIs(t, err, errNeverWaits)
		require.ErrorContains(t, err, "Curator's LeaderLatch is in use at /lock/"+curatorsLatch+"0000000000")
	})
}

func TestWhoIsUsedToBothUsesThePathAllTheSame(t *testing.T) {
	for _, stem := range []string{curatorsLatch, kazoosLock} {
		virtual.Test(t, func(t *testing.T) {
			o := defaults()
			o.OneSided = true
			warnings, err := beside(t, stem, o)
			require.NoError(t, err)
			require.Empty(t, warnings)
		})
	}
}
