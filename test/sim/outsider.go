package sim

import (
	"errors"
	"fmt"
	"slices"
	"sync"
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

// below are the names of other locks' paths below a lock.
var below = []string{"order-0000000000", "n_0000000001", "order-1234567890"}

// stems are what nodes of other libraries have ahead of their sequence.
var stems = []string{"", "lock-", "n_", "lock_", "n-", "x-72057594037927936-"}

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
	w.work.Go(func() {
		o := &operator{w, w.connect("operator", 10*time.Second)}
		defer o.conn.Close()
		if err := action(o); err != nil {
			w.log.note("operator", "%v", err)
		}
	})
}

func (w *world) deleteNode(f Fault) func() {
	nodes := w.checker.nodes()
	if len(nodes) > 0 {
		slices.Sort(nodes)
		w.operate(func(o *operator) error { return o.remove(nodes[f.Server%len(nodes)]) })
	}
	return nil
}

func (o *operator) remove(node string) error {
	o.world.checker.excuse(node, byOperator)
	return o.conn.Delete(node, -1)
}

// deleteUnseen deletes a machine's nodes while it has no connection, so that none
// of its watches tells. It may come back for a moment first, and ask for more.
func (w *world) deleteUnseen(f Fault) func() {
	m, d := w.machines[f.Machine], w.dice(f)
	session := m.id()
	m.place.Block(zktest.ToServer)
	m.place.Cut()
	w.operate(func(o *operator) error {
		dials := m.dials.Load()
		for _, node := range w.checker.nodesOf(session) {
			if o.remove(node) == nil && m.dials.Load() == dials {
				w.checker.excuse(node, unseen)
			}
		}
		if d.one(2) {
			w.comesBack(m, d)
		}
		m.place.Unblock()
		return nil
	})
	return nil
}

// comesBack lets a machine that is cut off have a connection for a moment, and ask for its locks there.
// Its first proof may be refused by a server that is busy.
func (w *world) comesBack(m *machine, d dice) {
	pause(w.ctx, d.span(0, m.timeout()/4))
	if d.one(2) {
		defer w.ensemble.RefuseRequest(zktest.OpMulti, throttled, zktest.OnClient(m.place)).Release()
	}
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: d.short(time.Second)})
	came := w.checker.await(OnCreate, m.id())
	m.place.Unblock()
	m.place.Cut() // what it has sent meanwhile is lost
	closesWithin(m.timeout()/4, came)
	pause(w.ctx, d.short(20*time.Millisecond))
	cutOff(m.place)
	pause(w.ctx, m.timeout())
}

func (w *world) deletePath(f Fault) func() {
	w.operate(func(o *operator) error { return o.removeQueue(paths[f.Machine%len(paths)]) })
	return nil
}

// removeQueue deletes a lock's path with all nodes there.
func (o *operator) removeQueue(path string) error {
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
}

// renewQueue has an operator delete a lock's queue when one of the machine has just got the first
// number there. Another machine has the lock by the same number in the next queue, and more of the
// first machine come behind it.
func (w *world) renewQueue(f Fault) func() {
	m, other, d := w.machines[f.Machine], w.machines[(f.Machine+1)%len(w.machines)], w.dice(f)
	patient := Section{Take: Acquire, Hold: d.short(200 * time.Millisecond)}
	w.operate(func(o *operator) error {
		_ = o.removeQueue(paths[0]) // which may not be there
		created := w.checker.await(OnCreate, m.id())
		w.askFor(paths[0], m, patient)
		if !closesWithin(f.For, created) {
			return nil
		}
		time.Sleep(d.short(20 * time.Millisecond))
		err := o.removeQueue(paths[0])
		w.askFor(paths[0], other, Section{Take: Acquire, Hold: d.short(time.Second)})
		time.Sleep(d.short(20 * time.Millisecond))
		w.askFor(paths[0], m, patient, patient)
		return err
	})
	return nil
}

