package recipe

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func name(k Kind, sequence int) string { return fmt.Sprintf("%s%010d", Stem(id, k), sequence) }

func TestAContenderWaitsForThoseAheadThatBlockIt(t *testing.T) {
	names := []string{name(Read, 4), "config", name(Write, 2), name(Read, 5), name(Read, 1), name(Exclusive, 9), name(Permit, 0)}
	for _, want := range []struct {
		self            Node
		ahead, inTheWay int
		nearest, before int32
	}{
		{Node{Name: name(Read, 1), Kind: Read, Sequence: 1}, 0, 0, 0, 0},
		{Node{Name: name(Write, 2), Kind: Write, Sequence: 2}, 1, 1, 1, 0},
		{Node{Name: name(Read, 4), Kind: Read, Sequence: 4}, 1, 2, 2, 0},
		{Node{Name: name(Read, 5), Kind: Read, Sequence: 5}, 1, 2, 2, 0},
		{Node{Name: name(Exclusive, 9), Kind: Exclusive, Sequence: 9}, 4, 4, 5, 4},
	} {
		at, err := Locate(Nodes(names), want.self)
		require.NoError(t, err)
		require.Equal(t, want.ahead, at.Ahead, want.self)
		require.Equal(t, want.inTheWay, at.InTheWay(Nodes(names)), want.self)
		require.Equal(t, want.nearest, at.Nearest.Sequence, want.self)
		require.Equal(t, want.before, at.Before.Sequence, want.self)
	}
}

// A writer that downgrades has two nodes of one number for a moment.
func TestBothNodesOfADowngradeAreInTheWayOfAWriter(t *testing.T) {
	names := []string{name(Write, 1), name(Read, 1), name(Write, 2), name(Write, 3)}
	for self, want := range []int{2: 2, 3: 3} {
		if want > 0 {
			at, err := Locate(Nodes(names), Node{Name: name(Write, self), Kind: Write, Sequence: int32(self)})
			require.NoError(t, err)
			require.Equal(t, want, at.InTheWay(Nodes(names)))
		}
	}
}

// A server lists children in any order.
func TestTheTwoNearestAheadAreFoundInWhateverOrderTheyAreListed(t *testing.T) {
	contender := func(sequence int) (n Node) {
		if sequence >= 0 {
			n = Node{Name: name(Exclusive, sequence), Kind: Exclusive, Sequence: int32(sequence)}
		}
		return n
	}
	for ahead := range 5 {
		names := []string{name(Exclusive, 9)}
		for sequence := range ahead + 1 {
			names = append(names, contender(sequence).Name)
		}
		permute(names, 0, func(listed []string) {
			at, err := Locate(Nodes(listed), contender(ahead))
			require.NoError(t, err)
			require.Equal(t, Position{Ahead: ahead, Nearest: contender(ahead - 1), Before: contender(ahead - 2)}, at, listed)
		})
	}
}

// permute shows all orders of what is in s from there on.
func permute(s []string, from int, show func([]string)) {
	if from == len(s) {
		show(s)
	}
	for i := from; i < len(s); i++ {
		s[from], s[i] = s[i], s[from]
		permute(s, from+1, show)
		s[from], s[i] = s[i], s[from]
	}
}

// A release may wake somebody whose turn it is not: the next writer, while others read. That one counts too.
func TestAReleaseWakesOneMoreAtMostAndTwoAmongReadersAndWriters(t *testing.T) {
	const longest = 6
	for most, kinds := range map[int][]Kind{1: {Exclusive}, 2: {Exclusive, Write, Read}} {
		var check func(queue []Node, names []string)
		check = func(queue []Node, names []string) {
			for i := range queue {
				require.LessOrEqual(t, len(wokenToo(t, queue, names, i)), most, "%v goes of %v", queue[i].Name, names)
			}
			if len(queue) == longest {
				return
			}
			for _, k := range kinds {
				n := Node{Name: name(k, len(queue)), Kind: k, Sequence: int32(len(queue))}
				check(append(slices.Clone(queue), n), append(slices.Clone(names), n.Name))
			}
		}
		check(nil, nil)
	}
}

// wokenToo returns whom the end of the ith in the queue wakes though it is not their turn: one of the readers that
// wait for the same writer stands for all. None if the ith gives up.
func wokenToo(t *testing.T, queue []Node, names []string, i int) map[Node]bool {
	t.Helper()
	goes, woken := queue[i], make(map[Node]bool)
	if at, err := Locate(Nodes(names), goes); err != nil || at.Ahead > 0 {
		return nil
	}
	rest := slices.Delete(slices.Clone(names), i, i+1)
	for _, n := range queue[i+1:] {
		at, err := Locate(Nodes(names), n)
		require.NoError(t, err)
		left, err := Locate(Nodes(rest), n)
		require.NoError(t, err)
		if (at.Nearest == goes || at.Before == goes) && left.Ahead > 0 {
			if n.Kind == Read {
				n = left.Nearest
			}
			woken[n] = true
		}
	}
	return woken
}

