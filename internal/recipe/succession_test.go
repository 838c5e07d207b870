package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The exclusive contender behind is the next one if a list has shown the two as neighbours, or
// if their numbers follow each other in one queue. Everything that may be known is tried, so that no other condition lets it pass.
func TestOneContenderMayHandItsLockToAnotherOnlyIfNobodyCanBeBetweenThem(t *testing.T) {
	kinds := []Kind{Exclusive, Write, Read, Permit}
	for _, ahead := range kinds {
		for _, self := range kinds {
			for _, number := range []int32{38, 39, 40, 41, 42, 43} {
				for known := range 4 {
					s := Succession{
						Ahead: Node{Kind: ahead, Sequence: number}, Self: Node{Kind: self, Sequence: 41},
						Listed: known&1 != 0, SameQueue: known&2 != 0,
					}
					neighbours := s.Listed || s.SameQueue && number == 40
					require.Equal(t, ahead == Exclusive && self == Exclusive && neighbours, s.Allowed(), "%+v", s)
				}
			}
		}
	}
}

func TestNobodySucceedsWhereTheNumbersNoLongerTellWhoCameFirst(t *testing.T) {
	for _, self := range []int32{orderEnd, 1<<31 - 1, -1<<31 + 1, -1} {
		s := Succession{
			Ahead: Node{Kind: Exclusive, Sequence: self - 1}, Self: Node{Kind: Exclusive, Sequence: self},
			Listed: true, SameQueue: true,
		}
		require.False(t, s.Allowed(), self)
	}
}
