package membership_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

func TestAMemberIsThereFromJoinToLeave(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "one")
		require.Equal(t, []string{m.ID()}, server.Children(path))
		require.Equal(t, s.ID(), owner(server, m))
		require.Equal(t, membership.State{Registered: true, Session: s.ID(), Registrations: 1}, m.State())

		require.NoError(t, m.Leave(t.Context()))
		require.Empty(t, server.Children(path))
		require.False(t, m.State().Registered)
		require.NoError(t, m.Leave(t.Context()), "leaving again")
		require.Error(t, m.Update(t.Context(), nil), "who has left has no data")
	})
}

func TestAMemberJoinsAgainWhenItsSessionHasExpired(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		var mu sync.Mutex
		var log bytes.Buffer
		var states []membership.State
		s := connect(t, server)
		m := join(t, s, "one",
			membership.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
			membership.WithNotify(func(state membership.State) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, state)
			}))
		first := s.ID()
		require.True(t, server.ExpireSession(first))
		eventually(t, "the second registration", func() bool { return m.State().Registrations == 2 })
		synctest.Wait()

		require.NotEqual(t, first, s.ID())
		require.Equal(t, s.ID(), owner(server, m))
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, states, 3)
		require.Equal(t, membership.State{Registered: true, Session: first, Registrations: 1}, states[0])
		require.False(t, states[1].Registered)
		require.Error(t, states[1].Err)
		require.Equal(t, m.State(), states[2])
		for _, line := range []string{"membership: registered", "membership: registration lost", "registrations=2"} {
			require.Contains(t, log.String(), line)
		}
	})
}

func TestAMemberJoinsAgainWhenItsNodeOrItsPathWasDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		m := join(t, connect(t, server), "one")
		operator := connect(t, server).Conn()
		require.NoError(t, operator.Delete(path+"/"+m.ID(), -1))
		_ = operator.Delete(path, -1) // the member may be quicker
		eventually(t, "the second registration", func() bool { return m.State().Registrations >= 2 })
		require.NotZero(t, owner(server, m))
	})
}

func TestALostReplyIsNoErrorAndMakesNoSecondMember(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		join(t, s, "first") // makes the path
		lost := func(op zktest.Op, call func()) {
			fault := server.DropReply(op, zktest.OnPath(path+"/member-"))
			call()
			<-fault.Struck()
		}
		var m *membership.Member
		lost(zktest.OpCreate, func() { m = join(t, s, "second") })
		require.Len(t, server.Children(path), 2)
		lost(zktest.OpSetData, func() { require.NoError(t, m.Update(t.Context(), []byte("ready"))) })
		require.Equal(t, 1, m.State().Registrations)
		require.Equal(t, s.ID(), owner(server, m))
		lost(zktest.OpDelete, func() { require.NoError(t, m.Leave(t.Context())) })
		require.Len(t, server.Children(path), 1)
	})
}

func TestANodeThatAnEndedSessionHasLeftIsReplaced(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "one")
		first := s.ID()
		// The next create is executed in the session that follows, where nobody
		// waits for it: the member finds the node there and adopts it.
		fault := server.DropReply(zktest.OpCreate, zktest.OnPath(path+"/member-"))
		require.True(t, server.ExpireSession(first))
		eventually(t, "the second registration", func() bool { return m.State().Registrations == 2 })
		<-fault.Struck()
		require.Equal(t, s.ID(), owner(server, m))

		// Another's node under that name is not the member's.
		node := path + "/" + m.ID()
		other := connect(t, server)
		_, err := other.Conn().Multi(
			&zk.DeleteRequest{Path: node, Version: -1},
			&zk.CreateRequest{Path: node, Flags: zk.FlagEphemeral, Acl: everybody})
		require.NoError(t, err)
		eventually(t, "the member to have its place again", func() bool { return owner(server, m) == s.ID() })
	})
}

