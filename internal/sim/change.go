package sim

import (
	"fmt"

	"github.com/zklock/zklock/zktest"
)

// change is a committed change, to be put into words when it is printed.
type change struct {
	txn    zktest.Txn
	change zktest.Change
}

func describe(txn zktest.Txn, c zktest.Change) change { return change{txn, c} }

func (c change) String() string {
	switch c.change.Kind {
	case zktest.SessionCreated, zktest.SessionClosed:
		return fmt.Sprintf("%v %#x (%v)", c.change.Kind, c.change.Session, c.change.Cause)
	}
	return fmt.Sprintf("%v %s by session %#x (%v), zxid %#x", c.change.Kind, c.change.Path, c.txn.Session, c.change.Cause, c.txn.Zxid)
}
