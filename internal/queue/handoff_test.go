package queue

import (
	"fmt"
	"testing"

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
		want  contention
	}{
		{false, []string{node(1)}, alone},
		{false, []string{node(1), node(2)}, others},
		{true, []string{node(1)}, unknown},
		{true, []string{node(1), node(2)}, others},
	} {
		w := &client.Watch{Names: c.names, Fired: make(chan struct{})}
		if c.fired {
			close(w.Fired)
		}
		require.Equal(t, c.want, contentionOf(w, node(1)), "%+v", c)
	}
}
