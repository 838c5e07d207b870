package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Foreigner takes locks by other means than this library.
type Foreigner struct {
	Writer bool // a reader/writer lock's writer that downgrades, instead of zk.Lock
	Path   string
	Rounds []Round
}

// longestVisit is how long a zk.Lock is waited for.
const longestVisit = 20 * time.Second

// Round is one critical section of a foreigner.
type Round struct{ Pause, Hold time.Duration }

// foreigner draws one, for one program in four.
func (d dice) foreigners() []Foreigner {
	if !d.one(4) {
		return nil
	}
	f := Foreigner{Writer: d.one(2), Path: paths[0]}
	for range 1 + d.IntN(4) {
		f.Rounds = append(f.Rounds, Round{d.short(3 * time.Second), d.short(time.Second)})
	}
	return []Foreigner{f}
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
		select {
		case <-time.After(r.Pause):
		case <-v.world.ctx.Done():
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
	if v.spec.Writer {
		return v.write(conn, r)
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
	v.world.referee.returned(c)
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
	node, found := v.world.referee.nodeOf(conn.SessionID(), v.spec.Path)
	if !found {
		return nil
	}
	c := &claim{who: v.name, path: v.spec.Path, node: node, over: make(chan struct{})}
	v.world.referee.granted(c)
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
		v.world.referee.moved(c, reader)
		err = conn.Delete(writer, -1)
		time.Sleep(r.Hold)
	}
	v.world.referee.returned(c)
	return err
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
