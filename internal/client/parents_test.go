package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

var open = zk.WorldACL(zk.PermAll)

// paths are those of a server's nodes.
func paths(server *zktest.Server) (all []string) {
	for _, n := range server.Nodes() {
		all = append(all, n.Path)
	}
	return all
}

// logged returns a client of the server, whose log is kept.
func logged(t *testing.T, server *zktest.Server) (*Client, *book) {
	b := new(book)
	c := connect(t, server, server.Dial)
	synctest.Wait() // until nobody reads it
	c.Log.logger = slog.New(b)
	return c, b
}

func TestParentsAreMadeAsContainersWithTheACLAndTakenBackByWhoMadeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		p := c.Parents("/a/b/c", -1)
		p.Leave()
		ctx, v := c.WatchOver(t.Context(), "/lock")
		defer v.End()
		require.NoError(t, p.Make(ctx, zk.WorldACL(zk.PermAll&^zk.PermAdmin)))
		require.Equal(t, "the parents to be made", v.step)
		require.Equal(t, []string{"/a", "/a/b", "/a/b/c"}, paths(server))
		for _, n := range server.Nodes() {
			require.Empty(t, n.Data)
			require.Equal(t, []zktest.ACL{{Perms: zk.PermAll &^ zk.PermAdmin, Scheme: "world", ID: "anyone"}}, n.ACL)
		}
		require.Zero(t, server.Requests()[zktest.OpCreate], "containers are asked for")
		require.True(t, c.containers.are(served))

		again := c.Parents("/a/b/c", -1)
		require.NoError(t, again.Make(t.Context(), open))
		again.Leave()
		c.work.Wait()
		require.Len(t, paths(server), 3, "they are somebody else's")
		p.Leave()
		c.work.Wait()
		require.Equal(t, []string{"/a", "/a/b"}, paths(server), "the last has had no child")
		p.Leave()
		c.work.Wait()
		require.Equal(t, 2, server.Requests()[zktest.OpDelete], "it is gone, which is as good")
	})
}

func TestParentsThatAreInUseStay(t *testing.T) {
	for name, tc := range map[string]struct {
		version int32
		use     func(c *zk.Conn) error
		stays   bool
	}{
		"somebody has a node there":                        {-1, func(c *zk.Conn) error { _, err := c.Create("/a/node", nil, 0, open); return err }, true},
		"somebody has written to them":                     {0, func(c *zk.Conn) error { _, err := c.Set("/a", []byte("x"), -1); return err }, true},
		"somebody has written to them, which is no matter": {-1, func(c *zk.Conn) error { _, err := c.Set("/a", []byte("x"), -1); return err }, false},
		"nobody has": {0, func(*zk.Conn) error { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				c := connect(t, server, server.Dial)
				p := c.Parents("/a", tc.version)
				require.NoError(t, p.Make(t.Context(), open))
				require.NoError(t, tc.use(c.Conn))
				p.Leave()
				c.work.Wait()
				require.Equal(t, tc.stays, len(paths(server)) > 0)
				require.Equal(t, 1, server.Requests()[zktest.OpDelete])
			})
		})
	}
}

func TestWhatIsLeftOfParentsGoesThoughTheConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		held := server.HoldReply(zktest.OpCreateContainer)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := c.Parents("/a", -1)
		require.ErrorIs(t, p.Make(ctx, open), context.DeadlineExceeded)
		p.Leave()
		synctest.Wait()
		require.Equal(t, 1, c.cleanups.count)
		require.Zero(t, server.Requests()[zktest.OpDelete], "nobody knows yet whether there is something")
		lost := server.DropRequest(zktest.OpDelete)
		held.Release()
		<-lost.Struck()
		c.work.Wait()
		require.Empty(t, paths(server))
	})
}

func TestParentsThatCannotBeMadeSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		_, err := c.Conn.Create("/closed", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermCreate))
		require.NoError(t, err)
		for _, path := range []string{"/closed/a", "/closed/a/b"} {
			ctx, v := c.WatchOver(t.Context(), "/lock")
			require.ErrorIs(t, c.Parents(path, -1).Make(ctx, open), zk.ErrNoAuth)
			require.ErrorIs(t, v.err, zk.ErrNoAuth)
			v.End()
		}
		require.Equal(t, []string{"/closed"}, paths(server))
	})
}

func TestParentsThatSomebodyElseHasMadeMeanwhileAreLeftToHim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		other := connect(t, server, server.Dial)
		first := server.HoldReply(zktest.OpCreateContainer, zktest.OnPath("/a/b")) // there is no parent yet
		again := server.HoldRequest(zktest.OpCreateContainer, zktest.OnPath("/a/b"))
		p, made := c.Parents("/a/b", -1), make(chan error, 1)
		go func() { made <- p.Make(t.Context(), open) }()
		<-first.Struck()
		first.Release()
		<-again.Struck()
		_, err := other.Conn.Create("/a/b", nil, 0, open)
		require.NoError(t, err)
		again.Release()
		require.NoError(t, <-made)
		require.NoError(t, other.Conn.Delete("/a/b", -1))
		p.Leave()
		c.work.Wait()
		require.Equal(t, []string{"/a"}, paths(server))
	})
}

