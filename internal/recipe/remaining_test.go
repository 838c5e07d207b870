package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfAListOnlyThoseAheadAreAskedFor(t *testing.T) {
	exclusive := func(sequence int32) Node {
		return Node{Name: Sequential(Stem("x", Exclusive), sequence), Sequence: sequence}
	}
	self := exclusive(7)
	at := func(sequence int32, kind Kind, foreign bool) Node {
		n := exclusive(sequence)
		n.Name, n.Kind, n.Foreign = "other-"+n.Name, kind, foreign
		return n
	}
	for name, c := range map[string]struct {
		listed []Node
		floor  int32
		most   int
		ahead  []Node
		ok     bool
	}{
		"nobody ahead":              {[]Node{exclusive(9), self}, 0, 1, nil, true},
		"not listed itself":         {[]Node{exclusive(5), exclusive(9)}, 0, 1, []Node{exclusive(5)}, false},
		"as many as may be":         {[]Node{exclusive(5), self, exclusive(3)}, 0, 2, []Node{exclusive(5), exclusive(3)}, true},
		"too many":                  {[]Node{exclusive(5), self, exclusive(3)}, 0, 1, nil, false},
		"those below have gone":     {[]Node{exclusive(5), self, exclusive(3)}, 4, 1, []Node{exclusive(5)}, true},
		"the lowest may be there":   {[]Node{exclusive(5), self, exclusive(3)}, 3, 2, []Node{exclusive(5), exclusive(3)}, true},
		"a reader leaves nothing":   {[]Node{at(5, Read, false), self}, 0, 1, []Node{at(5, Read, false)}, true},
		"a writer leaves a reader":  {[]Node{at(5, Write, false), self}, 0, 1, nil, false},
		"also one that has gone":    {[]Node{at(5, Write, false), self}, 6, 1, nil, false},
		"a foreign one may as well": {[]Node{at(5, Exclusive, true), self}, 0, 1, nil, false},
		"also of the same number":   {[]Node{at(7, Exclusive, true), self}, 0, 1, nil, false},
		"without order none has":    {[]Node{exclusive(-2), self}, 0, 1, nil, false},
		"those behind do not":       {[]Node{self, at(8, Write, false), at(9, Exclusive, true)}, 0, 1, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			ahead, ok := Remaining(c.listed, self, c.floor, c.most)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.ahead, ahead)
		})
	}
	for _, end := range []int32{orderEnd, -1} {
		_, ok := Remaining([]Node{exclusive(end)}, exclusive(end), -2, 1)
		require.False(t, ok)
	}
}
