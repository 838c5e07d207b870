package queue

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// A handoff that takes this for not knowing would keep its node past those that its list has
// shown. The event may come with the list, which no test can have it do each time.
func TestACohortThatHasSeenOthersKnowsThemWhenOneMoreComes(t *testing.T) {
	node := func(sequence int) string {
		return fmt.Sprintf("%s%010d", recipe.Stem("8a0e0000-0000-4000-8000-000000000000", recipe.Exclusive), sequence)
	}
	for _, c := range []struct {
		fired bool
		names []string
		err   error
		want  contention
	}{
		{false, []string{node(1)}, nil, alone},
		{false, []string{node(1), "config"}, nil, alone},
		{false, []string{node(1), node(2)}, nil, others},
		{true, []string{node(1)}, nil, unknown},
		{true, []string{node(1), node(2)}, nil, others},
		{false, nil, zk.ErrNoAuth, unknown},
		{true, []string{node(1), node(2)}, zk.ErrConnectionClosed, unknown}, // of the connection before
	} {
		w := &client.Watch{Names: c.names, Err: c.err, Fired: make(chan struct{})}
		if c.fired {
			close(w.Fired)
		}
		require.Equal(t, c.want, contentionOf(w, node(1)), "%+v", c)
	}
}
