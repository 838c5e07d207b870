package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// wrongLists are lists by which nobody gets in, or none.
var wrongLists = [][]zk.ACL{
	{{Perms: zk.PermAll, Scheme: "digest", ID: "user:secret"}}, // a password where the hash belongs
	zk.DigestACL(zk.PermAll, "nobody", "here"),
	zk.WorldACL(zk.PermAll &^ zk.PermCreate),
	zk.WorldACL(zk.PermAll &^ zk.PermRead),
	{{Perms: zk.PermAll, Scheme: "sasl", ID: "user"}},
}

// wrongList has a machine ask for a lock with a list that keeps itself out, where nothing is yet.
// Another one asks for a lock beside it meanwhile, and then for the same one.
func (w *world) wrongList(f Fault) func() {
	d := w.dice(f)
	top, list, longest := fmt.Sprintf("/wrong-%d", f.At), wrongLists[d.IntN(len(wrongLists))], 10*time.Millisecond+d.short(f.For/4)
	m, other := w.machines[f.Machine], w.machines[(f.Machine+1)%len(w.machines)]
	over, wronged := make(chan struct{}), make(chan struct{})
	w.work.Go(func() {
		defer close(wronged)
		for asks := true; asks && isOpen(over); asks = pause(w.ctx, longest) {
			err := w.askOnce(m, top+"/lock", list)
			w.log.note(m.name, "asks for %s/lock with a wrong list: %v", top, err)
			if err == nil {
				w.checker.fail("P4", "%s has a lock by a list that keeps it out", m.name)
			}
		}
	})
	w.work.Go(func() {
		w.askOpenly(other, top+"/beside")
		<-wronged
		w.askOpenly(other, top+"/lock")
	})
	return func() { close(over) }
}

// askOpenly has a machine lock and unlock a path, and checks that no list stays in its way. A node that
// its list hides does until it is deleted.
func (w *world) askOpenly(m *machine, path string) {
	var err error
	for range 10 {
		err = w.askOnce(m, path, zk.WorldACL(zk.PermAll))
		w.log.note(m.name, "asks for %s: %v", path, err)
		if err == nil || w.ctx.Err() != nil {
			return
		}
		pause(w.ctx, 50*time.Millisecond)
	}
	if errors.Is(err, zk.ErrNoAuth) {
		w.checker.fail("P4", "a list that was refused keeps %s out: %v", m.name, err)
	}
}

// askOnce has a machine lock and unlock a path, if that takes no long time.
func (w *world) askOnce(m *machine, path string, list []zk.ACL) error {
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	inc := m.current()
	if inc == nil {
		return w.ctx.Err()
	}
	l, err := zklock.New(inc.session, path, zklock.WithACL(list))
	if err != nil {
		return err
	}
	h, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	return h.Release(ctx)
}
