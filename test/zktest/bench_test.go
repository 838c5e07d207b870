package zktest_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

type dialer = func(network, addr string, timeout time.Duration) (net.Conn, error)

func BenchmarkAServersLife(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s, err := zktest.Start()
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkAnEnsemblesLife(b *testing.B) {
	for b.Loop() {
		e, err := zktest.StartEnsemble(3)
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}

func BenchmarkASessionsLife(b *testing.B) {
	s := zktest.NewServer(b)
	for b.Loop() {
		w := dialWire(b, s.Dial, "", 4*time.Second, nil)
		w.call(b, int32(zktest.OpCloseSession), nil)
		w.nc.Close()
	}
}

func benchmarkRequests(b *testing.B, dial dialer, addr string) {
	w := dialWire(b, dial, addr, 4*time.Second, nil)
	for _, op := range []zktest.Op{zktest.OpExists, zktest.OpCreate} {
		b.Run(op.String(), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				body := packet{}.string("/").byte(0)
				if op == zktest.OpCreate {
					body = create(fmt.Sprintf("/%p-%d", b, i), 2)
				}
				if r := w.call(b, int32(op), body); r.code != 0 {
					b.Fatal(r.code)
				}
			}
		})
	}
}

func BenchmarkRequestsOverMemory(b *testing.B) {
	benchmarkRequests(b, zktest.NewServer(b).Dial, "")
}

func BenchmarkRequestsOverTCP(b *testing.B) {
	benchmarkRequests(b, net.DialTimeout, zktest.NewServer(b).Addr())
}

func BenchmarkRequestsToAFollower(b *testing.B) {
	benchmarkRequests(b, zktest.NewEnsemble(b, 3).Server(0).Dial, "")
}

// BenchmarkABubble is what a run of a simulation costs at least: a bubble, an ensemble, two clients, a little work.
func BenchmarkABubble(b *testing.B) {
	for b.Loop() {
		virtual.Test(new(testing.T), func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3)
			for range 2 {
				c := connect(t, e.Dial, e.PipeAddrs()...)
				for range 10 {
					c.Create("/a", nil, 3, open)
				}
			}
			time.Sleep(time.Minute)
		})
	}
}
