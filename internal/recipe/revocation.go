package recipe

import (
	"bytes"
	"slices"
)

// RevokeMark is what Curator's Revoker writes on a node to ask for its lock back. Curator's
// holders heed it alone; ours do, and one ahead of what the node said before.
const RevokeMark = "__REVOKE__"

// Revocation reads what a node says: whether it asks for its lock back, and what it says
// besides, nil if that is nothing.
func Revocation(data []byte) (rest []byte, asked bool) {
	rest, asked = bytes.CutPrefix(data, []byte(RevokeMark))
	switch {
	case !asked:
		return data, false
	case len(rest) == 0:
		return nil, true
	case len(rest) == 1 || rest[0] != ' ':
		return data, false
	}
	return rest[1:], true
}

// Revoked returns what a node says that asks for its lock back, besides rest.
func Revoked(rest []byte) []byte {
	if len(rest) == 0 {
		return []byte(RevokeMark)
	}
	return slices.Concat([]byte(RevokeMark+" "), rest)
}