func TestAnUpdateIsSeenAndKeptThroughTheNextRegistration(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "starting")
		seen := watch(t, connect(t, server))
		seen.await(t, "starting")
		require.NoError(t, m.Update(t.Context(), []byte("ready")))
		seen.await(t, "ready")
		require.True(t, server.ExpireSession(s.ID()))
		eventually(t, "the second registration", func() bool { return m.State().Registrations == 2 })
		seen.await(t, "ready")
		require.Equal(t, m.ID(), seen.latest()[0].ID, "the name stays")
	})
}

func TestAnUpdateToWhatIsInPlaceIsConfirmedByTheServerToo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		m := join(t, connect(t, server), "one")
		require.Zero(t, server.Requests()[zktest.OpSetData], "what Join has created is not written too")
		server.DropRequest(zktest.OpSetData)
		server.Refuse(true)
		updated := update(t, t.Context(), m, "one")
		time.Sleep(timeout / 2)
		require.Empty(t, updated, "there is no server to confirm it")
		server.Refuse(false)
		require.NoError(t, <-updated)
	})
}

// unwritable is the access list of a node whose data nobody may write.
var unwritable = membership.WithACL(zk.WorldACL(zk.PermAll &^ zk.PermWrite))

func TestAnUpdateThatIsRefusedLeavesTheMemberAsItWas(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "old", unwritable)
		for sent := range 2 {
			require.ErrorIs(t, m.Update(t.Context(), []byte("new")), zk.ErrNoAuth)
			time.Sleep(time.Minute)
			require.Equal(t, sent+1, server.Requests()[zktest.OpSetData], "it is asked for once")
		}
		require.Equal(t, membership.State{Registered: true, Session: s.ID(), Registrations: 1}, m.State())
		require.True(t, server.ExpireSession(s.ID()))
		time.Sleep(timeout)
		require.Equal(t, 2, m.State().Registrations)
		watch(t, s).await(t, "old")
		setACL(t, s.Conn(), path+"/"+m.ID(), zk.PermAll)
		require.NoError(t, m.Update(t.Context(), []byte("new")))
		watch(t, s).await(t, "new")
	})
}

// update begins an Update, and returns what it will return.
func update(t *testing.T, ctx context.Context, m *membership.Member, text string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- m.Update(ctx, []byte(text)) }()
	synctest.Wait()
	return result
}

// busied has m wait for the answer to an update, which comes when the fault is released.
func busied(t *testing.T, server *zktest.Server, m *membership.Member) *zktest.Fault {
	answer := server.HoldReply(zktest.OpSetData)
	update(t, t.Context(), m, "busy")
	<-answer.Struck()
	return answer
}

// The refusal was for the data, as that of a quota is: here, by an access list that lasts as long as the update.
func TestBehindAnUpdateThatIsRefusedTheOneBeforeItIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		ended   bool
		refused int
	}{
		"its call waits":                 {false, 1},
		"its call has ended":             {true, 1},
		"its call has ended, behind two": {true, 2},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			s, operator := connect(t, server), connect(t, server)
			m := join(t, s, "old")
			busy := busied(t, server, m)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			update(t, ctx, m, "older")
			before := update(t, ctx, m, "before")
			if c.ended {
				end()
				require.ErrorIs(t, <-before, context.Canceled)
			}
			var later []<-chan error
			for range c.refused {
				later = append(later, update(t, t.Context(), m, "refused"))
			}
			setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll&^zk.PermWrite)
			held := server.HoldReply(zktest.OpSetData)
			busy.Release()
			for i, last := range slices.Backward(later) {
				<-held.Struck()
				refused := held
				if i > 0 {
					held = server.HoldReply(zktest.OpSetData)
				} else {
					setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll)
				}
				refused.Release()
				require.ErrorIs(t, <-last, zk.ErrNoAuth)
			}
			if !c.ended {
				require.NoError(t, <-before)
			}
			time.Sleep(timeout / 2) // less than an interval
			require.Equal(t, 2+c.refused, server.Requests()[zktest.OpSetData])
			watch(t, s).await(t, "before")
		})
	}
}

