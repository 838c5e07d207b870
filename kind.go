package zklock

import "github.com/zklock/zklock/internal/recipe"

// Kind is what a contender asks for, or has.
type Kind int

const (
	Exclusive Kind = iota // a lock: Locker, Curator's InterProcessMutex, zk.Lock, kazoo's Lock
	Write                 // the write side of a read/write lock
	Read                  // the read side
	Permit                // one permit of a semaphore
)

func (k Kind) String() string { return recipe.Kind(k).String() }
