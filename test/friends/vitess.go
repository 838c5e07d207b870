package friends

import (
	"context"
	"errors"
	"sync"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/test/friends/topo"
)

// participation is a topo.LeaderParticipation of vitess. Its election has WithValue(id); ctx ends by stop.
type participation struct {
	session  *zklock.Session
	path     string
	election *election.Election
	ctx      context.Context
	stop     context.CancelFunc
	mu       sync.Mutex
	leading  sync.WaitGroup
}

func (p *participation) WaitForLeadership() (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	term, err := p.election.Campaign(p.ctx)
	if err != nil {
		if p.ctx.Err() != nil {
			err = topo.NewError(topo.Interrupted, p.path)
		}
		return nil, err
	}
	ctx, end := context.WithCancel(p.ctx)
	p.leading.Go(func() {
		defer end()
		select {
		case <-term.Lost():
		case <-p.ctx.Done():
			term.Resign(context.Background())
		}
	})
	return ctx, nil
}

func (p *participation) Stop() {
	p.stop()
	p.mu.Lock() // a candidate has given up
	defer p.mu.Unlock()
	p.leading.Wait()
}

func (p *participation) GetCurrentLeaderID(ctx context.Context) (string, error) {
	leader, err := election.Leader(ctx, p.session, p.path)
	if errors.Is(err, election.ErrNoLeader) {
		return "", nil
	}
	return string(leader.Value), err
}

func (p *participation) WaitForNewLeader(ctx context.Context) (<-chan string, error) {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(p.ctx, cancel)
	ids := make(chan string)
	go func() {
		defer close(ids)
		for leader, err := range election.Observe(ctx, p.session, p.path) {
			if err != nil {
				continue // nobody leads, or it was the last word
			}
			select {
			case ids <- string(leader.Value):
			case <-ctx.Done():
			}
		}
	}()
	return ids, nil
}