func TestUpdatesWhoseCallsHaveEndedDoNotPileUp(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "old")
		busy := busied(t, server, m)
		setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll&^zk.PermWrite)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			require.ErrorIs(t, m.Update(ended, []byte("new")), context.Canceled)
		}
		busy.Release()
		time.Sleep(timeout)
		require.Equal(t, 2, server.Requests()[zktest.OpSetData])
	})
}

// What a member may not do any more it may have done already.
func TestAnUpdateIsNotRefusedIfItIsInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*zktest.Server) *zktest.Fault
		err  error
		text string
	}{
		"its answer is lost":  {func(s *zktest.Server) *zktest.Fault { return s.DropReply(zktest.OpSetData) }, nil, "new"},
		"it was not executed": {func(s *zktest.Server) *zktest.Fault { return s.DropRequest(zktest.OpSetData) }, zk.ErrNoAuth, "old"},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			s, operator := connect(t, server), connect(t, server)
			m := join(t, s, "old")
			fault := c.lose(server)
			server.Refuse(true)
			updated := update(t, t.Context(), m, "new")
			<-fault.Struck()
			setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll&^zk.PermWrite)
			server.Refuse(false)
			require.ErrorIs(t, <-updated, c.err)
			time.Sleep(3 * timeout)
			watch(t, s).await(t, c.text)
		})
	}
}

// The server uses up the watch of who may not read the node, and says nothing.
func TestAMemberThatMayNotReadItsNodeWritesItOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "old")
		setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll&^zk.PermRead)
		require.NoError(t, m.Update(t.Context(), []byte("new")), "it is in place")
		require.ErrorIs(t, m.Update(t.Context(), []byte("newer")), zk.ErrNoAuth)
		time.Sleep(10 * timeout)
		require.Equal(t, 1, server.Requests()[zktest.OpSetData])
		require.True(t, m.State().Registered)
		setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll)
		watch(t, s).await(t, "new")
		require.NoError(t, m.Update(t.Context(), []byte("newest")))
		watch(t, s).await(t, "newest")
	})
}

func TestWhatOthersWriteWhileAMemberMayNotReadItsNodeIsUndone(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, m *membership.Member) string{
		"within an interval": func(*testing.T, *membership.Member) string { return "ours" },
		"by an update": func(t *testing.T, m *membership.Member) string {
			require.NoError(t, m.Update(t.Context(), []byte("new")))
			return "new"
		},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			s, operator := connect(t, server), connect(t, server)
			m := join(t, s, "ours")
			writeUnseen(t, operator.Conn(), m.ID(), "theirs")
			text := next(t, m)
			watch(t, operator).await(t, text)
		})
	}
}

// What a member has with that access list, only a session with the operator's auth may write.
var (
	operatorsAuth = zklock.WithAuth("digest", []byte("operator:secret"))
	operatorsACL  = membership.WithACL(append(zk.WorldACL(zk.PermAll&^zk.PermWrite), zk.DigestACL(zk.PermAll, "operator", "secret")...))
)

func TestWhatAMemberMayNotUndoIsTriedAgainEachInterval(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server, operatorsAuth)
		m := join(t, s, "ours", operatorsACL)
		write(t, operator.Conn(), path+"/"+m.ID(), "theirs")
		time.Sleep(10*timeout + timeout/2)
		require.Equal(t, 1+1+10, server.Requests()[zktest.OpSetData], "the operator's, one at once, and one an interval")
		require.Equal(t, membership.State{Registered: true, Session: s.ID(), Registrations: 1}, m.State())
		setACL(t, operator.Conn(), path+"/"+m.ID(), zk.PermAll)
		watch(t, s).await(t, "ours")
	})
}

