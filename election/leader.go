package election

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/owner"
	"github.com/zklock/zklock/internal/recipe"
)

// Leadership is that somebody leads.
type Leadership struct {
	Value   []byte    // what the leader says of itself: see [WithValue]; of others than this module's, all that its node says
	Token   int64     // the fencing token of its term
	Since   time.Time // when it began, by the leader's clock; when its node was made, if that does not say so
	Session int64     // the leader's ZooKeeper session
	Host    string    // the leader's host, and its process there; "" and 0 if its node does not say so
	PID     int
	Node    string // full path of the leader's node
}

// same reports whether l and m, of which either may be nil, tell observers the same.
func (l *Leadership) same(m *Leadership) bool {
	if l == nil || m == nil {
		return l == m
	}
	return l.Node == m.Node && l.Token == m.Token && slices.Equal(l.Value, m.Value)
}

// told returns l as a caller is told of it, who may keep it.
func (l *Leadership) told() (Leadership, error) {
	if l == nil {
		return Leadership{}, ErrNoLeader
	}
	told := *l
	told.Value = slices.Clone(l.Value)
	return told, nil
}

// Leader returns who leads, or [ErrNoLeader]. It is for who needs to know it once: it costs a list of
// the candidates and the read of one, leaves no watch, and needs the permission to read the path and
// the leader's node. The answer is of the moment, and may be from a server that lags behind. Its other
// errors are those of [zklock.Inspect].
func Leader(ctx context.Context, s *zklock.Session, path string) (Leadership, error) {
	client.NeedsContext(ctx)
	if err := check(s, path); err != nil {
		return Leadership{}, wrap(nil, "leader", path, err)
	}
	c := client.Of(s)
	path = c.Below(path)
	var seen *picture
	err := c.Persist(ctx, func() (err error) {
		if err = c.MakeRoom(ctx); err == nil {
			seen, err = look(once{ctx, c}, path, nil)
		}
		return err
	})
	if err != nil {
		return Leadership{}, wrap(s, "leader", path, err)
	}
	return seen.leader.told()
}

// check returns what is wrong with where an observer is to look.
func check(s *zklock.Session, path string) error {
	_, err := zklock.New(s, path) // it has the same needs
	return errors.Unwrap(err)
}

// picture is what a look at an election has shown.
type picture struct {
	leader *Leadership // nil if nobody leads

	line    []string // the candidates in line, from the one on that was looked at; none if it was the election
	changed alarm    // when that changes; nil without a watch
}

// alarm is how a watch tells that what it is on has changed.
type alarm = <-chan zk.Event

// reader reads nodes, with watches or without.
type reader interface {
	node(path string) ([]byte, *zk.Stat, alarm, error)
	children(path string) ([]string, alarm, error)
}

// once reads without watches.
type once struct {
	ctx    context.Context
	client *client.Client
}

func (r once) node(path string) ([]byte, *zk.Stat, alarm, error) {
	read := client.Read(path)
	if err := r.client.Ask(r.ctx, read); err != nil {
		return nil, nil, nil, err
	}
	data, stat, err := read.Data()
	return data, stat, nil, err
}

func (r once) children(path string) ([]string, alarm, error) {
	listed := client.Children(path)
	if err := r.client.Ask(r.ctx, listed); err != nil {
		return nil, nil, err
	}
	names, _, err := listed.Children()
	return names, nil, err
}

// look looks at the first in line. before is what was seen last, if that is of use: who was in line
// then stands ahead of all who came since. The first in line is so until its node has gone, so that
// nothing else need be watched.
func look(r reader, path string, before *picture) (*picture, error) {
	var line []string
	if before != nil {
		line = before.line
	}
	for {
		if len(line) == 0 {
			names, changed, err := r.children(path)
			if err != nil && !client.Answers(err, zk.ErrNoNode) {
				return nil, err
			}
			for _, n := range recipe.Queue(names) {
				line = append(line, n.Name)
			}
			if len(line) == 0 {
				return &picture{changed: changed}, nil
			}
		}
		node := recipe.Join(path, line[0])
		data, stat, changed, err := r.node(node)
		contender, _ := recipe.Parse(line[0])
		switch {
		case client.Answers(err, zk.ErrNoNode), err == nil && !contender.Contends(client.IsEphemeral(stat)):
			line = line[1:]
			continue
		case err != nil:
			return nil, err
		}
		return &picture{leader(node, data, stat, before), line, changed}, nil
	}
}

// leader returns what the node of the first in line says, nil if it does not lead.
func leader(node string, data []byte, stat *zk.Stat, before *picture) *Leadership {
	rest, marked := recipe.Revocation(data)
	l := &Leadership{Token: stat.Czxid, Since: time.UnixMilli(stat.Ctime), Session: stat.EphemeralOwner, Node: node}
	said := owner.Read(string(rest))
	known := said.Host != "" && said.PID != 0 // as all say that are of this module
	switch {
	case !client.IsEphemeral(stat), known && said.Election == owner.Candidate:
		return nil
	case marked && rest == nil && recipe.Ours(recipe.Base(node)): // Curator's mark: its owner will say it anew
		if before == nil || before.leader == nil || before.leader.Token != l.Token {
			return nil
		}
		return before.leader
	case !known:
		l.Value = rest
		return l
	}
	l.Host, l.PID, l.Value = said.Host, said.PID, said.Value
	if !said.HeldSince.IsZero() {
		l.Since = said.HeldSince
	}
	return l
}
