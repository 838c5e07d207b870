package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
)

// recovery is how long the servers may take to serve again.
const recovery = 2 * time.Minute

// serverFaults befall the servers, and the network between them.
var serverFaults = []fault{
	{"leader killed", atServers(func(at scene) (func() error, error) {
		return at.kill(at.leader)
	})},
	{"follower killed", atServers(func(at scene) (func() error, error) {
		return at.kill(at.followers[0])
	})},
	{"majority killed", atServers(func(at scene) (func() error, error) {
		return at.kill(at.leader, at.followers[0])
	})},
	{"all servers restarted", atServers(func(at scene) (func() error, error) {
		return at.kill(at.Cluster.Servers()...)
	})},
	{"leader stopped", atServers(func(at scene) (func() error, error) {
		return at.stop(at.leader)
	})},
	{"follower stopped", atServers(func(at scene) (func() error, error) {
		return at.stop(at.followers[0])
	})},
	{"all servers stopped", atServers(func(at scene) (func() error, error) {
		return at.stop(at.Cluster.Servers()...)
	})},
	{"leader cut off", atServers(func(at scene) (func() error, error) {
		at.Cluster.Mesh.Partition([]int{at.leader.ID()}, []int{at.followers[0].ID(), at.followers[1].ID()})
		return at.healMesh, nil
	})},
	{"follower cut off", atServers(func(at scene) (func() error, error) {
		at.Cluster.Mesh.Partition([]int{at.followers[0].ID()}, []int{at.leader.ID(), at.followers[1].ID()})
		return at.healMesh, nil
	})},
	{"leader unheard by a follower", atServers(func(at scene) (func() error, error) {
		at.Cluster.Mesh.Block(at.leader.ID(), at.followers[0].ID())
		return at.healMesh, nil
	})},
	{"follower unheard by the leader", atServers(func(at scene) (func() error, error) {
		at.Cluster.Mesh.Block(at.followers[0].ID(), at.leader.ID())
		return at.healMesh, nil
	})},
	{"slow network between the servers", atServers(func(at scene) (func() error, error) {
		for _, f := range at.followers {
			at.Cluster.Mesh.Delay(at.leader.ID(), f.ID(), tick/4)
			at.Cluster.Mesh.Delay(f.ID(), at.leader.ID(), tick/4)
		}
		return at.healMesh, nil
	})},
}

// scene is the ensemble at the moment of a fault, the followers in random order.
type scene struct {
	*Soak
	leader    *apachezk.Server
	followers []*apachezk.Server
}

func atServers(f func(at scene) (heal func() error, err error)) inject {
	return func(s *Soak, rng *rand.Rand) (func() error, error) {
		ctx, cancel := context.WithTimeout(context.Background(), recovery)
		defer cancel()
		leader, followers, err := s.Cluster.Roles(ctx)
		if err != nil {
			return nil, err
		}
		if rng.IntN(2) == 0 {
			slices.Reverse(followers)
		}
		return f(scene{s, leader, followers})
	}
}

func (s *Soak) kill(servers ...*apachezk.Server) (heal func() error, err error) {
	for _, server := range servers {
		server.Kill()
	}
	return func() error {
		for _, server := range servers {
			if err := server.Launch(); err != nil {
				return err
			}
		}
		return s.recovered()
	}, nil
}

func (s *Soak) stop(servers ...*apachezk.Server) (heal func() error, err error) {
	for _, server := range servers {
		err = errors.Join(err, server.Pause())
	}
	return func() error {
		for _, server := range servers {
			if err := server.Continue(); err != nil {
				return err
			}
		}
		return s.recovered()
	}, err
}

func (s *Soak) healMesh() error {
	s.Cluster.Mesh.Heal()
	return s.recovered()
}

// recovered waits until all servers serve, so that the next fault does not take
// the majority away by accident.
func (s *Soak) recovered() error {
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	return s.Cluster.Await(ctx)
}
