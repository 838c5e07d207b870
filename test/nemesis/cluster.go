package nemesis

import (
	"context"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// The servers' settings, unless a test changes them. A follower that hears
// nothing of its leader for syncLimit ticks looks for another, and whoever has
// been elected gives up when not enough follow within initLimit ticks.
const (
	tick      = 400 * time.Millisecond
	syncLimit = 5
	initLimit = 10
)

// Cluster is an ensemble of three servers, with a proxy between any two.
type Cluster struct {
	*apachezk.Ensemble
	Mesh *faultproxy.Mesh
}

// Start starts a cluster for the duration of a test. Without ZooKeeper on the
// machine the test is skipped.
func Start(tb apachezk.TB, configure ...func(*apachezk.Config)) *Cluster {
	tb.Helper()
	c := &Cluster{Mesh: faultproxy.NewMesh()}
	tb.Cleanup(c.Mesh.Close)
	c.Ensemble = apachezk.Run(tb, append([]func(*apachezk.Config){func(cfg *apachezk.Config) {
		cfg.Servers, cfg.TickTime, cfg.InitLimit, cfg.SyncLimit, cfg.Route = 3, tick, initLimit, syncLimit, c.Mesh.Route
	}}, configure...)...)
	return c
}

// Roles returns the leader and the others.
func (c *Cluster) Roles(ctx context.Context) (leader *apachezk.Server, followers []*apachezk.Server, err error) {
	if leader, err = c.Leader(ctx); err != nil {
		return nil, nil, err
	}
	return leader, c.others(leader), nil
}

func (c *Cluster) others(than *apachezk.Server) []*apachezk.Server {
	var others []*apachezk.Server
	for _, s := range c.Servers() {
		if s != than {
			others = append(others, s)
		}
	}
	return others
}

// CutOff separates a server from the others.
func (c *Cluster) CutOff(s *apachezk.Server) {
	var others []int
	for _, other := range c.others(s) {
		others = append(others, other.ID())
	}
	c.Mesh.Partition([]int{s.ID()}, others)
}

// Heal brings the network and all servers back, whatever has happened to them, and
// returns when they serve.
func (c *Cluster) Heal() error {
	c.Mesh.Heal()
	for _, s := range c.Servers() {
		if s.Continue() != nil {
			if err := s.Launch(); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	return c.Await(ctx)
}

// Await returns when every server serves.
func (c *Cluster) Await(ctx context.Context) error {
	for _, s := range c.Servers() {
		if err := s.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Links are one process's ways to the servers: a proxy to each, in their order.
type Links []*faultproxy.Proxy

// OpenLinks makes ways to the servers for the duration of a test.
func OpenLinks(tb apachezk.TB, servers ...*apachezk.Server) Links {
	tb.Helper()
	var links Links
	for _, s := range servers {
		links = append(links, faultproxy.Run(tb, s.Addr()))
	}
	return links
}

// Addrs returns the addresses to connect to.
func (ds Links) Addrs() []string {
	var addrs []string
	for _, d := range ds {
		addrs = append(addrs, d.Addr())
	}
	return addrs
}

func (ds Links) each(f func(*faultproxy.Proxy)) {
	for _, d := range ds {
		f(d)
	}
}

// Cut closes the connections.
func (ds Links) Cut() { ds.each((*faultproxy.Proxy).Cut) }

// Reset closes them by RST.
func (ds Links) Reset() { ds.each((*faultproxy.Proxy).Reset) }

// Refuse makes new connections fail while on.
func (ds Links) Refuse(on bool) { ds.each(func(d *faultproxy.Proxy) { d.Refuse(on) }) }

// Drop loses what is sent in the direction.
func (ds Links) Drop(dir faultproxy.Direction) { ds.each(func(d *faultproxy.Proxy) { d.Drop(dir) }) }

// Freeze holds what is sent in the direction.
func (ds Links) Freeze(dir faultproxy.Direction) {
	ds.each(func(d *faultproxy.Proxy) { d.Freeze(dir) })
}

// Slow delays what is sent in either direction, and hands it on in small pieces.
func (ds Links) Slow(by time.Duration) {
	ds.each(func(d *faultproxy.Proxy) {
		d.Delay(faultproxy.Both, by)
		d.Slice(7)
	})
}

// Heal ends all but what Cut and Reset did.
func (ds Links) Heal() {
	ds.each(func(d *faultproxy.Proxy) {
		d.Refuse(false)
		d.Thaw(faultproxy.Both)
		d.Delay(faultproxy.Both, 0)
		d.Slice(0)
	})
}
