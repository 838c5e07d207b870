package worker

import (
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/bench/internal/line"
)

// sessionTimeout is the same for all parties.
const sessionTimeout = 30 * time.Second

// zkClient is a session of go-zookeeper's, and what a party locks with in it.
type zkClient struct {
	conn *zk.Conn
	lock func(conn *zk.Conn, path string) (mutex, error)
}

func (c zkClient) close() { c.conn.Close() }

func (c zkClient) mutex(path, _ string) (mutex, error) { return c.lock(c.conn, path) }

// goZK returns a function that connects a client whose session is established.
func goZK(lock func(conn *zk.Conn, path string) (mutex, error)) func(server string) (client, error) {
	return func(server string) (client, error) {
		established := make(chan struct{}, 1)
		conn, _, err := zk.Connect([]string{server}, sessionTimeout,
			zk.WithLogger(log.New(io.Discard, "", 0)),
			zk.WithEventCallback(func(e zk.Event) {
				if e.State == zk.StateHasSession {
					select {
					case established <- struct{}{}:
					default:
					}
				}
			}))
		if err != nil {
			return nil, err
		}
		select {
		case <-established:
			return zkClient{conn, lock}, nil
		case <-time.After(sessionTimeout):
			conn.Close()
			return nil, fmt.Errorf("no session within %v", sessionTimeout)
		}
	}
}

// zkLock is the lock that comes with go-zookeeper. A zk.Lock is not made for
// several goroutines, so each has its own.
func zkLock(conn *zk.Conn, path string) (mutex, error) {
	l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
	return mutex{lock: l.Lock, unlock: l.Unlock}, nil
}

// floor is no lock: it sends the requests that a lock cannot do without, a create
// and a delete one after the other, and shows what ZooKeeper and the client
// library leave to be gained.
func floor(conn *zk.Conn, path string) (mutex, error) {
	p, err := newPair(conn, path)
	return mutex{lock: p.create, unlock: p.delete}, err
}

// pair is the two requests, and the node between them.
type pair struct {
	conn *zk.Conn
	path string
	node string
}

// newPair makes the parent of the nodes.
func newPair(conn *zk.Conn, path string) (*pair, error) {
	_, err := conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		err = nil
	}
	return &pair{conn: conn, path: path}, err
}

func (p *pair) create() (err error) {
	p.node, err = p.conn.Create(p.path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	return err
}

func (p *pair) delete() error { return p.conn.Delete(p.node, -1) }

// pipeline is the same pair with the next create sent behind the delete.
func (w *worker) pipeline(clients []client, m line.Message) (numbers, error) {
	deletes := make(chan string)
	defer close(deletes)
	return w.measure(clients, m, func(_ *load, c client, _ int) (operation, error) {
		p, err := newPair(c.(zkClient).conn, m.Fields["path"])
		if err != nil {
			return nil, err
		}
		go func() {
			for node := range deletes {
				_ = p.conn.Delete(node, -1) // the session's end deletes it too
			}
		}()
		return func() (int, error) {
			if err := p.create(); err != nil {
				return 0, err
			}
			deletes <- p.node // taken when the delete before this one was answered
			return 1, nil
		}, nil
	})
}

// event times a delete by one session until another has its watch's event.
func (w *worker) event(clients []client, m line.Message) (numbers, error) {
	owner, err := newPair(clients[0].(zkClient).conn, m.Fields["path"])
	if err != nil {
		return nil, err
	}
	watcher := clients[1].(zkClient).conn
	return sampled(m.Int("count"), func(int) (time.Duration, error) {
		if err := owner.create(); err != nil {
			return 0, err
		}
		_, _, deleted, err := watcher.GetW(owner.node)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		failed := make(chan error, 1)
		go func() { failed <- owner.delete() }()
		<-deleted
		took := time.Since(start)
		return took, <-failed
	})
}
