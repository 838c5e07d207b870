package membership_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/membership"
)

// received returns how many packets the server has had.
func received(t *testing.T, server *apachezk.Server) int {
	t.Helper()
	answer, err := server.FourLetter("mntr")
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^zk_packets_received\s+(\d+)`).FindStringSubmatch(answer)
	require.NotNil(t, m, answer)
	n, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return n
}

func TestARealServerIsAskedForLittleWhileNothingChangesAndAfterAReconnect(t *testing.T) {
	const members = 500
	ensemble := apachezk.Run(t)
	session := func(dial zk.Dialer) *zklock.Session {
		s, err := zklock.Connect(t.Context(), ensemble.Addrs(), 20*time.Second, zklock.WithDialer(dial))
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	writer := session(net.DialTimeout).Conn()
	crowd(t, writer, members)
	var line atomic.Pointer[net.Conn]
	var dials atomic.Int32
	watching := session(func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, timeout)
		if err == nil {
			line.Store(&conn)
			dials.Add(1)
		}
		return conn, err
	})
	seen := watch(t, watching, membership.WithInterval(200*time.Millisecond))
	eventually(t, "the list", func() bool { return len(seen.latest()) == members })

	before := received(t, ensemble.Server(0))
	time.Sleep(2 * time.Second) // of ten intervals
	require.Less(t, received(t, ensemble.Server(0))-before, members/2)

	before = received(t, ensemble.Server(0))
	(*line.Load()).Close()
	change := func(data string) {
		_, err := writer.Set(fmt.Sprintf("%s/member-%d", path, members/2), []byte(data), -1)
		require.NoError(t, err)
		eventually(t, data, func() bool { return string(seen.latest()[members/2].Data) == data })
	}
	change("while it is away")
	change("when it is back")
	require.EqualValues(t, 2, dials.Load())
	time.Sleep(time.Second)
	require.Less(t, received(t, ensemble.Server(0))-before, members/2)
}

func TestASessionIsClosedWhileMembersComeAndGoAndAreWatched(t *testing.T) {
	ensemble := apachezk.Run(t)
	for round := range 40 {
		s, err := zklock.Connect(t.Context(), ensemble.Addrs(), 10*time.Second)
		require.NoError(t, err)
		dir := fmt.Sprintf("/close/%d/servers", round)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var users sync.WaitGroup
		use := func(f func() error) {
			for range 4 {
				users.Go(func() {
					for ctx.Err() == nil {
						if err := f(); err != nil {
							require.ErrorIs(t, err, zklock.ErrClosed)
							return
						}
					}
				})
			}
		}
		started := make(chan struct{}, 1)
		use(func() error {
			m, err := membership.Join(ctx, s, dir, []byte("one"))
			if err == nil {
				err = m.Update(ctx, []byte("two"))
			}
			select {
			case started <- struct{}{}:
			default:
			}
			return err
		})
		use(func() error {
			for _, err := range membership.Watch(ctx, s, dir) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		if round%2 == 0 {
			<-started // the others are closed while the path is made
		}
		require.NoError(t, s.Close(), "round %d", round)
		users.Wait()
		require.NoError(t, ctx.Err())
	}
}

func TestAQuotaRefusesAnUpdateAndTheMemberStaysAsItWas(t *testing.T) {
	ensemble := apachezk.Run(t, func(c *apachezk.Config) { c.Settings = map[string]string{"enforceQuota": "true"} })
	s, err := zklock.Connect(t.Context(), ensemble.Addrs(), 10*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	m, err := membership.Join(t.Context(), s, path, []byte("old"))
	require.NoError(t, err)
	for _, node := range []struct{ name, data string }{
		{"/app", ""},
		{path, ""},
		{path + "/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=-1"},
		{path + "/zookeeper_stats", "count=2,bytes=3"},
	} {
		_, err := s.Conn().Create("/zookeeper/quota"+node.name, []byte(node.data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err, node.name)
	}
	require.ErrorContains(t, m.Update(t.Context(), []byte("longer than ten bytes")), "-125") // quota exceeded
	require.NoError(t, m.State().Err)
	seen := watch(t, s)
	shows := func(data string) {
		eventually(t, data, func() bool { return len(seen.latest()) == 1 && string(seen.latest()[0].Data) == data })
	}
	shows("old")
	require.NoError(t, m.Update(t.Context(), []byte("new")))
	shows("new")
}
