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
	{"leader killed", atServers(func(at scene) error { return kill(at.leader) })},
	{"follower killed", atServers(func(at scene) error { return kill(at.followers[0]) })},
	{"majority killed", atServers(func(at scene) error { return kill(at.leader, at.followers[0]) })},
	{"all servers restarted", atServers(func(at scene) error { return kill(at.Servers()...) })},
	{"leader stopped", atServers(func(at scene) error { return stop(at.leader) })},
	{"follower stopped", atServers(func(at scene) error { return stop(at.followers[0]) })},
	{"all servers stopped", atServers(func(at scene) error { return stop(at.Servers()...) })},
	{"leader cut off", atServers(func(at scene) error {
		at.CutOff(at.leader)
		return nil
	})},
	{"follower cut off", atServers(func(at scene) error {
		at.CutOff(at.followers[0])
		return nil
	})},
	{"leader unheard by a follower", atServers(func(at scene) error {
		at.Mesh.Block(at.leader.ID(), at.followers[0].ID())
		return nil
	})},
	{"follower unheard by the leader", atServers(func(at scene) error {
		at.Mesh.Block(at.followers[0].ID(), at.leader.ID())
		return nil
	})},
	{"slow network between the servers", atServers(func(at scene) error {
		for _, f := range at.followers {
			at.Mesh.Delay(at.leader.ID(), f.ID(), tick/4)
			at.Mesh.Delay(f.ID(), at.leader.ID(), tick/4)
		}
		return nil
	})},
}

// scene is the ensemble at the moment of a fault, the followers in random order.
type scene struct {
	*Cluster
	leader    *apachezk.Server
	followers []*apachezk.Server
}

// atServers heals all that breaks before the next fault comes, so that that does not
// take the majority away by accident.
func atServers(breaks func(at scene) error) inject {
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
		return s.Cluster.Heal, breaks(scene{s.Cluster, leader, followers})
	}
}

func kill(servers ...*apachezk.Server) error {
	for _, s := range servers {
		s.Kill()
	}
	return nil
}

func stop(servers ...*apachezk.Server) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.Pause())
	}
	return err
}
