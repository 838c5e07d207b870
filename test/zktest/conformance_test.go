package zktest_test

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// TestApacheZooKeeperAndZktestAnswerAlike plays every case against zktest, over TCP and over memory, and against Apache
// ZooKeeper, and compares what they say.
func TestApacheZooKeeperAndZktestAnswerAlike(t *testing.T) {
	apache := apacheServer(t)
	overTCP, overMemory := zktest.NewServer(t, like(t, apache)...), zktest.NewServer(t, like(t, apache)...)
	cases := conformanceCases()
	if versionOf(t, apache) == "3.8" {
		cases = append(slices.Clone(cases), checkCase)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := fmt.Sprintf("/conformance-%d", i)
			want := play(t, net.DialTimeout, apache.Addrs()[0], root, c.run)
			assert.Equal(t, want, play(t, net.DialTimeout, overTCP.Addr(), root, c.run), "over TCP")
			assert.Equal(t, want, play(t, overMemory.Dial, overMemory.PipeAddr(), root, c.run), "over memory")
		})
	}
}

const (
	likeApacheTick      = 200 * time.Millisecond
	likeApacheContainer = 300 * time.Millisecond
)

var doubleLikeApache = []zktest.Option{
	zktest.WithTickTime(likeApacheTick),
	zktest.WithContainerInterval(likeApacheContainer),
	zktest.WithSessionTimeouts(2*likeApacheTick, 10*time.Minute),
	zktest.WithTTLNodes(),
}

// like are the options of a server that is to answer as that real one does.
func like(t *testing.T, apache *apachezk.Ensemble) []zktest.Option {
	t.Helper()
	return append(slices.Clone(doubleLikeApache), zktest.WithVersion(versionOf(t, apache)))
}

func versionOf(t *testing.T, apache *apachezk.Ensemble) string {
	t.Helper()
	srvr, err := apache.Servers()[0].FourLetter("srvr")
	require.NoError(t, err)
	version := regexp.MustCompile(`version: (\d+\.\d+)`).FindStringSubmatch(srvr)
	require.NotNil(t, version, srvr)
	return version[1]
}

// apacheServer is one real server, shared by all tests of a run that only compare answers.
func apacheServer(t *testing.T) *apachezk.Ensemble {
	t.Helper()
	return apachezk.Run(t, func(c *apachezk.Config) {
		c.TickTime = likeApacheTick
		c.ContainerCheck = likeApacheContainer
		c.Settings = map[string]string{
			"minSessionTimeout": "400", "maxSessionTimeout": "600000",
			"4lw.commands.whitelist": "conf,envi,mntr,ruok,srvr,stat",
		}
		c.JVM = append(c.JVM, "-Dzookeeper.extendedTypesEnabled=true")
	})
}

func TestContainersThatAreNeverUsedGoWhereServersAreToldSo(t *testing.T) {
	const after = 2 * likeApacheContainer
	apache := apachezk.Run(t, func(c *apachezk.Config) {
		c.TickTime, c.ContainerCheck = likeApacheTick, likeApacheContainer
		c.JVM = append(c.JVM, fmt.Sprintf("-Dznode.container.maxNeverUsedIntervalMs=%d", after.Milliseconds()))
	})
	double := zktest.NewServer(t, append(like(t, apache), zktest.WithNeverUsedContainers(after))...)
	run := func(s *script) {
		s.container("/used")
		s.create("/used/child", 0)
		s.container("/touched")
		s.container("/c")
		gone, touched := s.existsW(0, "/c"), s.existsW(0, "/touched")
		s.set("/touched", "late", -1)
		s.event("touched", touched)
		touched = s.existsW(0, "/touched")
		s.event("gone", gone)
		s.event("gone, too", touched)
		s.children("")
	}
	assert.Equal(t, play(t, net.DialTimeout, apache.Addrs()[0], "/never", run), play(t, net.DialTimeout, double.Addr(), "/never", run))
}

type conformanceCase struct {
	name string
	run  func(s *script)
}

var conformanceCases = sync.OnceValue(func() []conformanceCase {
	var all []conformanceCase
	for _, group := range [][]conformanceCase{nodeCases, pathCases, aclCases, multiCases, watchCases, sessionCases, wireCases, wordCases} {
		all = append(all, group...)
	}
	return all
})
