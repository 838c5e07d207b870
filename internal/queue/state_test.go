package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLifeOfAContenderOnlyGoesOn(t *testing.T) {
	for from := creating; from <= leaving; from++ {
		for to := creating; to <= leaving; to++ {
			c := contender{state: from}
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
		c := contender{state: from}
		require.Equal(t, from < ended, c.become(ended), "each may be lost, once")
		c = contender{state: from}
		require.Equal(t, from < leaving, c.become(leaving), "each leaves, once")
	}
}
