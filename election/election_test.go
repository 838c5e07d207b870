package election_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/zktest"
)

func TestRunLeadsAgainAfterALossAndItsContextEndsBeforeAnotherCanLead(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		first := connect(t, server)
		r := run(t, newElection(t, first, election.WithValue([]byte("first"))))
		o := observe(t, connect(t, server))
		term := within(t, time.Second, r.leads)
		require.Equal(t, "first", last(o.sees()))
		require.NoError(t, term.Err())
		require.True(t, term.Valid())
		next := run(t, newElection(t, connect(t, server), election.WithValue([]byte("next"))))
		synctest.Wait()
		server.ExpireSession(first.ID())
		second := within(t, timeout, next.leads)
		require.True(t, second.Valid())
		require.Greater(t, second.Token(), term.Token())
		<-term.Lost()
		require.False(t, term.Valid())
		require.ErrorIs(t, term.Err(), zklock.ErrLost)
		require.ErrorIs(t, term.Proclaim(t.Context(), nil), zklock.ErrLost)
		require.ErrorIs(t, term.Resign(t.Context()), zklock.ErrLost)
		require.Equal(t, "next", last(o.sees()))
		next.stop()
		require.ErrorIs(t, <-next.ended, context.Canceled)
		require.True(t, within(t, timeout, r.leads).Valid(), "it leads again")
		require.Equal(t, "first", last(o.sees()))
	})
}

func last(all []string) string { return all[len(all)-1] }

func TestTheLeadershipIsGivenUpOnlyWhenTheFunctionHasReturned(t *testing.T) {
	for name, end := range map[string]struct {
		by    func(t *testing.T, s *zklock.Session, term *election.Term)
		cause error
	}{
		"it resigns": {func(t *testing.T, _ *zklock.Session, term *election.Term) {
			require.NoError(t, term.Resign(t.Context()))
			require.NoError(t, term.Resign(t.Context()))
			require.ErrorIs(t, term.Proclaim(t.Context(), []byte("late")), zklock.ErrReleased)
		}, zklock.ErrReleased},
		"it is asked to": {func(t *testing.T, s *zklock.Session, _ *election.Term) {
			require.NoError(t, zklock.Revoke(t.Context(), s, path))
		}, election.ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				s := connect(t, server)
				e := newElection(t, s, election.WithValue([]byte("first")), election.WithPause(time.Minute))
				ctx, cancel := context.WithCancel(t.Context())
				terms, ended, back, cause := make(chan *election.Term, 9), make(chan error, 1), make(chan struct{}), error(nil)
				go func() {
					ended <- e.Run(ctx, func(ctx context.Context, term *election.Term) error {
						terms <- term
						<-ctx.Done()
						cause = context.Cause(ctx)
						<-back
						return nil
					})
				}()
				term := <-terms
				synctest.Wait() // its value is written beside the function
				o, next := observe(t, connect(t, server)), run(t, newElection(t, connect(t, server), election.WithValue([]byte("next"))))
				require.Equal(t, []string{"first"}, o.sees())
				end.by(t, s, term)
				time.Sleep(time.Hour)
				require.ErrorIs(t, cause, end.cause)
				require.Equal(t, end.cause, term.Err())
				require.False(t, term.Valid())
				require.Empty(t, next.leads)
				require.Empty(t, o.sees())
				close(back)
				within(t, time.Second, next.leads)
				require.NoError(t, term.Resign(t.Context()))
				require.Equal(t, "next", last(o.sees()))
				next.stop()
				require.Equal(t, nobody, last(o.sees()), "it does not campaign before its pause is over")
				again := within(t, 61*time.Second, terms)
				require.Equal(t, "first", last(o.sees()))
				require.Greater(t, again.Token(), term.Token())
				cancel()
				require.ErrorIs(t, <-ended, context.Canceled)
				require.Equal(t, nobody, last(o.sees()))
			})
		})
	}
}