// The create of the next session has done what the write had no answer for.
func TestAWriteWithoutAnAnswerIsForgottenWithItsNode(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "old", unwritable)
		fault := server.DropReply(zktest.OpSetData)
		updated := make(chan error, 1)
		go func() { updated <- m.Update(t.Context(), []byte("new")) }()
		<-fault.Struck()
		require.True(t, server.ExpireSession(s.ID()))
		require.NoError(t, <-updated)
		require.Equal(t, 1, server.Requests()[zktest.OpSetData])
		require.Equal(t, membership.State{Registered: true, Session: owner(server, m), Registrations: 2}, m.State())
	})
}

func TestCallsReturnWhenTheirContextEnds(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "one")
		server.Freeze()
		calls := map[string]func(context.Context) error{
			"Join": func(ctx context.Context) error {
				_, err := membership.Join(ctx, s, path, nil)
				return err
			},
			"Update": func(ctx context.Context) error { return m.Update(ctx, []byte("new")) },
			"Watch": func(ctx context.Context) error {
				for range membership.Watch(ctx, s, path) {
					require.Fail(t, "nobody can know the members")
				}
				return ctx.Err()
			},
			"Leave": m.Leave, // the last, or there is nothing to update
		}
		for _, name := range []string{"Join", "Update", "Watch", "Leave"} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			start := time.Now()
			require.ErrorIs(t, calls[name](ctx), context.DeadlineExceeded, name)
			require.Less(t, time.Since(start), 150*time.Millisecond, name)
			cancel()
		}
		server.Thaw()
		eventually(t, "what was begun to end", func() bool { return len(server.Children(path)) == 0 })
	})
}

func TestACallThatEndsWhileThereIsNoConnectionSaysWhyThereIsNone(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "one")
		server.Refuse(true)
		server.Cut()
		for name, call := range map[string]func(context.Context) error{
			"join": func(ctx context.Context) error {
				_, err := membership.Join(ctx, s, path, nil)
				return err
			},
			"update": func(ctx context.Context) error { return m.Update(ctx, []byte("new")) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := call(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "zklock: "+name+" "+path+": context deadline exceeded (no connection, last cause: ")
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, m.Leave(ctx), "(no connection, last cause: ")
	})
}

func TestAnAbandonedJoinLeavesNoMember(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		join(t, s, "first")
		held := server.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/member-"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := membership.Join(ctx, s, path, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, server.Children(path), 2, "the create was executed")
		held.Release()
		eventually(t, "the node to be deleted", func() bool { return len(server.Children(path)) == 1 })
	})
}

func TestARefusalIsAnError(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		closed := func(path string, perms int32) string {
			_, err := s.Conn().Create(path, nil, zk.FlagPersistent, zk.WorldACL(perms))
			require.NoError(t, err)
			return path
		}
		_, err := membership.Join(t.Context(), s, closed("/unwritable", zk.PermRead), nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "join /unwritable")
		for _, err = range membership.Watch(t.Context(), s, closed("/unreadable", zk.PermCreate)) {
		}
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "watch /unreadable")
	})
}

