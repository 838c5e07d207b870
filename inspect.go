package zklock

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Kind is what a contender asks for, or has.
type Kind int

const (
	Exclusive Kind = iota // a lock: Locker, Curator's InterProcessMutex, zk.Lock, kazoo's Lock
	Write                 // the write side of a read/write lock
	Read                  // the read side
	Permit                // one permit of a semaphore
)

func (k Kind) String() string { return recipe.Kind(k).String() }

// Contender is a node in a lock's queue, or a permit of a semaphore. Of one that this session may
// not read, a server from ZooKeeper 3.9.2 on tells neither Session nor Token nor Created, which are
// zero then.
type Contender struct {
	Node    string // full path
	Kind    Kind
	Held    bool      // it has the lock; the others wait
	Session int64     // that owns the node
	Token   int64     // the node's czxid: the fencing token of a hold, but for a downgraded reader
	Created time.Time // by the server's clock
	Data    []byte    // host, process id and start time, unless WithData replaced them; nil if this session may not read it
	Revoked bool      // somebody has asked for the lock back; Curator's Revoker leaves no Data

	// Foreign says that the node's name ends in a sequence number, as a lock's does, and is of no
	// form that this library knows. It may be of another one's lock: everybody waits for it while
	// its session lives.
	Foreign bool
	// Persistent says that the node does not end with a session. It has a lock's name, so that
	// everybody waits until somebody deletes it.
	Persistent bool
}

// Inspect returns who holds the lock on path and who waits for it, in the order of the queue,
// holders first. Of a semaphore it returns the permits that are out, but no foreign child that
// takes one (see [Semaphore]), and then the contenders in line. A path that does not exist, or
// that nobody uses, gives none. A child that is Foreign and not ephemeral is no contender.
//
// It costs a list and one read for each node, 500 of them sent together. Both are done again, twice
// at most, if a writer of an [RWLocker] goes in between, or somebody in line for permits, or
// everybody. Of a semaphore it costs two lists more. The answer is of the moment, and may be from a
// server that lags behind. It needs the permission to read the path, and takes no part in the lock.
func Inspect(ctx context.Context, s *Session, path string) ([]Contender, error) {
	whole, err := s.whole("inspect", path)
	if err != nil {
		return nil, err
	}
	if client.HasEnded(ctx) {
		return nil, wrap("inspect", whole, client.Ended(ctx))
	}
	found, err := s.look(ctx, whole)
	return found, wrap("inspect", whole, err)
}

// look is Inspect of a whole path.
func (s *Session) look(ctx context.Context, path string) (found []Contender, err error) {
	err = s.client.Persist(ctx, func() (err error) {
		found, _, err = s.survey(ctx, path)
		return err
	})
	return found, s.client.Explain(err)
}

// survey is one try of look. It returns the names of path's children too, also if something in it may
// not be read; then those found are not all.
func (s *Session) survey(ctx context.Context, path string) (found []Contender, names []string, err error) {
	if err := s.client.MakeRoom(ctx); err != nil {
		return nil, nil, err
	}
	found, err = s.settled(ctx, Contender.writes, func() (queue []Contender, err error) {
		names, err = s.children(ctx, path)
		return inQueue(path, names), err
	})
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, Contender.isNone)
	markHolders(found)
	if slices.Contains(names, recipe.Permits) { // locks may have been reaped, being empty
		permits, err := s.inspectSemaphore(ctx, recipe.Join(path, recipe.Turns), recipe.Join(path, recipe.Permits))
		if err != nil {
			return found, names, err
		}
		found = append(found, slices.DeleteFunc(permits, Contender.isNone)...)
	}
	return found, names, nil
}

// mostLooks bounds how often a queue is looked at whose nodes come and go meanwhile.
const mostLooks = 3

// settled lists contenders and reads their nodes. It does both again if a node has gone in between
// that may have left another in its place, which the list does not show, or if all have gone.
func (s *Session) settled(
	ctx context.Context, leavesAnother func(Contender) bool, list func() ([]Contender, error),
) (found []Contender, err error) {
	for range mostLooks {
		if found, err = list(); err != nil {
			return nil, err
		}
		listed, leaving := len(found), count(found, leavesAnother)
		if found, err = s.read(ctx, found); err != nil {
			return nil, err
		}
		if count(found, leavesAnother) == leaving && (len(found) > 0 || listed == 0) {
			break
		}
	}
	return found, nil
}

func count(among []Contender, is func(Contender) bool) (n int) {
	for _, c := range among {
		if is(c) {
			n++
		}
	}
	return n
}

