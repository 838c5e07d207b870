package queue

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// errNotThere says that a create whose reply was lost has left no node.
var errNotThere = errors.New("the create had no effect")

// search looks for the node of a create that carrier took but did not answer, and adopts it. One that
// its own access list hides is deleted.
func (c *contender) search(carrier *wire.Link) error {
	s := c.queue.session
	found := false
	var hidden []string
	err := s.client.Retry(s.client.Context(), func() error {
		l, err := s.client.Await(s.client.Context(), carrier.ID)
		if err != nil { // closed or expired: the server deletes it
			return client.Permanent(err)
		}
		nodes, stat, err := c.find()
		switch {
		case s.client.Current() != l:
			return client.ErrStale // another server may have answered a part
		case errors.Is(err, errNotThere):
			return client.Permanent(err)
		case len(nodes) > 0 && errors.Is(err, zk.ErrNoAuth):
			hidden = nodes
			return client.Permanent(fmt.Errorf("the ACL of %s does not let this session read it: %w", nodes[0], err))
		case err != nil:
			return describeSearch(err)
		}
		found = true
		return client.Permanent(c.adopt(l, nodes, stat.Czxid))
	})
	if !found {
		s.forget(c)
	}
	switch {
	case hidden != nil:
		s.mu.Lock()
		s.discard(carrier, c.id, hidden)
		s.mu.Unlock()
	case client.Refused(err): // whoever waits may have gone
		s.client.Log.Error("zklock: a lock node may be left", "path", c.queue.dir, "session", client.Hex(carrier.ID), "error", err)
		s.client.Spawn(func() { s.listYet(c.queue.dir, carrier.ID) })
	}
	return err
}

// listYet goes on with a list that was refused, in which a node may show that no call knows of:
// see sweep.
func (s *Session) listYet(dir string, session int64) {
	s.client.Persevere(func() bool {
		if _, err := s.client.Await(s.client.Context(), session); err != nil {
			return true // the node has gone with the session
		}
		_, err := s.client.JoinList(dir).Wait(s.client.Context())
		return err == nil
	})
}

func describeSearch(err error) error {
	if client.Transient(err) {
		return err
	}
	return fmt.Errorf("looking for the node of a create whose reply was lost, which blocks the others until the session ends or lists them: %w", err)
}

// find lists the queue as it is after everything that went before: see client.Client.JoinList. The
// session has moved to the connection's server, so that the create is committed ahead of
// whatever is written there, or not at all.
func (c *contender) find() (nodes []string, stat *zk.Stat, err error) {
	s := c.queue.session
	list, err := s.client.JoinList(c.queue.dir).Wait(s.client.Context())
	if err != nil {
		return nil, nil, err
	}
	for _, name := range list.Names {
		if id, _ := s.ids.of(name); id == c.id {
			nodes = append(nodes, recipe.Join(c.queue.dir, name))
		}
	}
	if len(nodes) == 0 {
		return nil, nil, errNotThere
	}
	there := client.Exists(nodes[0])
	if err = s.client.Ask(s.client.Context(), there); errors.Is(err, zk.ErrNoNode) {
		err = client.ErrStale // of several nodes others may be there
	}
	if err != nil {
		return nodes, nil, err
	}
	stat, err = there.Stat()
	return nodes, stat, err
}