func TestOfAJoinThatFailsNobodyHears(t *testing.T) {
	for name, fail := range map[string]func(*testing.T, *zktest.Server) context.Context{
		"it is refused": func(t *testing.T, server *zktest.Server) context.Context {
			_, err := connect(t, server).Conn().Create("/app", nil, 0, zk.WorldACL(zk.PermRead))
			require.NoError(t, err)
			return t.Context()
		},
		"its ctx ends": func(t *testing.T, server *zktest.Server) context.Context {
			server.Freeze()
			time.AfterFunc(2*time.Second, server.Thaw)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		},
	} {
		runInBubble(t, name, func(t *testing.T, server *zktest.Server) {
			var states []membership.State
			var log bytes.Buffer
			s := connect(t, server)
			_, err := membership.Join(fail(t, server), s, path, nil, notes(&states), membership.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			require.Error(t, err)
			time.Sleep(time.Minute)
			require.Empty(t, states)
			require.Empty(t, log.String())
		})
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		refuse := func(want string, s *zklock.Session, path string, data []byte, opts ...membership.Option) {
			t.Helper()
			_, err := membership.Join(t.Context(), s, path, data, opts...)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "zklock: join "+path+": ")
		}
		refuse("session is nil", nil, path, nil)
		refuse("must start with /", s, "servers", nil)
		refuse("bytes of data", s, path, make([]byte, 1<<20))
		refuse("WithACL", s, path, nil, membership.WithACL(nil))
		refuse("access list of 90000 entries", s, path, nil, membership.WithACL(slices.Repeat(zk.WorldACL(zk.PermAll), 90000)))
		refuse("WithLogger", s, path, nil, membership.WithLogger(nil))
		refuse("WithNotify", s, path, nil, membership.WithNotify(nil))
		refuse("WithInterval", s, path, nil, membership.WithInterval(0))
		for _, err := range membership.Watch(t.Context(), s, "servers") {
			require.ErrorContains(t, err, "must start with /")
			require.ErrorContains(t, err, "zklock: watch servers: ")
		}
		require.ErrorContains(t, join(t, s, "one").Update(t.Context(), make([]byte, 1<<20)), "bytes of data")
	})
}

func TestLeavingAgainTellsOfTheRefusalUntilTheSessionIsClosed(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		var states []membership.State
		m := join(t, s, "a", notes(&states))
		setACL(t, s.Conn(), path, zk.PermRead)
		for range 2 {
			require.ErrorIs(t, m.Leave(t.Context()), zk.ErrNoAuth)
		}
		require.True(t, m.State().Registered)
		require.NoError(t, s.Close())
		require.NoError(t, m.Leave(t.Context()))
		require.Empty(t, server.Children(path))
		synctest.Wait()
		require.Equal(t, membership.State{Registrations: 1, Err: zklock.ErrClosed}, m.State())
		require.Equal(t, m.State(), states[len(states)-1])
	})
}

func TestAnUpdateOfAMemberThatHasLeftSaysSoAlsoAfterTheEndOfItsSession(t *testing.T) {
	inSession(t, func(t *testing.T, _ *zktest.Server, s *zklock.Session) {
		m, stays := join(t, s, "a"), join(t, s, "b")
		require.NoError(t, m.Leave(t.Context()))
		err := m.Update(t.Context(), nil)
		require.ErrorIs(t, err, membership.ErrLeft)
		require.ErrorContains(t, err, "update "+path)
		require.Equal(t, membership.State{Registrations: 1, Err: membership.ErrLeft}, m.State())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			require.ErrorIs(t, m.Update(ended, nil), membership.ErrLeft, "more than that its ctx has ended")
		}
		require.NoError(t, s.Close())
		require.ErrorIs(t, m.Update(t.Context(), nil), membership.ErrLeft)
		require.ErrorIs(t, stays.Update(t.Context(), nil), zklock.ErrClosed)
	})
}

// Nobody sees to the node any more, but it is there as long as its session.
func TestAMemberThatTheServerKeptOnTheListIsRegisteredAsLongAsItsSession(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		var states []membership.State
		m := join(t, s, "a", notes(&states))
		setACL(t, s.Conn(), path, zk.PermRead)
		require.ErrorIs(t, m.Leave(t.Context()), zk.ErrNoAuth)
		synctest.Wait()
		require.Equal(t, membership.State{Registered: true, Session: owner(server, m), Registrations: 1}, m.State())
		server.Cut() // which is no end of the session
		time.Sleep(timeout / 2)
		require.True(t, m.State().Registered)
		server.ExpireSession(s.ID())
		time.Sleep(timeout / 2)
		synctest.Wait()
		require.Empty(t, server.Children(path))
		require.Equal(t, membership.State{Registrations: 1, Err: membership.ErrLeft}, m.State())
		require.Equal(t, m.State(), states[len(states)-1])
		require.NoError(t, m.Leave(t.Context()), "it is off the list")
	})
}

