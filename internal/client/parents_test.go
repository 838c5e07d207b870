package client

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
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

// sequential are operations that make n sequential nodes in dir.
func sequential(dir string, acl []zk.ACL, n int) []wire.Op {
	return slices.Repeat([]wire.Op{{Code: wire.OpCreate, Path: dir + "/x-", ACL: acl, Flags: zk.FlagEphemeralSequential}}, n)
}

// make has nodes made in p's path, with checks.
func (p *Parents) make(data []byte, nodes []wire.Op, checks ...wire.Op) ([]string, error) {
	r := new(wire.Request)
	err := p.Request(r, data, append(nodes, checks...)...)
	if err == nil {
		err = p.client.Ask(p.client.ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return p.Made(r, len(nodes))
}

// grown makes one node in p's path, and as many tries as that takes.
func grown(p *Parents) (names []string, err error) {
	for {
		names, err = p.make([]byte("said"), sequential(p.dir, p.acl, 1))
		if !p.Learn(err) {
			return names, err
		}
	}
}

func TestWhatIsMissingOfAPathIsMadeWithItsFirstNodeInOneTransaction(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		acl := zk.WorldACL(zk.PermAll &^ zk.PermAdmin)
		names, err := grown(c.Parents("/a/b/c", "/a/b/c", acl))
		require.NoError(t, err)
		require.Equal(t, []string{"/a/b/c/x-0000000000"}, names)
		made := server.Nodes()
		require.Len(t, made, 4)
		for i, n := range made {
			require.Equal(t, made[0].Stat.Czxid, n.Stat.Czxid, n.Path)
			require.Equal(t, []zktest.ACL{{Perms: zk.PermAll &^ zk.PermAdmin, Scheme: "world", ID: "anyone"}}, n.ACL)
			require.Equal(t, i == 2, string(n.Data) == "said", "%s: the lowest parent says it", n.Path)
		}
		require.Equal(t, 1, server.Requests()[zktest.OpCreate])
		require.Equal(t, 3, server.Requests()[zktest.OpMulti])

		names, err = grown(c.Parents("/a/b/c", "/a/b/c", acl))
		require.NoError(t, err)
		require.Equal(t, []string{"/a/b/c/x-0000000001"}, names)
		require.Equal(t, 2, server.Requests()[zktest.OpCreate], "one request if nothing is missing")
		require.Equal(t, 3, server.Requests()[zktest.OpMulti])

		p := c.Parents("/a/d", "/a/d", open)
		p.Lacks(true)
		names, err = p.make(nil, sequential("/a/d", open, 2), Check("/a"))
		require.NoError(t, err)
		require.Equal(t, []string{"/a/d/x-0000000000", "/a/d/x-0000000001"}, names)
		p.Lacks(false)
		names, err = p.make(nil, sequential("/a/d", open, 2), Check("/a"))
		require.NoError(t, err)
		require.Equal(t, []string{"/a/d/x-0000000002", "/a/d/x-0000000003"}, names)
		require.False(t, c.noContainers.Load(), "nodes that are no parents are no containers")
	})
}

func TestTheNodesAboveALocksPathLetEverybodyCreateOthersThere(t *testing.T) {
	anyone := zktest.ACL{Perms: zk.PermCreate, Scheme: "world", ID: "anyone"}
	ann := zktest.ACL{Perms: zk.PermAll, Scheme: "digest", ID: zk.DigestACL(zk.PermAll, "ann", "ann")[0].ID}
	reads := zktest.ACL{Perms: zk.PermRead, Scheme: "world", ID: "anyone"}
	for _, above := range [][]zktest.ACL{{ann, anyone}, {ann, reads, anyone}, {ann, {Perms: zk.PermAll, Scheme: "world", ID: "anyone"}}} {
		inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
			require.NoError(t, c.Conn.AddAuth("digest", []byte("ann:ann")))
			var own []zktest.ACL
			var acl []zk.ACL
			for _, a := range above {
				if a != anyone {
					own, acl = append(own, a), append(acl, zk.ACL(a))
				}
			}
			_, err := grown(c.Parents("/a/lock/locks", "/a/lock", acl))
			require.NoError(t, err)
			for _, n := range server.Nodes() {
				list := own
				if n.Path == "/a" {
					list = above
				}
				require.Equal(t, list, n.ACL, n.Path)
			}
		})
	}
}

func TestAListThatKeepsItsOwnCallOutLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		acl []zk.ACL
		err error
	}{
		"a password for a hash": {[]zk.ACL{{Perms: zk.PermAll, Scheme: "digest", ID: "ann:ann"}}, ErrShutOut},
		"nothing may be read":   {zk.WorldACL(zk.PermAll &^ zk.PermRead), ErrShutOut},
		"nothing may be made":   {zk.WorldACL(zk.PermAll &^ zk.PermCreate), ErrShutOut},
		"no list":               {[]zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: "ann"}}, zk.ErrInvalidACL},
	} {
		inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
			require.NoError(t, c.Conn.AddAuth("digest", []byte("ann:ann")))
			for _, path := range []string{"/lock", "/a/b/lock"} {
				_, err := grown(c.Parents(path, path, tc.acl))
				require.ErrorIs(t, err, tc.err, name)
				require.True(t, Refused(err), name)
				require.Empty(t, server.Nodes(), name)
			}
			_, err := c.Conn.Create("/closed", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermCreate))
			require.NoError(t, err)
			_, err = grown(c.Parents("/closed/a/lock", "/closed/a/lock", open))
			require.Equal(t, zk.ErrNoAuth, err, "which is somebody else's list")
			require.Equal(t, []string{"/closed"}, paths(server))
		})
	}
}

func TestAPathGrowsUpToTheRootAndShrinksWhenOthersHaveMadeIt(t *testing.T) {
	c := New(0, nil, Options{Logger: slog.New(slog.DiscardHandler)})
	p := c.Parents("/a/b", "/a/b", open)
	require.False(t, p.Learn(nil))
	require.False(t, p.Learn(zk.ErrNodeExists), "another node than those that were missing")
	require.False(t, p.Learn(zk.ErrNoAuth))
	for _, top := range []string{"/a", "/"} {
		require.True(t, p.Learn(zk.ErrNoNode))
		require.Equal(t, top, p.top())
	}
	require.False(t, p.Learn(zk.ErrNoNode), "of a chroot that is not there")
	require.True(t, p.Learn(zk.ErrNodeExists))
	require.Equal(t, "/a", p.top())
	require.False(t, p.Learn(zk.ErrNoNode), "a server removes what others make: a pause is due")
	require.Len(t, p.creates(nil), 2)
	for _, top := range []string{"/a", "/a/b"} {
		require.True(t, p.Learn(zk.ErrNodeExists))
		require.Equal(t, top, p.top())
	}
	require.False(t, p.Learn(zk.ErrNodeExists))
}

func TestAPathThatIsMissingThoughItWasFoundThereIsConfirmed(t *testing.T) {
	c := New(0, nil, Options{Logger: slog.New(slog.DiscardHandler)})
	for name, again := range map[string]func(p *Parents){
		"a list lacks it": func(p *Parents) { p.Lacks(true) },
		"a create does":   func(p *Parents) { p.Learn(zk.ErrNoNode) },
	} {
		t.Run(name, func(t *testing.T) {
			p := c.Parents("/a/b", "/a/b", open)
			for range 2 {
				p.Lacks(true)
				require.False(t, p.missedAgain, "nothing has found it")
			}
			p.Learn(zk.ErrNodeExists)
			again(p)
			require.True(t, p.missedAgain)
			require.True(t, p.Learn(zk.ErrNoNode), "so is what is above it")
			require.True(t, p.missedAgain)
			p.Lacks(true)
			require.True(t, p.missedAgain, "it still is")
			p.Lacks(false)
			require.False(t, p.missedAgain)
			p.Lacks(true)
			p.Learn(zk.ErrNoNode)
			require.False(t, p.missedAgain, "what is above it is missing as well")
		})
	}
}

