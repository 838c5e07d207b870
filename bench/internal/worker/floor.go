package worker

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/bench/internal/line"
)

// floorParty is no lock: it sends the requests that a lock cannot do without,
// and shows what ZooKeeper and the client library leave to be gained.
type floorParty struct{}

func (floorParty) version() string { return moduleVersion("github.com/go-zookeeper/zk") }

func (floorParty) connect(ctx context.Context, server string) (client, error) {
	conn, err := dial(ctx, server)
	return floorClient{conn}, err
}

type floorClient struct{ conn *zk.Conn }

func (c floorClient) close() { c.conn.Close() }

// mutex is a create and a delete, one after the other.
func (c floorClient) mutex(path, _ string) (mutex, error) {
	return &pair{conn: c.conn, path: path}, c.makeParent(path)
}

func (c floorClient) makeParent(path string) error {
	_, err := c.conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

type pair struct {
	conn *zk.Conn
	path string
	node string
}

func (p *pair) lock() (err error) {
	p.node, err = p.conn.Create(p.path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	return err
}

func (p *pair) unlock() error { return p.conn.Delete(p.node, -1) }

// pipeline is the same pair with the next create sent behind the delete.
func (w *worker) pipeline(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	lock, err := clients[0].mutex(m.Fields["path"], "")
	if err != nil {
		return nil, err
	}
	p := lock.(*pair)
	deletes := make(chan string)
	defer close(deletes)
	l := newLoad(m)
	go func() {
		for node := range deletes {
			_ = p.conn.Delete(node, -1) // the session's end deletes it too
		}
	}()
	l.operations = []operation{func() (int, error) {
		if err := p.lock(); err != nil {
			return 0, err
		}
		deletes <- p.node // taken when the delete before this one was answered
		return 1, nil
	}}
	return w.profiled(m, l.measure)
}

// event times a delete by one session until another has its watch's event.
func (w *worker) event(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	lock, err := clients[0].mutex(m.Fields["path"], "")
	if err != nil {
		return nil, err
	}
	owner, watcher := lock.(*pair), clients[1].(floorClient)
	return sampled(m.Int("count"), func(int) (time.Duration, error) {
		if err := owner.lock(); err != nil {
			return 0, err
		}
		_, _, deleted, err := watcher.conn.GetW(owner.node)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		failed := make(chan error, 1)
		go func() { failed <- owner.unlock() }()
		<-deleted
		took := time.Since(start)
		return took, <-failed
	})
}