func TestParentsThatCannotBeMadeWholeAreTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		p := c.Parents("/a/b", -1)
		require.ErrorIs(t, p.Make(t.Context(), zk.WorldACL(zk.PermAll&^zk.PermCreate)), zk.ErrNoAuth)
		require.Equal(t, []string{"/a"}, paths(server))
		p.Leave()
		c.work.Wait()
		require.Empty(t, paths(server))
	})
}

func TestAnyAnswerToARequestForAContainerSaysThatTheyAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		for path, answer := range map[string]error{"/closed": zk.ErrNodeExists, "/no/parent": zk.ErrNoNode, "/closed/a": zk.ErrNoAuth, "/new": nil} {
			c := connect(t, server, server.Dial)
			_, _ = c.Conn.Create("/closed", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermCreate))
			require.Equal(t, answer, c.containers.ask(path, open))
			require.True(t, c.containers.are(served), path)
		}
	})
}

func TestTheRootIsNotLookedForBelowAnother(t *testing.T) {
	var asked []string
	create := func(dir string) error { asked = append(asked, dir); return zk.ErrNoNode }
	require.ErrorIs(t, makeParents("/a/b", create), zk.ErrNoNode) // of a chroot that is not there
	require.Equal(t, []string{"/a/b", "/a", "/"}, asked)
	asked = nil
	there := map[string]bool{"/": true}
	require.NoError(t, makeParents("/a/b", func(dir string) error {
		asked = append(asked, dir)
		switch {
		case there[dir]:
			return zk.ErrNodeExists
		case dir == "/a/b" && !there["/a"]:
			return zk.ErrNoNode
		}
		there[dir] = true
		return nil
	}))
	require.Equal(t, []string{"/a/b", "/a", "/a/b"}, asked)
}

// So a server that lacks a node answers. Whoever has a path made pauses before it does so again.
func TestAParentOfWhichTheServerSaysThatItIsThereAndThatItIsNotIsGivenUp(t *testing.T) {
	asked := 0
	require.ErrorIs(t, makeParents("/a/b", func(dir string) error {
		asked++
		if dir == "/a" {
			return zk.ErrNodeExists
		}
		return zk.ErrNoNode
	}), zk.ErrNoNode)
	require.Less(t, asked, 10)
}

func TestAServerThatDoesNotKnowContainersIsNotAskedForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithoutContainers(true))
		c, b := logged(t, server)
		require.NoError(t, c.Parents("/a/b", -1).Make(t.Context(), open))
		require.Equal(t, []string{"/a", "/a/b"}, paths(server))
		require.Equal(t, 1, server.Requests()[zktest.OpCreateContainer])
		require.Zero(t, c.containers.asked)
		require.False(t, c.DoubtsContainers())
		require.True(t, c.containers.are(refused))
		require.Equal(t, []string{"WARN zklock: the servers have no containers, parents are made persistent cause=unknown error: -6"}, b.warnings())
		require.NoError(t, c.containers.makeParent("/c", zk.WorldACL(zk.PermRead)))
		require.Equal(t, 1, server.Requests()[zktest.OpCreateContainer])
		for _, n := range server.Nodes() {
			require.Empty(t, n.Data)
			if n.Path == "/c" {
				require.Equal(t, []zktest.ACL{{Perms: zk.PermRead, Scheme: "world", ID: "anyone"}}, n.ACL)
			}
		}
		_, stat, err := c.Conn.Get("/c")
		require.NoError(t, err)
		require.Zero(t, stat.EphemeralOwner)
		require.Empty(t, b.warnings(), "once is enough")
	})
}

func TestWithPersistentParentsAContainerIsNotAskedFor(t *testing.T) {
	c := New(time.Second, nil, Options{PersistentParents: true, Logger: slog.New(slog.DiscardHandler)})
	require.True(t, c.containers.are(refused))
	require.ErrorIs(t, c.containers.make("/a", open), errNoContainers)
	require.True(t, Refused(errNoContainers))
	require.Empty(t, c.containers.asking)
	c = New(time.Second, nil, Options{Logger: slog.New(slog.DiscardHandler)})
	require.True(t, c.containers.are(untried))
}