func TestWhatTheFunctionReturnsWhileItLeadsEndsRun(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		broken := errors.New("broken")
		for _, returned := range []error{nil, broken} {
			r := run(t, newElection(t, s))
			<-r.leads
			r.done <- returned
			require.Equal(t, returned, <-r.ended)
		}
		var told []error
		r := run(t, newElection(t, s, election.WithRetry(func(err error) bool {
			told = append(told, err)
			return len(told) < 3
		})))
		for range 3 {
			<-r.leads
			begun := time.Now()
			r.done <- broken
			synctest.Wait()
			if len(told) < 3 {
				<-r.leads
				require.InDelta(t, time.Second, time.Since(begun), float64(50*time.Millisecond))
				r.leads <- nil
			}
		}
		require.Equal(t, broken, <-r.ended)
		require.Equal(t, []error{broken, broken, broken}, told)
		require.NoError(t, newElection(t, s, election.WithRetry(func(err error) bool { return err == nil })).Run(limited(t),
			func(context.Context, *election.Term) error { return nil }), "what is done is not tried again")
		_, err := election.Leader(t.Context(), s, path)
		require.ErrorIs(t, err, election.ErrNoLeader)
		require.Empty(t, server.Children(path))
	})
}

func TestRunSaysWhyItHasEnded(t *testing.T) {
	broken := errors.New("broken")
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, connect(t, server), "another")
		err := newElection(t, s).Run(limited(t), func(context.Context, *election.Term) error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "zklock: run "+path+": lock is held by another: context deadline exceeded: zk: node does not exist")
		require.NoError(t, term.Resign(t.Context()))

		for _, returned := range []error{nil, context.Canceled, context.DeadlineExceeded, broken} {
			ctx, stop := context.WithCancel(t.Context())
			err = newElection(t, s).Run(ctx, func(ctx context.Context, _ *election.Term) error {
				stop()
				<-ctx.Done()
				return returned
			})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, returned == broken, errors.Is(err, broken))
			require.Equal(t, returned == broken, strings.Contains(err.Error(), "the function returned"))
			require.ErrorContains(t, err, "run "+path)
		}

		allow := func(acl []zk.ACL) {
			_, err := s.Conn().SetACL(path, acl, -1)
			require.NoError(t, err)
		}
		synctest.Wait() // the last one's node goes in the background
		allow(zk.WorldACL(zk.PermAll &^ zk.PermDelete))
		err = newElection(t, s).Run(t.Context(), func(context.Context, *election.Term) error { return nil })
		require.ErrorIs(t, err, zk.ErrNoAuth, "its node stays for now")
		require.ErrorContains(t, err, "run "+path)
		allow(zk.WorldACL(zk.PermAll &^ zk.PermCreate))
		err = newElection(t, s).Run(t.Context(), func(context.Context, *election.Term) error { return nil })
		require.ErrorIs(t, err, zk.ErrNoAuth, "no other try helps")
		allow(everybody)
	})
}

// No timer has run yet that would tell of it.
func TestATermThatHasOutlastedItsLeaseInAPauseOfTheProcessIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		var c clock.Clock
		s, err := zklock.Connect(clock.With(t.Context(), &c), []string{server.PipeAddr()}, timeout, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		term := campaign(t, s, "one")
		c.Stall(2 * timeout)
		require.False(t, term.Valid())
		require.ErrorIs(t, term.Err(), zklock.ErrLost)
		terms := 0
		require.NoError(t, newElection(t, s).Run(t.Context(), func(context.Context, *election.Term) error {
			if terms++; terms == 1 {
				c.Stall(2 * timeout)
			}
			return nil
		}))
		require.Equal(t, 2, terms, "what was done after the loss does not count")
	})
}

func TestALossBehindTheEndOfTheWorkIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		r := run(t, newElection(t, s))
		<-r.leads
		held := server.HoldRequest(zktest.OpDelete)
		r.done <- nil
		<-held.Struck()
		server.ExpireSession(s.ID())
		require.NoError(t, within(t, timeout, r.ended))
	})
}

func TestTheEndOfTheContextBehindTheEndOfTheWorkIsNone(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		returned error
		retry    bool
		ended    error
	}{
		"done":              {nil, false, nil},
		"failed":            {broken, false, broken},
		"failed, once more": {broken, true, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				var asked error
				r := run(t, newElection(t, connect(t, server), election.WithRetry(func(err error) bool {
					asked = err
					return c.retry
				})))
				<-r.leads
				held := server.HoldRequest(zktest.OpDelete)
				r.done <- c.returned
				<-held.Struck()
				r.stop()
				err := within(t, time.Second, r.ended)
				held.Release()
				require.ErrorIs(t, err, c.ended)
				require.Equal(t, c.returned, asked)
				require.Empty(t, r.leads, "there is no other campaign")
			})
		})
	}
}

