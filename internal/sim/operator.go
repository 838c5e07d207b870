package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/zktest"
)

// operator is an administrator with a connection of its own, which interferes.
type operator struct {
	world *world
	conn  *zk.Conn
}

// junk are names that are not a contender's, though they look alike.
var junk = []string{"_c_x", "lock-", "_c_0-lock-", "_c_0-lock-000000000x", "0000000001", "-lock-1", "_c_0-lock-0000000001-"}

// quiet drops go-zookeeper's own messages.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect makes a bare connection from the place of that name.
func (w *world) connect(place string, timeout time.Duration) *zk.Conn {
	conn, _, err := zk.Connect(w.ensemble.PipeAddrs(), timeout,
		zk.WithDialer(w.ensemble.Client(place).Dial), zk.WithLogger(quiet{}))
	if err != nil {
		panic(err) // of the arguments only
	}
	return conn
}

// operate runs the operator's action in the background.
func (w *world) operate(action func(o *operator) error) {
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		o := &operator{w, w.connect("operator", 10*time.Second)}
		defer o.conn.Close()
		if err := action(o); err != nil {
			w.log.note("operator", "%v", err)
		}
	}()
}

func (w *world) deleteNode(f Fault) func() {
	nodes := w.referee.nodes()
	if len(nodes) > 0 {
		slices.Sort(nodes)
		w.operate(func(o *operator) error { return o.remove(nodes[f.Server%len(nodes)]) })
	}
	return nil
}

func (o *operator) remove(node string) error {
	o.world.referee.excuse(node, byOperator)
	return o.conn.Delete(node, -1)
}

// deleteUnseen deletes a machine's nodes while it has no connection, so that none
// of its watches tells.
func (w *world) deleteUnseen(f Fault) func() {
	m := w.machines[f.Machine]
	session := m.id()
	m.place.Block(zktest.ToServer)
	m.place.Cut()
	w.operate(func(o *operator) error {
		dials := m.dials.Load()
		for _, node := range w.referee.nodesOf(session) {
			if o.remove(node) == nil && m.dials.Load() == dials {
				w.referee.excuse(node, unseen)
			}
		}
		m.place.Unblock()
		return nil
	})
	return nil
}

func (w *world) deletePath(f Fault) func() {
	path := paths[f.Machine%len(paths)]
	w.operate(func(o *operator) error {
		for range 5 {
			names, _, err := o.conn.Children(path)
			for _, name := range names {
				o.remove(path + "/" + name)
			}
			if err == nil {
				err = o.conn.Delete(path, -1)
			}
			if !errors.Is(err, zk.ErrNotEmpty) {
				return err
			}
		}
		return nil
	})
	return nil
}

func (w *world) addJunk(f Fault) func() {
	path := paths[f.Machine%len(paths)]
	w.operate(func(o *operator) error {
		for i, name := range junk {
			if _, err := o.conn.Create(path+"/"+name, nil, int32(i%2), zk.WorldACL(zk.PermAll)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return nil
}

// endOfCounter brings the numbers to where they end, or the lock to where it
// begins to start them afresh.
func (w *world) endOfCounter(f Fault) func() {
	next := int32(1<<31 - 1<<16 - 3)
	switch f.Server {
	case 1:
		next = 1<<31 - 1<<24 - 3
	case 2:
		next = 1<<31 - 3
	}
	path := paths[f.Machine%len(paths)]
	for _, node := range w.referee.nodes() {
		if n, queues := contender(node); queues && dirOf(node) == path && (n >= int64(next) || n < 0) {
			return nil // no counter goes back
		}
	}
	w.ensemble.SetSequence(path, next)
	return nil
}
