package apachezk_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func TestEveryConnectionBetweenServersIsRouted(t *testing.T) {
	type link struct{ from, to int }
	var (
		mu   sync.Mutex
		seen = make(map[link]int)
	)
	e := apachezk.Run(t, func(c *apachezk.Config) {
		c.Servers = 3
		c.Route = func(from, to int, addr string) string {
			mu.Lock()
			defer mu.Unlock()
			seen[link{from, to}]++
			return addr
		}
	})
	leader, err := e.Leader(t.Context())
	require.NoError(t, err)

	mu.Lock()
	defer mu.Unlock()
	for _, s := range e.Servers() {
		if s != leader {
			require.Contains(t, seen, link{s.ID(), leader.ID()})
		}
	}
}
