package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// list is the access list of a node, as it was before any operator changed it.
type list struct {
	node string
	acl  []zk.ACL // nil if nobody has read it
	away bool     // somebody has changed it
}

// withdrawals are what operators take away from the path of a lock, by how often. To read is what
// ZooKeeper tells of watches for, without a word if it is missing.
var withdrawals = []int32{
	zk.PermRead, zk.PermRead, zk.PermRead, zk.PermDelete, zk.PermDelete, zk.PermCreate,
	zk.PermRead | zk.PermDelete, zk.PermRead | zk.PermDelete, zk.PermRead | zk.PermCreate | zk.PermDelete,
}

// withdraw has an operator take permissions on a lock's path, on some of its nodes, or on both,
// away from everybody, or from all but those who log in, and give them back later.
func (w *world) withdraw(f Fault) func() {
	d := w.dice(f)
	if !d.one(3) {
		w.crowd(f)
		time.Sleep(d.short(f.For / 8))
	}
	dir := d.among(w.program.dirs())
	nodes := slices.DeleteFunc(w.checker.nodes(), func(node string) bool { return dirOf(node) != dir })
	slices.Sort(nodes)
	perms := withdrawals[d.IntN(len(withdrawals))]
	var from []string
	switch {
	case len(nodes) > 0 && d.one(3):
		from, perms = []string{d.among(nodes)}, zk.PermRead
	case d.one(3):
		from = append(nodes, dir)
	default:
		from = []string{dir}
	}
	who := zk.DigestACL(zk.PermAll, "operator", "key")
	if d.one(2) {
		who = append(who, zk.DigestACL(zk.PermAll, "user", "secret")...)
	}
	return w.changeLists(from, append(who, zk.WorldACL(zk.PermAll&^perms)...), perms)
}

// dirs returns where the program's locks have their nodes.
func (p *Program) dirs() (dirs []string) {
	for _, l := range p.Lockers {
		if l.Kind == Permits {
			dirs = append(dirs, l.Path+"/leases", l.Path+"/locks")
		} else {
			dirs = append(dirs, l.Path)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// changeLists has an operator change access lists until the function that it returns is called.
func (w *world) changeLists(nodes []string, to []zk.ACL, perms int32) (end func()) {
	over := make(chan struct{})
	w.work.Go(func() {
		taken := w.checker.take(nodes)
		for _, l := range taken {
			s := &spell{of: l.node, code: noAuth, tail: tailOf(perms), deaf: true}
			w.checker.begin(s)
			defer w.checker.end(s)
		}
		w.administer(func(o *operator) error {
			for _, l := range taken {
				w.log.note("operator", "takes %#x on %s away: %v", perms, l.node, o.change(l, to))
			}
			return nil
		})
		closesWithin(faultTime, over)
		for w.administer(func(o *operator) error { return o.giveBack(taken) }) != nil {
			if !pause(w.ctx, 50*time.Millisecond) {
				return
			}
		}
		w.checker.gaveBack(taken)
	})
	return func() { close(over) }
}

// administer runs the action of an operator who logs in. It ends after a while: go-zookeeper may
// leave a request without an answer when a connection that logs in is lost.
func (w *world) administer(action func(o *operator) error) error {
	const limit = 2 * time.Second
	o := &operator{w, w.connect("operator", 10*time.Second)}
	result := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		err := o.conn.AddAuth("digest", []byte("operator:key"))
		if err == nil {
			err = o.conn.AddAuth("digest", []byte("user:secret"))
		}
		if err == nil {
			err = action(o)
		}
		result <- err
	}()
	closesWithin(limit, over)
	o.conn.Close()
	return <-result
}

// change sets an access list, and notes how it was before any change. That comes to nothing when
// it has been given back meanwhile: the request may be late.
func (o *operator) change(l *list, to []zk.ACL) error {
	acl, stat, err := o.conn.GetACL(l.node)
	if err != nil {
		return err
	}
	if l.acl == nil {
		l.acl = acl
	}
	_, err = o.conn.SetACL(l.node, to, stat.Aversion)
	return err
}

// tailOf returns for how long it matters at most that permissions were missing.
func tailOf(perms int32) time.Duration {
	switch {
	case perms&zk.PermRead != 0:
		return unheard
	case perms&zk.PermDelete != 0:
		return undeleted
	}
	return unasked
}

// giveBack sets access lists as they were, but of nodes that are gone.
func (o *operator) giveBack(taken []*list) error {
	for _, l := range taken {
		if l.acl == nil {
			continue
		}
		if _, err := o.conn.SetACL(l.node, l.acl, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		o.world.log.note("operator", "%s: all as before", l.node)
	}
	return nil
}

// take returns the access lists of those nodes that nobody has changed, which only its caller may
// do now.
func (ck *checker) take(nodes []string) (taken []*list) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for _, node := range nodes {
		l := ck.lists[node]
		if l == nil {
			l = &list{node: node}
			ck.lists[node] = l
		}
		if !l.away {
			l.away = true
			taken = append(taken, l)
		}
	}
	return taken
}

func (ck *checker) gaveBack(taken []*list) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for _, l := range taken {
		l.away = false
	}
}
