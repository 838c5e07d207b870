package job

import (
	"os"
	"slices"
)

// kernel is asked about processes. Between two questions they fork, end, and begin sessions.
type kernel interface {
	children(pid int) (pids []int, known bool) // with the zombies
	session(pid int) (id int, err error)
	isOver(pid int) bool
}

// kinship is that of a process and a child of it.
type kinship struct{ parent, child int }

// nothingLeft reports whether nothing that descends from this process is left in its session, or,
// if everything is asked for, in any: nothing but the others, and zombies.
func nothingLeft(others []int, everything bool) bool {
	return foundNothing(linux{}, others, everything)
}

// foundNothing looks twice: a process that ends meanwhile leaves its children to one above it,
// whose own may have been looked at before. If both looks show the same, nobody was left to anybody.
func foundNothing(k kernel, others []int, everything bool) bool {
	first, nothing := search(k, others, everything)
	if !nothing {
		return false
	}
	again, nothing := search(k, others, everything)
	return nothing && slices.Equal(first, again)
}

// search reports whether it has found nothing that is left, and what it has found that may be
// above something, or have been: zombies too.
func search(k kernel, others []int, everything bool) (found []kinship, nothing bool) {
	self := os.Getpid()
	own, _ := k.session(self)
	for next := []int{self}; len(next) > 0; next = next[1:] {
		children, known := k.children(next[0])
		if !known {
			return nil, false
		}
		for _, pid := range children {
			if slices.Contains(others, pid) {
				continue
			}
			session, err := k.session(pid) // before its children: one that begins its own leaves those behind that it has
			counts := err == nil && (everything || session == own)
			switch {
			case counts && !k.isOver(pid):
				return nil, false
			case err == nil && !counts && session != pid:
				continue // born in that session, as all below it: however a daemon's work changes, we need not look
			}
			found, next = append(found, kinship{next[0], pid}), append(next, pid)
		}
	}
	return found, true
}
