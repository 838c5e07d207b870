package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

// Whoever may have written the mark, and whoever has seen the leader before.
func TestAMarkThatAsksForTheLeadershipDoesNotWipeTheValue(t *testing.T) {
	for name, mark := range map[string]func(t *testing.T, s *zklock.Session){
		"ours": func(t *testing.T, s *zklock.Session) { require.NoError(t, zklock.Revoke(t.Context(), s, path)) },
		"Curator's": func(t *testing.T, s *zklock.Session) {
			leader, err := election.Leader(t.Context(), s, path)
			require.NoError(t, err)
			_, err = s.Conn().Set(leader.Node, []byte("__REVOKE__"), -1)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				s := connect(t, server)
				term := campaign(t, s, "one")
				o := observe(t, connect(t, server))
				require.Equal(t, []string{"one"}, o.sees())
				mark(t, s)
				<-term.Revoked()
				require.Empty(t, o.sees())
				require.NoError(t, term.Err(), "by hand, the leader decides")
				late := observe(t, connect(t, server))
				require.Equal(t, []string{"one"}, late.sees())
				require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
				require.Equal(t, []string{"two"}, o.sees())
				found, err := zklock.Inspect(t.Context(), s, path)
				require.NoError(t, err)
				require.True(t, found[0].Revoked, "what was asked for stays")
				require.Contains(t, string(found[0].Data), "pid=")
			})
		})
	}
}

// It is asked more than once, and each time that wipes its value.
func TestEachMarkOfCuratorsIsPutRight(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, place := connect(t, server), server.Client("leader")
		leading := connect(t, server, zklock.WithDialer(place.Dial))
		term := campaign(t, leading, "one")
		o := observe(t, connect(t, server))
		mark := func() {
			_, err := s.Conn().Set(path+"/"+server.Children(path)[0], []byte("__REVOKE__"), -1)
			require.NoError(t, err)
		}
		outage := func() {
			place.Block(zktest.ToServer)
			place.Cut()
			time.Sleep(timeout * 3 / 8)
			place.Unblock()
		}
		for _, before := range []func(){func() {}, func() {}, outage, func() {
			require.NoError(t, term.Proclaim(t.Context(), []byte("one")))
		}} {
			before()
			time.Sleep(time.Second)
			mark()
			time.Sleep(time.Second)
			require.Equal(t, []string{"one"}, observe(t, connect(t, server)).sees())
		}
		require.Equal(t, []string{"one"}, o.sees())
		require.True(t, term.Valid())
		require.Zero(t, requests(server, func() { time.Sleep(30 * time.Second) }))
		require.NoError(t, leading.Close(), "what heeds the marks keeps no session from its end")
	})
}

// A mark says what it has read; the leader may have written in between.
func TestAMarkDoesNotUndoWhatIsProclaimedMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), server.Client("operator")
		term, o := campaign(t, s, "old"), observe(t, s)
		require.Equal(t, []string{"old"}, o.sees())
		asking := connect(t, server, zklock.WithDialer(operator.Dial))
		held := server.HoldRequest(zktest.OpSetData, zktest.OnClient(operator))
		asked := make(chan error, 1)
		go func() { asked <- zklock.Revoke(t.Context(), asking, path) }()
		<-held.Struck()
		require.NoError(t, term.Proclaim(t.Context(), []byte("new")))
		held.Release()
		require.NoError(t, <-asked)
		<-term.Revoked()
		require.Equal(t, []string{"new"}, o.sees())
	})
}

// The leader's first look at its node is still to come.
func TestAProclaimKeepsAMarkThatTheLeaderHasNotHeardOfYet(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, s, "old")
		require.NoError(t, zklock.Revoke(t.Context(), connect(t, server), path))
		require.False(t, latch.IsClosed(term.Revoked()), "it has heard of it")
		require.NoError(t, term.Proclaim(t.Context(), []byte("new")))
		within(t, timeout, term.Revoked())
	})
}

func TestAProclaimEndsWithItsTerm(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		term := campaign(t, connect(t, server), "one")
		server.Freeze()
		defer server.Thaw()
		proclaimed := make(chan error, 1)
		go func() { proclaimed <- term.Proclaim(context.WithoutCancel(t.Context()), []byte("late")) }()
		<-term.Lost()
		err := within(t, 50*time.Millisecond, proclaimed)
		require.ErrorIs(t, err, zklock.ErrLost)
		require.NotErrorIs(t, err, context.Canceled, "no context of the caller's has ended")
	})
}

func TestAValueIsItsLeadersToKeep(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		first, next := []byte("first"), []byte("next")
		e := newElection(t, s, election.WithValue(first))
		clear(first)
		term, err := e.Campaign(t.Context())
		require.NoError(t, err)
		o := observe(t, s)
		require.Equal(t, []string{"first"}, o.sees())
		require.NoError(t, term.Proclaim(t.Context(), next))
		clear(next)
		_, err = s.Conn().Set(o.latest().Node, []byte("__REVOKE__"), -1) // so that it is written once more
		require.NoError(t, err)
		require.Equal(t, []string{"next"}, o.sees())
		require.NoError(t, term.Proclaim(t.Context(), nil))
		require.Equal(t, []string{""}, o.sees())
	})
}

// A Proclaim that its caller has left is behind no later one.
func TestTheLastProclaimStands(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, s, "zero")
		held := server.HoldRequest(zktest.OpSetData)
		require.ErrorIs(t, term.Proclaim(limited(t), []byte("one")), context.DeadlineExceeded)
		two := make(chan error, 1)
		go func() { two <- term.Proclaim(t.Context(), []byte("two")) }()
		synctest.Wait()
		over, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, term.Proclaim(over, []byte("three")), context.Canceled)
		held.Release()
		require.NoError(t, <-two)
		synctest.Wait()
		leader, err := election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, "two", string(leader.Value))
	})
}

// A write of which nobody knows whether it was done is made sure of.
func TestAProclaimWhoseAnswerIsLostIsConfirmed(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, s, "zero")
		lost := server.DropReply(zktest.OpSetData)
		require.NoError(t, term.Proclaim(t.Context(), []byte("one")))
		<-lost.Struck()
		leader, err := election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, "one", string(leader.Value))
		require.Equal(t, 1, requests(server, func() { require.NoError(t, term.Proclaim(t.Context(), []byte("two"))) }), "the lock's own")
		_, err = s.Conn().Set(leader.Node, nil, -1) // so that the leader has to read it
		require.NoError(t, err)
		synctest.Wait()
		lost = server.DropReply(zktest.OpGetData)
		require.NoError(t, term.Proclaim(t.Context(), []byte("three")))
		<-lost.Struck()
		leader, err = election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, "three", string(leader.Value))
	})
}

// Whether the write was done cannot be read.
func TestAProclaimThatCannotBeConfirmedFails(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, s, "zero")
		_, err := s.Conn().SetACL(path+"/"+server.Children(path)[0], zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(t, err)
		server.DropReply(zktest.OpSetData)
		require.ErrorIs(t, term.Proclaim(t.Context(), []byte("one")), zk.ErrNoAuth)
	})
}
