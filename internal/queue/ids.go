package queue

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zklock/zklock/internal/recipe"
)

// identities hands out the UUIDs of one session's nodes. They share a random prefix, so that
// any list shows which nodes are ours: one that belongs to no live contender is the late result
// of a create whose reply was lost.
type identities struct {
	prefix string
	issued atomic.Uint64
}

// A UUID's text is 8-4-4-4-12, of which the prefix is the first three with their hyphens.
const (
	uuidLength   = 36
	sharedLength = uuidLength - len("8000-000000000000")
)

func newIdentities() *identities {
	var random [8]byte
	rand.Read(random[:]) // never fails since Go 1.24
	digits := hex.EncodeToString(random[:])
	return &identities{prefix: digits[:8] + "-" + digits[8:12] + "-4" + digits[12:15] + "-"}
}

// next returns the path of a node of kind k in dir, but for its sequence, and in it a UUID that this
// session has not used yet: no session needs more than twelve digits.
func (i *identities) next(dir string, k recipe.Kind) (stem, id string) {
	const zeros = "000000000000"
	var room [len(zeros)]byte
	digits := strconv.AppendUint(room[:0], i.issued.Add(1), 16)
	stem = dir + "/" + recipe.Prefix + i.prefix + "8000-" + zeros[len(digits):] + string(digits) + recipe.Marker(k)
	return stem, stem[len(dir)+len("/"+recipe.Prefix):][:uuidLength]
}

// makerOf returns what the names of all nodes of the session share that has made this one; false if
// another library has.
func makerOf(name string) (maker string, ok bool) {
	if !recipe.Ours(name) {
		return "", false
	}
	return name[:len(recipe.Prefix)+sharedLength], true
}

// of returns the UUID in a node's name, if it is one of this session's.
func (i *identities) of(name string) (id string, ours bool) {
	rest, ok := strings.CutPrefix(name, recipe.Prefix)
	if !ok || len(rest) < uuidLength || !strings.HasPrefix(rest, i.prefix) {
		return "", false
	}
	return rest[:uuidLength], true
}
