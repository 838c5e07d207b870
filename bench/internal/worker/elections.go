package worker

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/zklock/zklock/bench/internal/line"
	"github.com/zklock/zklock/election"
)

// An elector is a client that has elections.
type elector interface {
	candidate(path string) (stand, error)
	// leader returns what deletes the leader's node.
	leader(path string) (remove func() error, err error)
	// observer returns what calls told with each leader's node, until the session
	// is closed.
	observer(path string) (func(told func(node string)), error)
}

// campaign has one candidate lead, and the others wait.
func (w *worker) campaign(clients []client, m line.Message) (numbers, error) {
	return w.lineUp(clients, m, func(c client) (stand, error) {
		e, ok := c.(elector)
		if !ok {
			return nil, fmt.Errorf("%T has no elections", c)
		}
		return e.candidate(m.Fields["path"])
	})
}

// An operator deletes the nodes of leaders. Without one they resign.
type operator struct {
	client client
	path   string
}

// hire has turns ended by an operator with a session of its own.
func (w *worker) hire(m line.Message) error {
	c, err := w.party.connect(m.Fields["operator"])
	if err == nil {
		w.queue.operator = &operator{c, m.Fields["path"]}
	}
	return err
}

// prepare returns what ends a turn.
func (o *operator) prepare() (end func() error, err error) {
	if o == nil {
		return func() error { return nil }, nil
	}
	return o.client.(elector).leader(o.path)
}

func (o *operator) close() {
	if o != nil {
		o.client.close()
	}
}

// audience are observers. Each leader goes on until all have heard of it.
type audience struct {
	size  int
	hears chan struct{} // has an element for each observer that was told of another leader
}

// observe has the last of the clients observe, and returns when all of them have
// heard who leads.
func (w *worker) observe(clients []client, m line.Message) (numbers, error) {
	clients = clients[len(clients)-m.Int("observers"):]
	a := audience{len(clients), make(chan struct{}, len(clients))}
	for _, c := range clients {
		follow, err := c.(elector).observer(m.Fields["path"])
		if err != nil {
			return nil, err
		}
		last := ""
		go follow(func(node string) {
			if node != last {
				last = node
				a.hears <- struct{}{}
			}
		})
	}
	w.queue.audience = a
	w.queue.awaitAudience()
	return nil, nil
}

// awaitAudience returns when all who listen have heard who leads.
func (q *queue) awaitAudience() {
	for range q.audience.size {
		select {
		case <-q.audience.hears:
		case <-q.closed:
			return
		}
	}
}

func (c zklockClient) candidate(path string) (stand, error) {
	e, err := election.New(c.session, path)
	return func(serve func() error) error {
		return e.Run(context.Background(), func(context.Context, *election.Term) error { return serve() })
	}, err
}

func (c zklockClient) leader(path string) (remove func() error, err error) {
	for {
		l, err := election.Leader(context.Background(), c.session, path)
		if errors.Is(err, election.ErrNoLeader) { // it has not said so yet
			continue
		}
		return func() error { return c.session.Conn().Delete(l.Node, -1) }, err
	}
}

func (c zklockClient) observer(path string) (func(told func(node string)), error) {
	return func(told func(node string)) {
		for l, err := range election.Observe(context.Background(), c.session, path) {
			if err == nil {
				told(l.Node)
			}
		}
	}, nil
}

// election returns one with a session of its own: a session is one candidate.
func (c *etcdClient) election(path string) (*concurrency.Election, error) {
	session, err := c.session()
	return concurrency.NewElection(session, path), err
}

func (c *etcdClient) candidate(path string) (stand, error) {
	ctx := context.Background()
	e, err := c.election(path)
	return func(serve func() error) error {
		if err := e.Campaign(ctx, ""); err != nil {
			return err
		}
		if err := serve(); err != nil {
			return err
		}
		return e.Resign(ctx)
	}, err
}

func (c *etcdClient) leader(path string) (remove func() error, err error) {
	ctx := context.Background()
	first, err := c.client.Get(ctx, path+"/", clientv3.WithFirstCreate()...)
	return func() error {
		_, err := c.client.Delete(ctx, string(first.Kvs[0].Key))
		return err
	}, err
}

func (c *etcdClient) observer(path string) (func(told func(node string)), error) {
	e, err := c.election(path)
	return func(told func(node string)) {
		for leader := range e.Observe(c.client.Ctx()) {
			told(string(leader.Kvs[0].Key))
		}
	}, err
}
