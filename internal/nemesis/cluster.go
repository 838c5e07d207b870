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

// Await returns when every server serves.
func (c *Cluster) Await(ctx context.Context) error {
	for _, s := range c.Servers() {
		if err := s.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}