// writes reports whether c is a writer of a read/write lock, which may leave a reader in its place.
func (c Contender) writes() bool { return c.Kind == Write }

// isNone reports whether c is a child that nobody waits for: see recipe.Node.Contends.
func (c Contender) isNone() bool { return c.Foreign && c.Persistent }

// waits reports whether c is in line for permits, and may leave those that it has taken.
func (c Contender) waits() bool { return !c.Held }

// markHolders notes who of a queue has the lock. Those that went while the queue was read are
// in nobody's way, and newcomers stand behind all of it.
func markHolders(queue []Contender) {
	names := make([]string, len(queue))
	for i, c := range queue {
		names[i] = recipe.Base(c.Node)
	}
	holds := make(map[string]bool)
	for _, n := range recipe.Queue(names) {
		holds[n.Name] = n.Holds
	}
	for i, name := range names {
		queue[i].Held = holds[name]
	}
}

// inQueue returns the contenders among the children of path, in order.
func inQueue(path string, names []string) []Contender {
	queue := recipe.Queue(names)
	found := make([]Contender, len(queue))
	for i, n := range queue {
		found[i] = Contender{Node: recipe.Join(path, n.Name), Kind: Kind(n.Kind), Foreign: n.Foreign}
	}
	return found
}

// inspectSemaphore lists the line ahead of the permits.
func (s *Session) inspectSemaphore(ctx context.Context, locks, leases string) ([]Contender, error) {
	return s.settled(ctx, Contender.waits, func() ([]Contender, error) {
		inLine, err := s.children(ctx, locks)
		if err != nil {
			return nil, err
		}
		out, err := s.children(ctx, leases)
		if err != nil {
			return nil, err
		}
		var found []Contender
		for _, name := range out {
			if recipe.IsPermit(name) {
				found = append(found, Contender{Node: recipe.Join(leases, name), Kind: Permit, Held: true})
			}
		}
		// The first in line has the turn to take permits, not one of them.
		return append(found, inQueue(locks, inLine)...), nil
	})
}

// children lists a node; one that does not exist has none. What is read after that comes from a
// server that answers.
func (s *Session) children(ctx context.Context, path string) ([]string, error) {
	listed := client.Children(path)
	err := s.client.Ask(ctx, listed)
	switch {
	case client.Answers(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, err
	}
	names, _, err := listed.Children()
	return names, err
}

// content returns what a node says by a read that was sent, or if the session may not read it, its
// stat alone, or that it is there: somebody's access list must not hide the queue. From ZooKeeper
// 3.9.2 on the stat needs the permission too.
func (s *Session) content(ctx context.Context, path string, read *wire.Request) (client.Content, error) {
	err := client.Wait(ctx, read)
	if !client.Answers(err, zk.ErrNoAuth) {
		if err != nil {
			return client.Content{}, err
		}
		return client.ContentOf(read)
	}
	there := client.Exists(path)
	err = s.client.Ask(ctx, there)
	switch {
	case client.Answers(err, zk.ErrNoAuth):
		return client.Content{}, nil
	case err != nil:
		return client.Content{}, err
	}
	stat, err := there.Stat()
	return client.Content{Stat: stat}, err
}

// read fills in what the nodes say, and drops those that have gone. How many are read at the
// same time bounds, too, what a call that ends leaves under way.
func (s *Session) read(ctx context.Context, found []Contender) ([]Contender, error) {
	there := found[:0]
	for some := range slices.Chunk(found, client.MostAsking) {
		if ctx.Err() != nil {
			return nil, client.Ended(ctx)
		}
		reads := make([]*wire.Request, len(some))
		for i, c := range some {
			reads[i] = client.Read(c.Node)
		}
		s.client.Send(reads...)
		for i, c := range some {
			switch n, err := s.content(ctx, c.Node, reads[i]); {
			case err == nil:
				there = append(there, c.as(n))
			case !client.Answers(err, zk.ErrNoNode):
				return nil, err
			}
		}
	}
	return there, nil
}

// as returns c as its node says.
func (c Contender) as(n client.Content) Contender {
	if n.Stat != nil {
		c.Token, c.Created = n.Stat.Czxid, time.UnixMilli(n.Stat.Ctime)
		if c.Persistent = !client.IsEphemeral(n.Stat); !c.Persistent {
			c.Session = n.Stat.EphemeralOwner
		}
	}
	c.Data, c.Revoked = recipe.Revocation(n.Data)
	return c
}
