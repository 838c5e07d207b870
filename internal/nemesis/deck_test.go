package nemesis

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachFaultIsDealtBeforeAnyComesAgain(t *testing.T) {
	for lane, faults := range nemeses {
		d := deck{dice: rand.New(rand.NewPCG(uint64(lane), 0)), faults: faults}
		for range 3 {
			dealt := make(map[string]bool)
			for range faults {
				dealt[d.deal().name] = true
			}
			require.Len(t, dealt, len(faults))
		}
	}
}