// It would wait behind its own node, as all others do.
func TestALeadershipThatMayNotBeGivenUpEndsRun(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *zklock.Session, *election.Term, *running){
		"it resigns": func(t *testing.T, _ *zklock.Session, term *election.Term, _ *running) {
			require.NoError(t, term.Resign(t.Context()))
		},
		"it is asked to": func(t *testing.T, s *zklock.Session, _ *election.Term, _ *running) {
			require.NoError(t, zklock.Revoke(t.Context(), s, path))
		},
		"it fails": func(_ *testing.T, _ *zklock.Session, _ *election.Term, r *running) { r.done <- errors.New("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				s := connect(t, server)
				r := run(t, newElection(t, s, election.WithACL(zk.WorldACL(zk.PermAll&^zk.PermDelete)),
					election.WithRetry(func(error) bool { return true })))
				end(t, s, <-r.leads, r)
				err := within(t, time.Minute, r.ended)
				require.ErrorIs(t, err, zk.ErrNoAuth)
				require.ErrorContains(t, err, "run "+path)
				require.Equal(t, name == "it fails", strings.Contains(err.Error(), "the function returned: broken"))
			})
		})
	}
}

// Its node goes, so that it can be a candidate again. The leader may have yet to say that it leads.
func TestALossByARefusalIsFollowedByAnotherCampaign(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		r := run(t, newElection(t, s))
		term := <-r.leads
		_, err := s.Conn().SetACL(path+"/"+server.Children(path)[0], zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(t, err)
		require.Greater(t, within(t, time.Minute, r.leads).Token(), term.Token())
		require.ErrorIs(t, term.Err(), zklock.ErrLost)
		require.ErrorIs(t, term.Err(), zk.ErrNoAuth)
	})
}

func TestAFunctionThatPanicsOrExitsGivesTheLeadershipUp(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		e := newElection(t, connect(t, server))
		require.PanicsWithValue(t, "on purpose", func() {
			_ = e.Run(t.Context(), func(context.Context, *election.Term) error { panic("on purpose") })
		})
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = e.Run(t.Context(), func(context.Context, *election.Term) error { runtime.Goexit(); return nil })
		}()
		<-gone
		synctest.Wait()
		require.Empty(t, server.Children(path))
	})
}

func TestNothingEndsRunButWhatNoTryCanMend(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		e := newElection(t, s)
		r := run(t, e)
		<-r.leads
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-r.ended, zklock.ErrClosed)
		_, err := e.Campaign(t.Context())
		require.ErrorIs(t, err, zklock.ErrClosed)
		require.ErrorContains(t, err, "campaign "+path)
	})
}

func TestACampaignInsideATermWouldWaitForItself(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		e := newElection(t, connect(t, server))
		require.ErrorIs(t, e.Run(t.Context(), func(ctx context.Context, term *election.Term) error {
			require.Equal(t, term.Token(), zklock.HoldFrom(ctx).Token())
			_, err := e.Campaign(ctx)
			return err
		}), zklock.ErrDeadlock)
	})
}

// Nobody would hear of a leader that may not write its own node.
func TestALeaderThatNobodyCouldSeeIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		e := newElection(t, connect(t, server), election.WithACL(zk.WorldACL(zk.PermAll&^zk.PermWrite)))
		_, err := e.Campaign(t.Context())
		require.ErrorIs(t, err, zk.ErrNoAuth)
		err = e.Run(limited(t), func(ctx context.Context, _ *election.Term) error {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), zk.ErrNoAuth)
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.NotContains(t, err.Error(), "the function returned", "it says the same")
		synctest.Wait()
		require.Empty(t, server.Children(path))
	})
}

