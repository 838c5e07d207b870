package friends

import (
	"context"
	"errors"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
)

// active is a physical.Lock of Vault: what LockWith(key, value) returns, with an election on a path of
// the key's and WithValue(value).
type active struct {
	session  *zklock.Session
	path     string
	election *election.Election
	term     *election.Term
}

func (a *active) Lock(stop <-chan struct{}) (<-chan struct{}, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	term, err := a.election.Campaign(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil // Vault has stopped it
		}
		return nil, err
	}
	a.term = term
	return term.Lost(), nil
}

func (a *active) Unlock() error { return a.term.Resign(context.Background()) }

func (a *active) Value() (bool, string, error) {
	leader, err := election.Leader(context.Background(), a.session, a.path)
	if errors.Is(err, election.ErrNoLeader) {
		return false, "", nil
	}
	return err == nil, string(leader.Value), err
}
