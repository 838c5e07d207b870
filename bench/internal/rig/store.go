// Package rig runs what the parties of the benchmark lock with: ZooKeeper, etcd
// and Redis servers on this machine, and proxies on the way to them.
package rig

import (
	"fmt"
	"time"

	"github.com/zklock/zklock/internal/faultproxy"
)

// RoundTrip is what the delayed way adds to the time of a request.
const RoundTrip = 5 * time.Millisecond

// Store is a running service, and the ways to its servers.
type Store struct {
	Version string
	Direct  []string
	Delayed []string // through proxies that add RoundTrip
	Counted []string // through Traffic; of ZooKeeper alone
	Traffic *Traffic

	closers []func()
}

// Close ends the servers and the proxies.
func (s *Store) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

// delay makes the delayed way.
func (s *Store) delay(proxy func(target string) (*faultproxy.Proxy, error)) error {
	for _, addr := range s.Direct {
		p, err := proxy(addr)
		if err != nil {
			return fmt.Errorf("rig: %w", err)
		}
		s.closers = append(s.closers, p.Close)
		p.Delay(faultproxy.Both, RoundTrip/2)
		s.Delayed = append(s.Delayed, p.Addr())
	}
	return nil
}