// The server refuses the delete before it looks for the node.
func TestAMemberWhoseNodeWentWithItsSessionHasLeftThoughItMayNotDelete(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "a")
		join(t, operator, "b") // the path stays
		setACL(t, operator.Conn(), path, zk.PermRead|zk.PermAdmin)
		require.True(t, server.ExpireSession(s.ID()))
		time.Sleep(timeout / 2)
		require.ErrorIs(t, m.State().Err, zk.ErrNoAuth)
		require.NoError(t, m.Leave(t.Context()))
		require.Equal(t, membership.State{Registrations: 1, Err: membership.ErrLeft}, m.State())
	})
}

// The server would hang up, and all that the session holds would wait for it.
func TestDataThatDoesNotFitARequestBelowTheChrootIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr() + "/" + strings.Repeat("c", 1000)}, timeout, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = membership.Join(ctx, s, "/m", make([]byte, 1<<20-512))
		require.ErrorContains(t, err, "bytes of data")
	})
}

// Whatever the operator took away, the user has left.
func TestAMemberThatMayNotLeaveLeavesAsSoonAsItMay(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "a")
		setACL(t, operator.Conn(), path, zk.PermAll&^zk.PermDelete)
		require.ErrorIs(t, m.Leave(t.Context()), zk.ErrNoAuth)
		before := server.Requests()[zktest.OpDelete]
		for range 60 {
			time.Sleep(30 * time.Second)
			server.Cut() // which is no reason to wait for longer
			time.Sleep(30 * time.Second)
		}
		require.Equal(t, []string{m.ID()}, server.Children(path))
		require.InDelta(t, 60, server.Requests()[zktest.OpDelete]-before, 10)
		setACL(t, operator.Conn(), path, zk.PermAll)
		time.Sleep(time.Minute)
		require.Empty(t, server.Children(path))
		require.Equal(t, membership.State{Registrations: 1, Err: membership.ErrLeft}, m.State())
		require.NoError(t, m.Leave(t.Context()))
	})
}

// It says nothing of the member.
func TestAServerThatErrsOnceIsAskedAgain(t *testing.T) {
	for _, code := range []int32{-1, -5, -127} {
		runInBubble(t, fmt.Sprint(code), func(t *testing.T, server *zktest.Server) {
			refused := server.RefuseRequest(zktest.OpCreate, code)
			m := join(t, connect(t, server), "a")
			<-refused.Struck()
			refused = server.RefuseRequest(zktest.OpGetData, code)
			watch(t, connect(t, server), membership.WithInterval(time.Hour)).await(t, "a")
			<-refused.Struck()
			refused = server.RefuseRequest(zktest.OpDelete, code)
			require.NoError(t, m.Leave(t.Context()))
			<-refused.Struck()
			require.Empty(t, server.Children(path))
		})
	}
}

// The member is off the list as far as it knows: its node has been made anew, and the answer is on its way.
func TestAMemberThatTheServerKeepsOnTheListUnseenHasNotLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		m := join(t, s, "a")
		setACL(t, operator.Conn(), path, zk.PermAll&^zk.PermDelete)
		held := server.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/member-"))
		require.True(t, server.ExpireSession(s.ID()))
		<-held.Struck()
		left := make(chan error, 1)
		go func() { left <- m.Leave(t.Context()) }()
		synctest.Wait()
		held.Release()
		require.ErrorIs(t, <-left, zk.ErrNoAuth)
		require.Equal(t, s.ID(), owner(server, m), "it is on the list")
		synctest.Wait()
		require.NotErrorIs(t, m.State().Err, membership.ErrLeft)
		require.True(t, server.ExpireSession(s.ID()))
		time.Sleep(timeout)
		require.Equal(t, membership.State{Registrations: 1, Err: membership.ErrLeft}, m.State())
		require.NoError(t, m.Leave(t.Context()), "it is off the list")
	})
}
