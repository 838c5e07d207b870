package lock_test

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// rw returns a reader/writer lock on the site's path.
func (at *site) rw(s *zklock.Session, opts ...zklock.Option) *zklock.RWLocker {
	at.t.Helper()
	l, err := zklock.NewRW(s, at.path, opts...)
	require.NoError(at.t, err)
	return l
}

// kindsOf returns a letter for each lock node, R or W or L, in the order given.
func kindsOf(nodes []string) string {
	kinds := make([]byte, len(nodes))
	for i, node := range nodes {
		switch {
		case strings.Contains(node, "-__READ__"):
			kinds[i] = 'R'
		case strings.Contains(node, "-__WRIT__"):
			kinds[i] = 'W'
		default:
			kinds[i] = 'L'
		}
	}
	return string(kinds)
}
