package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
)

func TestTheLifeOfAContenderOnlyGoesOn(t *testing.T) {
	q := &Queue{session: NewSession(client.New(time.Second, new(clock.Clock), client.Options{}))}
	for from := creating; from <= leaving; from++ {
		for to := creating; to <= leaving; to++ {
			c := contender{queue: q, state: from}
			if !c.become(to) {
				require.Equal(t, from, c.state, "%d stays when it may not become %d", from, to)
				continue
			}
			require.Equal(t, to, c.state)
			require.Greater(t, to, from)
			if to == holding {
				require.Equal(t, waiting, from, "nobody has a lock whose node is not there yet")
			}
			if to == lingering {
				require.Contains(t, []state{holding, ended}, from, "only who has had a lock stays")
			}
		}
		c := contender{queue: q, state: from}
		require.Equal(t, from < ended, c.become(ended), "each may be lost, once")
		c = contender{queue: q, state: from}
		require.Equal(t, from < leaving, c.become(leaving), "each leaves, once")
	}
}