func (w *world) addJunk(f Fault) func() {
	path, d := paths[f.Machine%len(paths)], w.dice(f)
	w.operate(func(o *operator) error {
		for range d.IntN(3) {
			time.Sleep(d.short(time.Second))
			if _, err := o.conn.Create(path+"/"+d.among(stems), nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)); err != nil {
				return err
			}
		}
		time.Sleep(d.short(time.Second))
		for _, name := range below {
			if _, err := o.conn.Create(path+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for i, name := range junk {
			if _, err := o.conn.Create(path+"/"+name, nil, int32(i%2), zk.WorldACL(zk.PermAll)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return nil
}

// endOfCounter brings the numbers near their end, or those of the permits, which mean nothing.
func (w *world) endOfCounter(f Fault) func() {
	next := int32(1<<31 - 1<<16 - 3)
	switch f.Server {
	case 1:
		w.ensemble.SetSequence(permitsPath+"/leases", 1<<31-3)
		return nil
	case 2:
		next = 1<<31 - 3
	}
	path := paths[f.Machine%len(paths)]
	if w.guards(path) { // who may not see its ACL waits for others, or for a minute
		return nil
	}
	for _, node := range w.checker.nodes() {
		if n, queues := contender(node); queues && dirOf(node) == path && (n >= int64(next) || n < 0) {
			return nil // no counter goes back
		}
	}
	w.ensemble.SetSequence(path, next)
	return nil
}

// deleteUnlisted deletes a machine's nodes when a list that shows one of them has
// been made, and is lost: only the next list tells that it is gone.
func (w *world) deleteUnlisted(f Fault) func() {
	held := w.ensemble.HoldReply(zktest.OpGetChildren2, zktest.OnClient(w.machines[f.Machine].place))
	w.crowd(f)
	w.work.Go(func() {
		if closesWithin(f.For, held.Struck()) {
			w.deleteUnseen(f)
		}
	})
	return held.Release
}

// visitor is a Foreigner at work. It loses its session with each error, so that
// nothing of its own making is left.
type visitor struct {
	world *world
	spec  Foreigner
	name  string
}

func (v *visitor) run() {
	for _, r := range v.spec.Rounds {
		if !pause(v.world.ctx, r.Pause) {
			return
		}
		if err := v.round(r); err != nil {
			v.world.log.note(v.name, "%v", err)
		}
	}
}

func (v *visitor) round(r Round) error {
	conn := v.world.connect(v.name, 2*time.Second)
	closeNow := v.closeWithWorld(conn)
	defer closeNow()
	switch {
	case v.spec.Writer:
		return v.write(conn, r)
	case v.spec.Other:
		return v.lock(conn, r)
	}
	lock := zk.NewLock(conn, v.spec.Path, zk.WorldACL(zk.PermAll))
	v.world.log.note(v.name, "zk.Lock %s", v.spec.Path)
	// A create that was executed twice has zk.Lock wait for a node of its own.
	giveUp := time.AfterFunc(longestVisit, closeNow)
	if err := lock.Lock(); err != nil {
		return err
	}
	if !giveUp.Stop() {
		return nil
	}
	c := v.claim(conn)
	if c == nil {
		return nil
	}
	time.Sleep(r.Hold)
	v.world.checker.returned(c)
	return lock.Unlock()
}

// closeWithWorld closes conn when the world ends, which would not end the calls that
// go-zookeeper blocks in, or when the function that it returns is called. One goroutine
// does: a second Close waits for the first on a mutex, and no virtual time passes.
func (v *visitor) closeWithWorld(conn *zk.Conn) (closeNow func()) {
	over, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case <-v.world.ctx.Done():
		case <-over:
		}
		conn.Close()
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(over) })
		<-closed
	}
}

// claim makes the claim of whoever holds by the first node of conn's session;
// nil if that is gone already.
func (v *visitor) claim(conn *zk.Conn) *claim {
	node, found := v.world.checker.nodeOf(conn.SessionID(), v.spec.Path)
	if !found {
		return nil
	}
	c := &claim{who: v.name, path: v.spec.Path, node: node, over: make(chan struct{})}
	v.world.checker.granted(c)
	return c
}

// write queues as the writer of Curator's reader/writer lock, and downgrades: its
// reader takes over the writer's number before the writer goes.
func (v *visitor) write(conn *zk.Conn, r Round) error {
	stem := fmt.Sprintf("%s/_c_%s-__", v.spec.Path, v.name)
	writer, err := conn.Create(stem+"WRIT__", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	if err := v.awaitHead(conn, writer); err != nil {
		return err
	}
	c := v.claim(conn)
	if c == nil {
		return nil
	}
	time.Sleep(r.Hold)
	reader := stem + "READ__" + writer[len(writer)-10:]
	if _, err = conn.Multi(&zk.CheckVersionRequest{Path: writer, Version: -1},
		&zk.CreateRequest{Path: reader, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral}); err == nil {
		v.world.checker.moved(c, reader)
		err = conn.Delete(writer, -1)
		time.Sleep(r.Hold)
	}
	v.world.checker.returned(c)
	return err
}

// lock takes a lock as a library does that knows no other, and has its own form of names.
func (v *visitor) lock(conn *zk.Conn, r Round) error {
	node, err := conn.Create(v.spec.Path+"/"+v.spec.Stem, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	if err := v.awaitHead(conn, node); err != nil {
		return err
	}
	if c := v.claim(conn); c != nil {
		time.Sleep(r.Hold)
		v.world.checker.returned(c)
	}
	return conn.Delete(node, -1)
}

// awaitHead waits until no contender is ahead of node.
func (v *visitor) awaitHead(conn *zk.Conn, node string) error {
	mine, _ := contender(node)
	for v.world.ctx.Err() == nil {
		names, _, err := conn.Children(v.spec.Path)
		if err != nil {
			return err
		}
		first := true
		for _, name := range names {
			if n, ok := contender(v.spec.Path + "/" + name); ok && n < mine {
				first = false
			}
		}
		if first {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return v.world.ctx.Err()
}
