package zktest_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// TestApacheZooKeeperAndZktestAnswerAlike plays every case against zktest, over TCP and over memory, and against Apache
// ZooKeeper, and compares what they say.
func TestApacheZooKeeperAndZktestAnswerAlike(t *testing.T) {
	apache := apacheAddr(t)
	overTCP, overMemory := zktest.NewServer(t, doubleLikeApache...), zktest.NewServer(t, doubleLikeApache...)
	for i, c := range conformanceCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := fmt.Sprintf("/conformance-%d", i)
			want := play(t, net.DialTimeout, apache, root, c.run)
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

// apacheAddr is the address of one real server, shared by all tests of a run that only compare answers.
func apacheAddr(t *testing.T) string {
	t.Helper()
	return apachezk.Run(t, func(c *apachezk.Config) {
		c.TickTime = likeApacheTick
		c.ContainerCheck = likeApacheContainer
		c.Settings = map[string]string{"minSessionTimeout": "400", "maxSessionTimeout": "600000"}
		c.JVM = append(c.JVM, "-Dzookeeper.extendedTypesEnabled=true")
	}).Addrs()[0]
}

type conformanceCase struct {
	name string
	run  func(s *script)
}

var conformanceCases = sync.OnceValue(func() []conformanceCase {
	var all []conformanceCase
	for _, group := range [][]conformanceCase{nodeCases, pathCases, aclCases, multiCases, watchCases, sessionCases, wireCases} {
		all = append(all, group...)
	}
	return all
})
