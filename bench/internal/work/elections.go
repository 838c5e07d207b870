package work

import (
	"context"
	"fmt"
)

// candidates is one leader and n who wait, each with a session of its own.
func candidates(n int) lineUp {
	return lineUp{word: "campaign", sessions: n + 1, waiters: n}
}

// resigned is the time from a leader's resigning until the next one's function
// runs, in another session, with n candidates waiting at first.
func resigned(n int) Work {
	return succession("resigned", n, fmt.Sprintf("Election: from resigning to the next leader, %d waiting", n))
}

// deposed is the same from the request of an operator that deletes the leader's
// node.
func deposed(n int) Work {
	return succession("deposed", n, fmt.Sprintf("Election: from the leader's node being deleted to the next leader, %d waiting", n))
}

func succession(id string, n int, title string) Work {
	return Work{
		ID:         fmt.Sprintf("election-%s-%d", id, n),
		Parties:    elections,
		Shows:      []Quantity{micros(title)},
		Large:      n > 10,
		MostRounds: 5,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			l := candidates(n)
			if id == "deposed" {
				l.drained = map[string]string{"operator": b.servers(p, direct)[0]}
			}
			return l.drain(ctx, b, p, path)
		},
	}
}

// observed is the time from a leader's resigning until n sessions have heard of
// the next one. Curator's and kazoo's elections tell nobody but the candidates.
func observed(n int) Work {
	return Work{
		ID:         fmt.Sprintf("election-observed-%d", n),
		Parties:    []Party{zklock, etcdElection},
		Shows:      []Quantity{micros(fmt.Sprintf("Election: from resigning to %d observers' having heard of the next leader", n))},
		Large:      true,
		MostRounds: 3,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			l := candidates(20)
			l.observers = n
			return l.drain(ctx, b, p, path)
		},
	}
}