// A server that does not know containers refuses them, or takes them for persistent nodes.
func TestWithoutContainersParentsArePersistentAndTheLogSaysSoOnce(t *testing.T) {
	for refuses, multis := range map[bool]int{true: 4, false: 3} {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithoutContainers(refuses))
			c, b := logged(t, server)
			link := c.Current()
			p := c.Parents("/a/b", "/a/b", open)
			names, err := grown(p)
			if refuses {
				require.Equal(t, errNoContainers, err)
				require.True(t, Transient(err))
				names, err = grown(p)
			}
			require.NoError(t, err)
			require.Equal(t, []string{"/a/b/x-0000000000"}, names)
			synctest.Wait()
			require.Equal(t, []string{"WARN zklock: the servers have no containers, parents are made persistent"}, b.warnings())
			_, err = grown(c.Parents("/b", "/b", open))
			require.NoError(t, err)
			require.Equal(t, multis, server.Requests()[zktest.OpMulti])
			synctest.Wait()
			require.Empty(t, b.warnings(), "once is enough")
			require.Same(t, link, c.Current(), "no connection is lost")
		})
	}
}

func TestARefusalIsOfContainersOrOfItsOwnListByWhatWasRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		failed int // the operation; -1 for none by itself
		err    error
		is     error
		lacks  bool // containers
	}{
		"a parent":                        {0, zk.ErrBadArguments, errNoContainers, true},
		"the node itself":                 {2, zk.ErrBadArguments, zk.ErrBadArguments, false},
		"the request as a whole":          {-1, zk.ErrBadArguments, zk.ErrBadArguments, false},
		"below the first parent":          {1, zk.ErrNoAuth, ErrShutOut, false},
		"the first parent":                {0, zk.ErrNoAuth, zk.ErrNoAuth, false},
		"a parent that is there":          {1, zk.ErrNodeExists, zk.ErrNodeExists, false},
		"the request, by the credentials": {-1, zk.ErrNoAuth, zk.ErrNoAuth, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(0, nil, Options{Logger: slog.New(slog.DiscardHandler)})
			p := c.Parents("/a/b", "/a/b", open)
			p.missing = 2
			results := make([]wire.Result, 4)
			if tc.failed < 0 {
				results = nil
			} else {
				results[tc.failed].Err = tc.err
			}
			err := p.judge(results, tc.err)
			require.ErrorIs(t, err, tc.is)
			require.Equal(t, tc.is == ErrShutOut, errors.Is(err, ErrShutOut))
			require.Equal(t, tc.lacks, c.noContainers.Load())
		})
	}
}

func TestWithPersistentParentsNoContainerIsAskedFor(t *testing.T) {
	c := New(0, nil, Options{PersistentParents: true, Logger: slog.New(slog.DiscardHandler)})
	p := c.Parents("/a", "/a", open)
	p.Lacks(true)
	require.EqualValues(t, zk.FlagPersistent, p.creates(nil)[0].Flags)
	c.noContainers.Store(false)
	container := p.creates(nil)[0]
	require.EqualValues(t, zk.FlagContainer, container.Flags)
	require.Equal(t, wire.OpCreate, container.Code, "on a request for a container a server hangs up that does not know it")
}

func TestATransactionThatNoServerTakesIsNotSent(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		long := zk.DigestACL(zk.PermAll, string(make([]byte, MaxFrame/3)), "")
		p := c.Parents("/a/b", "/a/b", append(long, open...))
		p.missing = 2
		_, err := p.make(nil, sequential("/a/b", p.acl, 1))
		require.ErrorContains(t, err, "3 operations have to go out by one request")
		require.ErrorContains(t, err, "make /a/b ahead of time")
		require.False(t, Transient(err))
		err = c.Parents("/", "/", open).Create(wire.Op{Code: wire.OpCreate, Path: "/a", Data: make([]byte, MaxFrame), ACL: open})
		require.ErrorIs(t, err, errTooLong)
		p.missing = 1
		_, err = p.make(nil, sequential("/a/b", p.acl, 1))
		require.Equal(t, zk.ErrNoNode, err)
	})
}
