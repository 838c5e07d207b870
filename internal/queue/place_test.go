package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// contenderOf returns a contender of session 1 that has that node.
func contenderOf(node string, sequence int32) *contender {
	return &contender{queue: &Queue{kind: recipe.Exclusive}, incarnation: &incarnation{id: 1}, node: node, sequence: sequence}
}

// listingOf returns a list of session 1 that was taken after the create.
func listingOf(names ...string) *listing {
	return &listing{List: &client.List{Link: &wire.Link{ID: 1}, Names: names}}
}

// A list proves that a node is gone only if it was taken after the create, and in its session.
func TestAListSaysWhereAContenderStandsOrWhetherToAskForAnother(t *testing.T) {
	const first, ours, reader = "x-lock-0000000001", "y-lock-0000000002", "z-__READ__0000000002"
	for name, c := range map[string]struct {
		names   []string
		session int64 // whose connection carried the list
		early   bool  // it was sent ahead of the create
		ahead   int
		err     error
	}{
		"it leads":                       {names: []string{ours}, session: 1},
		"another one is ahead":           {names: []string{ours, first}, session: 1, ahead: 1},
		"the list is early, and has it":  {names: []string{ours, first}, session: 1, early: true, ahead: 1},
		"the list is early":              {names: []string{first}, session: 1, early: true, ahead: 1, err: client.ErrStale},
		"its node is gone":               {names: []string{first}, session: 1, ahead: 1, err: errNodeDeleted},
		"the list is a later session's":  {names: []string{first}, session: 2, err: client.ErrStale},
		"another one has the same place": {names: []string{ours, reader}, session: 1, err: recipe.ErrTwice},
	} {
		t.Run(name, func(t *testing.T) {
			view := listingOf(c.names...)
			view.Link.ID, view.along = c.session, c.early
			at, err := view.placeAmong(view.Nodes(), contenderOf("/lock/"+ours, 2))
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.ahead, at.Ahead)
			require.Same(t, view.Link, at.link)
		})
	}
}