func TestAListThatCannotPlaceAContenderSaysWhy(t *testing.T) {
	self := Node{Name: name(Write, 3), Kind: Write, Sequence: 3}
	_, err := Locate(Nodes([]string{name(Write, 2)}), self)
	require.ErrorIs(t, err, ErrMissing)
	_, err = Locate(Nodes([]string{self.Name, name(Read, 3)}), self)
	require.ErrorIs(t, err, ErrTwice)
	self.Sequence = orderEnd
	_, err = Locate(Nodes([]string{self.Name}), self)
	require.ErrorIs(t, err, ErrUnordered)
}

// What has our number was not given it by the server, which gives each once.
func TestAForeignNodeIsAheadOfAllThatHaveALargerNumber(t *testing.T) {
	names := []string{"n_0000000003", name(Read, 1), "order-0000000005", name(Read, 5), "order-0000000006"}
	for self, want := range map[int]Position{
		1: {},
		4: {Ahead: 1, Nearest: Node{Name: "n_0000000003", Sequence: 3, Foreign: true}, Foreign: true},
		5: {Ahead: 1, Nearest: Node{Name: "n_0000000003", Sequence: 3, Foreign: true}, Foreign: true},
		8: {
			Ahead: 4, Nearest: Node{Name: name(Write, 7), Kind: Write, Sequence: 7},
			Before: Node{Name: "order-0000000006", Sequence: 6, Foreign: true}, Foreign: true,
		},
	} {
		at, err := Locate(Nodes(append(names, name(Read, 4), name(Write, 7), name(Read, 8))), Node{Name: name(Read, self), Kind: Read, Sequence: int32(self)})
		require.NoError(t, err)
		require.Equal(t, want, at, self)
	}
}

func TestANewcomerIsBlockedByWhomItConflictsWith(t *testing.T) {
	require.False(t, AnyBlocks([]string{"order-0000000001"}, Exclusive), "which a look at it tells")
	require.True(t, AnyBlocks([]string{"lock-0000000001"}, Read))
	require.False(t, AnyBlocks([]string{name(Read, 1), "config"}, Read))
	require.True(t, AnyBlocks([]string{name(Read, 1)}, Write))
	require.True(t, AnyBlocks([]string{name(Write, 1)}, Read))
	require.True(t, AnyBlocks([]string{name(Exclusive, 1)}, Exclusive))
	require.False(t, AnyBlocks(nil, Exclusive))
}

func TestTheQueueShowsWhoHoldsTheLock(t *testing.T) {
	var held []string
	queue := Queue([]string{name(Write, 6), name(Read, 3), "config", name(Write, 2), name(Read, 2), name(Read, 7)})
	require.Len(t, queue, 5)
	for _, w := range queue {
		if w.Holds {
			held = append(held, w.Name)
		}
	}
	// A writer that downgrades has two nodes for a moment.
	require.ElementsMatch(t, []string{name(Write, 2), name(Read, 2)}, held)
	require.Equal(t, int32(7), queue[4].Sequence)
}

func TestAPlaceWhoseNumberDoesNotCountHoldsNothing(t *testing.T) {
	for _, w := range Queue([]string{name(Read, 1), name(Read, orderEnd), name(Read, 2147483647)}) {
		require.Equal(t, w.Sequence == 1, w.Holds, w.Name)
	}
}

func TestReadersAtTheHeadOfTheQueueShareTheLock(t *testing.T) {
	for _, w := range Queue([]string{name(Read, 1), name(Read, 2), name(Write, 3), name(Read, 4)}) {
		require.Equal(t, w.Sequence < 3, w.Holds, w.Name)
	}
}

// holdsPlainly says by the recipe alone whether n has the lock: nobody ahead of it blocks it.
func holdsPlainly(queue []Waiting, n Waiting) bool {
	return !slices.ContainsFunc(queue, func(other Waiting) bool {
		return other.Sequence < n.Sequence && other.Kind.Blocks(n.Kind)
	})
}

func TestTheHoldersOfEverySmallQueueAreThoseThatNobodyAheadBlocks(t *testing.T) {
	const longest = 4
	queues := 0
	var check func(names []string)
	check = func(names []string) {
		queue := Queue(names)
		queues++
		require.Len(t, queue, len(names))
		for i, n := range queue {
			require.True(t, i == 0 || queue[i-1].Sequence <= n.Sequence, names)
			if n.Holds != holdsPlainly(queue, n) {
				require.Fail(t, "it is not so", "%s of %v", n.Name, names)
			}
		}
		if len(names) == longest {
			return
		}
		for _, k := range []Kind{Exclusive, Write, Read} {
			for sequence := range longest - 1 { // so that some have the same
				check(append(slices.Clone(names), name(k, sequence)))
			}
		}
	}
	check(nil)
	t.Logf("%d queues", queues)
}

func TestEachOfALongQueueIsComparedWithOneOfEachKind(t *testing.T) {
	var ahead front
	for sequence := range 1000 {
		for _, k := range []Kind{Read, Read, Write, Exclusive} {
			ahead.add(Node{Kind: k, Sequence: int32(sequence)})
		}
	}
	require.Equal(t, front{{Kind: Read}, {Kind: Write}, {Kind: Exclusive}}, ahead)
}