// What is queued behind the first request for a container would cost the next connection.
func TestOneContainerIsAskedForUntilAServerHasAnsweredThatOne(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		known  bool // before
	}{
		"it is made":            {nil, false},
		"it is there":           {zk.ErrNodeExists, false},
		"its parent is missing": {zk.ErrNoNode, false},
		"it may not be made":    {zk.ErrNoAuth, false},
		"when that is known":    {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				c := connect(t, server, server.Dial)
				_, err := c.Conn.Create("/closed", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermCreate))
				require.NoError(t, err)
				if tc.known {
					require.NoError(t, c.containers.make("/first", open))
				}
				before := server.Requests()[zktest.OpCreateContainer]
				path := map[error]string{nil: "/new", zk.ErrNodeExists: "/closed", zk.ErrNoNode: "/no/parent", zk.ErrNoAuth: "/closed/a"}[tc.answer]
				held := server.HoldReply(zktest.OpCreateContainer)
				made := make(chan error, 3)
				go func() { made <- c.containers.make(path, open) }()
				<-held.Struck()
				require.Equal(t, 1, c.containers.asked)
				for i := range 2 {
					go func() { made <- c.containers.make(fmt.Sprint("/other", i), open) }()
				}
				synctest.Wait()
				asked := 1
				if tc.known {
					asked = 3
				}
				require.Equal(t, asked, server.Requests()[zktest.OpCreateContainer]-before)
				next := server.HoldReply(zktest.OpCreateContainer)
				held.Release()
				require.Equal(t, tc.answer, <-made)
				synctest.Wait()
				require.Equal(t, 3, server.Requests()[zktest.OpCreateContainer]-before)
				next.Release()
				require.NoError(t, <-made)
				require.NoError(t, <-made)
				require.True(t, c.containers.are(served))
				require.Zero(t, c.containers.asked)
				require.Empty(t, c.containers.asking)
			})
		})
	}
}

func TestWhoWaitsToAskForAContainerEndsWithTheSession(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	c.containers.asking <- struct{}{}
	c.cancel(errClosing)
	require.ErrorIs(t, c.containers.make("/a", open), ErrClosed)
}

func TestAnAnswerThatIsLostSaysNothingOfContainersAndNoAnswerBringsThemBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		server.DropReply(zktest.OpCreateContainer)
		require.ErrorIs(t, c.containers.ask("/a", open), zk.ErrConnectionClosed)
		synctest.Wait()
		require.True(t, c.DoubtsContainers())
		require.NoError(t, c.Persist(t.Context(), func() error { return c.containers.ask("/c", open) }))
		require.True(t, c.containers.are(served))
		c.containers.state = refused
		require.NoError(t, c.Persist(t.Context(), func() error { return c.containers.ask("/b", open) }))
		require.True(t, c.containers.are(refused))
	})
}

// containerRequest is a request for a container, as far as a connection reads along.
func containerRequest() []byte {
	request := make([]byte, 100)
	binary.BigEndian.PutUint32(request[8:], uint32(wire.OpCreateContainer))
	return request
}

func TestContainersAreDoubtedByAHangUpOnARequestForOneOfOurs(t *testing.T) {
	why := errors.New("why")
	for name, tc := range map[string]struct {
		asked         int
		other         bool // request is under way
		before, after containerState
		warnings      []string
	}{
		"the first time":       {asked: 1, after: doubted},
		"after an answer":      {asked: 1, before: served, after: doubted},
		"the second time":      {asked: 1, before: doubted, after: refused, warnings: []string{"WARN zklock: the servers have no containers, parents are made persistent cause=the connection was lost twice on the request for one: why"}},
		"when they are known":  {asked: 1, before: refused, after: refused},
		"on a user's request":  {asked: 0, after: untried},
		"on another request":   {asked: 1, other: true, after: untried},
		"on another, in doubt": {asked: 1, other: true, before: doubted, after: doubted},
	} {
		t.Run(name, func(t *testing.T) {
			b := new(book)
			c := unconnected(t, slog.New(b))
			l := c.connectedTo(t, io.EOF)
			if !tc.other {
				_, err := l.Write(containerRequest())
				require.NoError(t, err)
			}
			c.containers.asked, c.containers.state = tc.asked, tc.before
			c.containers.doubt(l, why)
			c.Log.close()
			require.Equal(t, tc.warnings, b.warnings())
			require.True(t, c.containers.are(tc.after))
			require.Equal(t, tc.after == doubted, c.DoubtsContainers())
		})
	}
}

// Two requests for one may be under way, once a server was known to have them.
func TestThatThereAreNoContainersIsToldOnce(t *testing.T) {
	b := new(book)
	c := unconnected(t, slog.New(b))
	for range 2 {
		c.containers.mu.Lock()
		c.containers.refuse(zk.ErrAPIError)
		c.containers.mu.Unlock()
	}
	c.Log.close()
	require.Len(t, b.warnings(), 1)
}

func TestAServerHangsUpIfItWasNeitherSilentNorCutOff(t *testing.T) {
	for _, err := range []error{io.EOF, errors.New("reset by peer"), zk.ErrConnectionClosed, &net.OpError{Err: errors.New("reset")}} {
		require.True(t, hungUp(err), "%v", err)
	}
	for _, err := range []error{net.ErrClosed, os.ErrDeadlineExceeded, &net.OpError{Err: os.ErrDeadlineExceeded}, fmt.Errorf("wrapped: %w", net.ErrClosed)} {
		require.False(t, hungUp(err), "%v", err)
	}
}
