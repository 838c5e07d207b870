package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zktest"
)

// instance is a service that runs until it is stopped.
type instance struct {
	*service
	leads chan *election.Term // has each term as it begins
	works atomic.Bool
	fail  chan error    // has the work fail
	slow  chan struct{} // closed, unless the work is to take its time when it has to end
	stop  context.CancelFunc
	ended chan error
}

// ends has the instance end as it should.
func (i *instance) ends(t *testing.T) {
	t.Helper()
	i.stop()
	require.NoError(t, <-i.ended)
}

// start runs an instance in virtual time.
func start(t *testing.T, server *zktest.Server, name string) *instance {
	t.Helper()
	c, err := parse([]string{"-servers", server.PipeAddr(), "-value", name}, io.Discard)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	i := &instance{
		service: newService(c, slog.New(slog.DiscardHandler)), leads: make(chan *election.Term, 10),
		fail: make(chan error), slow: make(chan struct{}), stop: stop, ended: make(chan error, 1),
	}
	close(i.slow)
	i.options = []zklock.SessionOption{zklock.WithDialer(server.Client(name).Dial)}
	i.work = func(ctx context.Context, term *election.Term) error {
		i.works.Store(true)
		defer i.works.Store(false)
		i.leads <- term
		select {
		case err := <-i.fail:
			return err
		case <-ctx.Done():
			<-i.slow
			return context.Cause(ctx)
		}
	}
	go func() { i.ended <- i.run(ctx) }()
	t.Cleanup(stop)
	return i
}

func (i *instance) get(path string) (code int, body string) {
	answer := httptest.NewRecorder()
	i.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t)) })
}

func TestOneInstanceWorksAndAnotherWhenItIsToEndAndHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		first := start(t, server, "first")
		<-first.leads
		second, third := start(t, server, "second"), start(t, server, "third")
		synctest.Wait()
		require.False(t, second.works.Load() || third.works.Load())
		first.slow = make(chan struct{})
		first.stop()
		time.Sleep(time.Minute)
		require.True(t, first.works.Load(), "it takes its time")
		require.False(t, second.works.Load() || third.works.Load())
		close(first.slow)
		require.NoError(t, <-first.ended)
		select {
		case <-second.leads:
		case <-third.leads:
		case <-time.After(time.Second):
			require.Fail(t, "nobody leads, until the session of the first one ends")
		}
		second.ends(t)
		third.ends(t)
	})
}

func TestAnInstanceThatHasLostItsSessionWorksAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		i := start(t, server, "one")
		term := <-i.leads
		server.ExpireSession(i.session.Load().ID())
		<-term.Lost()
		again := <-i.leads
		require.Greater(t, again.Token(), term.Token())
		i.ends(t)
	})
}

func TestAnErrorOfTheWorkEndsTheInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		i := start(t, server, "one")
		<-i.leads
		failed := errors.New("the disk is full")
		i.fail <- failed
		require.ErrorIs(t, <-i.ended, failed)
		next := start(t, server, "next")
		<-next.leads
		next.ends(t)
	})
}

func TestAnInstanceIsReadyWhenItCouldLeadAndAliveAllTheTime(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		probe := func(i *instance, want int) {
			t.Helper()
			code, why := i.get("/readyz")
			require.Equal(t, want, code, why)
			code, _ = i.get("/livez")
			require.Equal(t, http.StatusOK, code)
		}
		network := server.Client("one")
		network.Block(zktest.ToServer)
		i := start(t, server, "one")
		probe(i, http.StatusServiceUnavailable)
		network.Unblock()
		<-i.leads
		probe(i, http.StatusOK)
		other := start(t, server, "other")
		synctest.Wait()
		probe(other, http.StatusOK)
		network.Block(zktest.ToServer)
		probe(i, http.StatusServiceUnavailable)
		network.Unblock()
		i.ends(t)
		probe(i, http.StatusServiceUnavailable)
		other.ends(t)
	})
}

func TestTheMetricsTellWhoLeads(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		i := start(t, server, "one")
		<-i.leads
		synctest.Wait()
		code, metrics := i.get("/metrics")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, metrics, `zklock_held{path="/service/leader"} 1`+"\n")
		require.Contains(t, metrics, "zklock_connected 1\n")
		i.ends(t)
	})
}

func TestWhatLeadsIsSeenByWhoAsks(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		i := start(t, server, "10.0.0.7")
		<-i.leads
		synctest.Wait()
		leader, err := election.Leader(t.Context(), i.session.Load(), i.path)
		require.NoError(t, err)
		require.Equal(t, "10.0.0.7", string(leader.Value))
		i.ends(t)
	})
}

func TestTheManifestsFlagsAreTheServices(t *testing.T) {
	manifest, err := os.ReadFile("deploy/service.yaml")
	require.NoError(t, err)
	var args []string
	for _, m := range regexp.MustCompile(`(?m)^ +- (-[a-z].*)$`).FindAllStringSubmatch(string(manifest), -1) {
		args = append(args, m[1])
	}
	c, err := parse(args, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"zk-0.zk:2181", "zk-1.zk:2181", "zk-2.zk:2181"}, c.servers)
	require.Equal(t, 10*time.Second, c.timeout)
	_, err = parse([]string{"-servers", "a:1", "-no-such-flag"}, io.Discard)
	require.Error(t, err)
	_, err = parse(nil, io.Discard)
	require.Error(t, err, "no servers")
}
