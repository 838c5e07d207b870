package lock_test

import (
	"context"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A server cuts the connection at a request of more than 1 MiB, each time anew.
func TestMorePermitsThanARequestCanCreateAreRefused(t *testing.T) {
	const size = 1000
	for name, c := range map[string]struct {
		below string
		data  int
	}{
		"much data":   {"", 1100},
		"a long path": {"/" + strings.Repeat("x", 1100), 0},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			at.path += c.below
			s := at.session()
			held := must(must(zklock.New(s, at.path+"-lock")).Acquire(t.Context()))
			sem := at.semaphore(s, size, zklock.WithData(make([]byte, c.data)))
			_, err := sem.Acquire(within(t, patience), size)
			require.ErrorContains(t, err, at.path)
			says := regexp.MustCompile(`1000 permits: one call can take (\d+) at most`).FindStringSubmatch(err.Error())
			require.NotNil(t, says, err)
			most, err := strconv.Atoi(says[1])
			require.NoError(t, err)
			_, err = sem.Acquire(within(t, patience), most+1)
			require.ErrorContains(t, err, says[1]+" at most")

			h := take(t, sem, most)
			require.Len(t, at.leases(), most)
			require.NoError(t, h.Release(t.Context()))
			require.NoError(t, held.Err())
			require.NoError(t, held.Release(t.Context()))
		})
	}
}

func TestAThousandPermitsAreTheMostForOneCall(t *testing.T) {
	at := newSite(t)
	_, err := at.semaphore(at.session(), 2000).Acquire(within(t, patience), 1001)
	require.ErrorContains(t, err, "1001 permits: one call can take 1000 at most")
	require.Empty(t, at.leases())
}

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

// However the deadline falls: here into a look at the permits.
func TestAWaiterForPermitsSaysThatTheyAreTakenAlsoIfItsTimeIsUpWhileItLooks(t *testing.T) {
	for name, inLine := range map[string]bool{"one of them has come back": false, "it has come to its turn": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				others, s := b.semaphore(b.session("elsewhere"), 2), b.session("here")
				held, rest := take(t, others, 1), take(t, others, 1)
				change := func() { require.NoError(t, held.Release(t.Context())) }
				if inLine {
					ahead, leave := context.WithCancel(t.Context())
					go others.Acquire(ahead, 1)
					change = leave
					time.Sleep(time.Second)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				returned := make(chan error, 1)
				go func() {
					_, err := b.semaphore(s, 2).Acquire(ctx, 2)
					returned <- err
				}()
				time.Sleep(time.Second / 2) // it waits
				looking := b.server.HoldRequest(zktest.OpGetChildren2, zktest.OnSession(s.ID()), zktest.OnPath(b.path+"/leases"))
				change()
				<-looking.Struck()
				err := <-returned
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, zklock.ErrLocked)
				looking.Release()
				require.NoError(t, rest.Release(t.Context()))
			})
		})
	}
}

func TestPermitsThatCannotBeTakenAtOnceKeepTheirTurn(t *testing.T) {
	lost := func(lose func(*zktest.Server) *zktest.Fault) func(*site, *zktest.Server, *zktest.Fault) {
		return func(at *site, server *zktest.Server, held *zktest.Fault) {
			f := lose(server)
			held.Release()
			receive(at.t, f.Struck(), "the fault")
		}
	}
	for name, fault := range map[string]func(*site, *zktest.Server, *zktest.Fault){
		"the reply is lost": lost(func(server *zktest.Server) *zktest.Fault {
			return server.DropReply(zktest.OpMulti)
		}),
		"the request is lost": lost(func(server *zktest.Server) *zktest.Fault {
			return server.DropRequest(zktest.OpMulti)
		}),
		"the server removes the empty container": func(at *site, _ *zktest.Server, held *zktest.Fault) {
			require.NoError(at.t, at.conn.Delete(at.path+"/leases", -1))
			held.Release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			at := siteAt(t, server.Addr())
			first := at.semaphore(at.sessionVia(server.Addr(), longSession), 1)
			says := take(t, first, 1)                // the size
			eventually(t, "its proof", func() bool { // which would be held instead
				return server.Requests()[zktest.OpMulti] > 1
			})
			require.NoError(t, says.Release(t.Context()))
			held := server.HoldRequest(zktest.OpMulti, zktest.OnPath(at.path))
			early := at.permits(first, 1)
			receive(t, held.Struck(), "the transaction on its way")
			late := at.permits(at.semaphore(at.sessionVia(server.Addr(), longSession), 1), 1)
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
