package lock_test

import (
	"context"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// Who gives up waiting for permits gives its turn back, which must not wait for the connection.
func TestAWaiterForPermitsEndsWithItsContextThoughNothingCanBeWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var stuck atomic.Bool
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
			zklock.WithDialer(stalling(b.server.Dial, func([]byte) bool { return stuck.Load() })))
		require.NoError(t, err)
		defer s.Close()
		sem, err := zklock.NewSemaphore(s, b.path, 1)
		require.NoError(t, err)
		_, err = sem.Acquire(t.Context(), 1)
		require.NoError(t, err)

		const limit = time.Second
		time.AfterFunc(limit/2, func() { stuck.Store(true) })
		defer stuck.Store(false)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err = sem.Acquire(ctx, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.InDelta(t, limit, time.Since(began), float64(limit/100))
	})
}

func TestPermitsThatCannotBeTakenAtOnceKeepTheirTurn(t *testing.T) {
	taking := func(at *site) zktest.Filter { return zktest.OnPath(at.path + "/leases/") }
	lost := func(lose func(*zktest.Server, zktest.Op, ...zktest.Filter) *zktest.Fault) func(*site, *zktest.Server, *zktest.Fault) {
		return func(at *site, server *zktest.Server, held *zktest.Fault) {
			f := lose(server, zktest.OpMulti, taking(at))
			held.Release()
			receive(at.t, f.Struck(), "the fault")
		}
	}
	for name, fault := range map[string]func(*site, *zktest.Server, *zktest.Fault){
		"the reply is lost":   lost((*zktest.Server).DropReply),
		"the request is lost": lost((*zktest.Server).DropRequest),
		"the server removes the empty container": func(at *site, _ *zktest.Server, held *zktest.Fault) {
			require.NoError(at.t, at.conn.Delete(at.path+"/leases", -1))
			held.Release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			at := siteAt(t, server.Addr())
			s := at.sessionVia(server.Addr(), longSession)
			other := at.semaphore(at.sessionVia(server.Addr(), longSession), 1)
			require.NoError(t, take(t, other, 1).Release(t.Context())) // makes the container
			held := server.HoldRequest(zktest.OpMulti, taking(at), zktest.OnSession(s.ID()))
			early := at.permits(at.semaphore(s, 1), 1)
			receive(t, held.Struck(), "the transaction on its way")
			late := at.permits(other, 1)
			at.awaitLine(2)
			fault(at, server, held)
			var h *zklock.Hold
			next := late
			select {
			case h = <-early:
			case h = <-late:
				next = early
				t.Error("who asked later was served first")
			case <-time.After(patience):
				require.FailNow(t, "nobody was served")
			}
			require.NoError(t, h.Release(t.Context()))
			require.NoError(t, receive(t, next, "the other's turn").Release(t.Context()))
		})
	}
}

func TestTheMostDataThatIsAcceptedFitsEveryRequest(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	s := at.sessionVia(server.Addr(), longSession)
	most := func(accepts func(data []byte) error) []byte {
		return make([]byte, sort.Search(1<<20, func(n int) bool { return accepts(make([]byte, n+1)) != nil }))
	}

	permit := zklock.WithData(most(func(data []byte) error {
		_, err := zklock.NewSemaphore(s, at.path, 1, zklock.WithData(data))
		return err
	}))
	take(t, at.semaphore(s, 1, permit), 1)

	beside := zklock.WithData(most(func(data []byte) error {
		_, err := zklock.NewRW(s, at.path+"/rw", zklock.WithData(data))
		return err
	}))
	rw, err := zklock.NewRW(s, at.path+"/rw", beside)
	require.NoError(t, err)
	ctx := within(t, patience)
	require.NoError(t, rw.LockContext(ctx))
	require.NoError(t, rw.RLockContext(ctx))
}
