package zktest_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const nearTheEnd = math.MaxInt32 - 3

// endOfCounter creates sequential children of //end until past the end of its counter.
func endOfCounter(s *script) {
	for i := range 6 {
		s.create(fmt.Sprintf("//end/n%d-", i), zk.FlagSequence)
		s.exists("//end")
	}
	s.create("//end/n3-", zk.FlagSequence) // the same number with the same prefix
	s.create("//end/n4-", zk.FlagEphemeral|zk.FlagSequence)
	s.multi(s.opCreate("//end/m1-", 2), s.opCreate("//end/m2-", 2), s.opCreate("//end/m3-", 2))
	s.exists("//end")
	s.delete("//end/n1-2147483645", -1)
	s.create("//end/n7-", zk.FlagSequence)
	s.children("//end")
}

func TestTheCounterEndsAsApacheZooKeepersDoes(t *testing.T) {
	apache := endOfCounterServer(t)
	double := zktest.NewServer(t, doubleLikeApache...)
	play(t, double.Dial, double.PipeAddr(), "/end", func(*script) {})
	double.SetSequence("/end", nearTheEnd)
	want := play(t, net.DialTimeout, apache, "/case", endOfCounter)
	require.Contains(t, want, "n3-2147483647")
	require.Contains(t, want, "n4-2147483647")
	require.Contains(t, want, "m2--2147483648")
	require.Equal(t, want, play(t, double.Dial, double.PipeAddr(), "/case", endOfCounter))
}

// endOfCounterServer runs ZooKeeper inside a program of ours that sets the counter, which no client can.
func endOfCounterServer(t *testing.T) string {
	zookeeper, err := apachezk.Find()
	if err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	cmd := exec.Command(zookeeper.Java, "-cp", strings.Join(zookeeper.Classpath, ":"), "-Djava.io.tmpdir="+t.TempDir(),
		"testdata/EndOfCounter.java", fmt.Sprint(nearTheEnd))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if port, found := strings.CutPrefix(lines.Text(), "PORT "); found {
			return "127.0.0.1:" + port
		}
	}
	t.Skip("needs a Java development kit, to run testdata/EndOfCounter.java")
	return ""
}

func TestOverlappingCreatesGetNegativeNumbersAtTheEndOfTheCounter(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t, zktest.WithDiskLatency(time.Millisecond, time.Millisecond))
		w := at(t, s)
		w.call(t, opCreate, create("/end", 0))
		s.SetSequence("/end", math.MaxInt32-1)
		for i := range 5 {
			w.send(t, opCreate, create(fmt.Sprintf("/end/%d:", i), 2))
		}
		var names []string
		for range 5 {
			r, err := w.next()
			require.NoError(t, err)
			names = append(names, r.string())
		}
		require.Equal(t, []string{
			"/end/0:2147483646", "/end/1:2147483647", "/end/2:-2147483648", "/end/3:-2147483647", "/end/4:-2147483646",
		}, names)
		r := w.call(t, opCreate, create("/end/5:", 2))
		require.Equal(t, "/end/5:2147483647", r.string())
	})
}

func TestTheNumberThatIsSetCountsWhateverIsUnderWay(t *testing.T) {
	const before = 50
	for _, next := range []int32{100, 1, -7} {
		for name, meanwhile := range map[string]func(t *testing.T, s *zktest.Server, underWay *wire){
			"and goes on": func(*testing.T, *zktest.Server, *wire) {},
			"and is over": func(t *testing.T, s *zktest.Server, underWay *wire) {
				r, err := underWay.next()
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("/q/a-%010d", before), r.string())
				require.Equal(t, s.Zxid(), s.Nodes()[0].Stat.Pzxid, "who watches the children has to be told")
			},
		} {
			t.Run(fmt.Sprintf("%d %s", next, name), func(t *testing.T) {
				aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
					underWay, w := at(t, s), at(t, s)
					w.call(t, opCreate, create("/q", 0))
					s.SetSequence("/q", before)
					underWay.send(t, opCreate, create("/q/a-", 2))
					synctest.Wait()
					s.SetSequence("/q", next)
					meanwhile(t, s, underWay)
					for i := range int32(2) {
						r := w.call(t, opCreate, create("/q/b-", 2))
						require.Equal(t, fmt.Sprintf("/q/b-%010d", next+i), r.string())
					}
				}, zktest.WithDiskLatency(10*time.Millisecond, 10*time.Millisecond))
			})
		}
	}
}

func TestANewLeaderThatWasBehindKnowsTheNumberThatWasSet(t *testing.T) {
	for _, test := range []struct {
		children int
		next     int32
	}{{0, 100}, {3, 100}, {3, 1}} {
		inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
			e.Server(0).Lag(time.Hour)
			e.Server(1).Lag(time.Hour)
			w := at(t, e.Server(2))
			w.call(t, opCreate, create("/q", 0))
			for range test.children {
				w.call(t, opCreate, create("/q/a-", 2))
			}
			e.SetSequence("/q", test.next)
			e.Server(2).Stop()
			time.Sleep(time.Second)
			r := at(t, e.Leader()).call(t, opCreate, create("/q/b-", 2))
			require.Equal(t, fmt.Sprintf("/q/b-%010d", test.next), r.string())
		})
	}
}

func TestTheNumberThatWasSetIsLostWithTheData(t *testing.T) {
	aloneInBubble(t, func(t *testing.T, s *zktest.Server) {
		first := func() string {
			w := at(t, s)
			w.call(t, opCreate, create("/q", 0))
			r := w.call(t, opCreate, create("/q/n-", 2))
			return r.string()
		}
		first()
		s.SetSequence("/q", 100)
		s.Ensemble().LoseData()
		s.Restart()
		time.Sleep(time.Second)
		require.Equal(t, "/q/n-0000000000", first())
	})
}

// The library against the original: everybody gets the lock, and the path is what it was.
func TestACounterOfApacheZooKeeperBeginsAnew(t *testing.T) {
	server := endOfCounterServer(t)
	acl := append(zk.DigestACL(zk.PermAll, "owner", "key"), zk.WorldACL(zk.PermAll)...)
	var lockers []*zklock.Locker
	var owner *zk.Conn
	for range 3 {
		s, err := zklock.Connect(t.Context(), []string{server}, 10*time.Second)
		require.NoError(t, err)
		defer s.Close()
		l, err := zklock.New(s, "/end", zklock.WithoutOwner())
		require.NoError(t, err)
		lockers, owner = append(lockers, l), s.Conn()
	}
	_, err := owner.Set("/end", []byte("the team's"), -1)
	require.NoError(t, err)
	_, err = owner.SetACL("/end", acl, -1)
	require.NoError(t, err)
	var callers errgroup.Group
	for i := range 60 {
		callers.Go(func() error {
			return lockers[i%len(lockers)].Do(t.Context(), func(context.Context) error { return nil })
		})
	}
	require.NoError(t, callers.Wait())
	h, err := lockers[0].Acquire(t.Context())
	require.NoError(t, err)
	require.Regexp(t, "-00000000..$", h.Node())
	data, _, err := owner.Get("/end")
	require.NoError(t, err)
	require.Equal(t, "the team's", string(data))
	got, _, err := owner.GetACL("/end")
	require.NoError(t, err)
	require.Equal(t, acl, got)
	require.NoError(t, h.Release(t.Context()))
}