func TestACampaignThatEndsLeavesNoCandidate(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		term := campaign(t, connect(t, server), "first")
		_, err := newElection(t, connect(t, server)).Campaign(limited(t))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Len(t, server.Children(path), 1)
		require.NoError(t, term.Resign(t.Context()))
		require.NoError(t, term.Resign(t.Context()))
		require.Equal(t, zklock.ErrReleased, term.Err())
		require.ErrorIs(t, term.Proclaim(t.Context(), nil), zklock.ErrReleased)
		require.Empty(t, server.Children(path))
	})
}

func TestACampaignGoesOnIfTheLeadershipIsLostBeforeItIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		held := server.HoldRequest(zktest.OpSetData)
		leads := make(chan *election.Term, 1)
		go func() { leads <- campaign(t, s, "one") }()
		<-held.Struck()
		server.ExpireSession(s.ID())
		held.Release()
		require.True(t, within(t, timeout, leads).Valid())
	})
}

func TestBadArgumentsAreRefusedByName(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		for want, opts := range map[string][]election.Option{
			"WithPause(-1s)": {election.WithPause(-time.Second)},
			"WithRetry":      {election.WithRetry(nil)},
			"WithACL":        {election.WithACL(nil)},
			"option 1 is":    {nil},
			"1 MiB":          {election.WithValue(make([]byte, 1<<20))},
		} {
			_, err := election.New(s, path, opts...)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "new "+path)
		}
		_, err := election.New(nil, path)
		require.ErrorContains(t, err, "session")
		e := newElection(t, s)
		require.ErrorContains(t, e.Run(t.Context(), nil), "the function is nil")
		term := campaign(t, s, "")
		require.ErrorContains(t, term.Proclaim(t.Context(), make([]byte, 1<<20)), "1 MiB")
		require.NoError(t, term.Err())
		_, err = election.Leader(t.Context(), s, "no/slash")
		require.ErrorContains(t, err, `leader no/slash: path "no/slash" is relative`)
		var none context.Context
		for _, call := range []func(){
			func() { _, _ = election.Leader(none, s, path) },
			func() { election.Observe(none, s, path) },
			func() { _ = term.Proclaim(none, nil) },
			func() { _ = term.Resign(none) },
		} {
			require.PanicsWithValue(t, "zklock: the context is nil", call)
		}
		require.NoError(t, term.Err(), "it has not been resigned")
		for _, err := range election.Observe(t.Context(), s, "no/slash") {
			require.ErrorContains(t, err, `observe no/slash: path "no/slash" is relative`)
		}
		for _, none := range []*election.Election{nil, {}} {
			require.ErrorContains(t, none.Run(t.Context(), nil), "make it with New")
			_, err := none.Campaign(t.Context())
			require.ErrorContains(t, err, "make it with New")
		}
	})
}

func TestATraceTellsOfCandidatesAndTerms(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		var told []string
		note := func(event string) func(zklock.TraceInfo) {
			return func(zklock.TraceInfo) { told = append(told, event) }
		}
		e := newElection(t, connect(t, server), election.WithTrace(&zklock.Trace{
			Enqueued: note("enqueued"), Acquired: note("acquired"), Released: note("released"),
		}))
		term, err := e.Campaign(t.Context())
		require.NoError(t, err)
		require.NoError(t, term.Resign(t.Context()))
		require.Equal(t, "enqueued acquired released", strings.Join(told, " "))
	})
}

// The lease is over, and the session is not: it was cut off for no longer.
func TestWithALossGraceNobodyElseLeadsUntilTheFunctionHasReturned(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		place := server.Client("leader")
		e := newElection(t, connect(t, server, zklock.WithDialer(place.Dial)), election.WithLossGrace(time.Minute))
		back, leads := make(chan struct{}), make(chan *election.Term, 9)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- e.Run(ctx, func(_ context.Context, term *election.Term) error {
				leads <- term
				<-back
				return nil
			})
		}()
		term := <-leads
		next := run(t, newElection(t, connect(t, server)))
		synctest.Wait()
		place.Block(zktest.ToServer)
		<-term.Lost()
		place.Unblock()
		time.Sleep(10 * timeout)
		require.Empty(t, next.leads)
		back <- struct{}{}
		within(t, timeout, next.leads)
		next.stop()
		<-leads
		stop()
		back <- struct{}{}
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
