package queue

import (
	"errors"
	"slices"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// sweep deletes those of the listed children that are ours and that nobody here knows: the
// results of creates that were executed late.
func (s *Session) sweep(l *wire.Link, dir string, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	strays := map[string][]string{}
	for _, name := range names {
		if id, ours := s.ids.of(name); ours && s.live[id] == nil {
			strays[id] = append(strays[id], recipe.Join(dir, name))
		}
	}
	for id, nodes := range strays {
		s.discard(l, id, nodes)
	}
}

// errLeftBehind says that nothing is in the way but nodes that this session is deleting.
var errLeftBehind = errors.New("nodes of this session that nobody wants any more are still there")

// mostTries bounds how often a try looks again for the end of those: a server may refuse their
// delete.
const mostTries = 5

// wanted returns those of the listed children that somebody has, or waits for: all but what
// calls of this session have left, which is being deleted.
func (s *Session) wanted(names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		c, ours := s.ours(name)
		return ours && (c == nil || c.state == leaving || c.state == abandoned)
	})
}

// discard deletes the nodes that a create of that id in l's session has left, for whose
// contender they are of no use. s.mu is held.
func (s *Session) discard(l *wire.Link, id string, nodes []string) {
	stray := s.register(&Queue{session: s, dir: recipe.Parent(nodes[0])}, &incarnation{id: l.ID}, id)
	stray.created(nodes, 0)
	stray.leaveLocked()
}
