package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnOptionThatIsNilIsRefusedByItsNumberAndThoseBeforeItCount(t *testing.T) {
	type option func(*[]int)
	add := func(n int) option { return func(set *[]int) { *set = append(*set, n) } }
	for name, tc := range map[string]struct {
		opts []option
		set  []int
		err  string
	}{
		"none":                {},
		"some, in this order": {opts: []option{add(2), add(1)}, set: []int{2, 1}},
		"the first is nil":    {opts: []option{nil, add(1)}, err: "option 1 is nil"},
		"the last is nil":     {opts: []option{add(1), add(2), nil}, set: []int{1, 2}, err: "option 3 is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			var set []int
			err := Apply(&set, tc.opts)
			require.Equal(t, tc.set, set)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.err)
			}
		})
	}
}
