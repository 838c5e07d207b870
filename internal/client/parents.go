package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// The parents of locks are containers, which the server removes when they have been left empty,
// but keeps if they never had a child. So what is missing of a path is made by the transaction
// that makes the first node there. Whenever a call ends, and whatever its access list allows,
// there is no parent that nobody could use.

// Parents are what is missing of the path of a call's nodes.
type Parents struct {
	client      *Client
	dir         string   // of the nodes
	path        string   // of the lock: dir, or above it
	acl         []zk.ACL // of the nodes, and of their path from the lock's on
	missing     int      // how many have to be made, from dir up
	shrunk      bool     // the last try has found one of them there
	missedAgain bool     // the next has found it missing all the same
}

// Parents returns those of nodes in dir, of which nothing is known to be missing. All have that
// access list, but for the nodes above path: who may not use the lock may use others there.
func (c *Client) Parents(dir, path string, acl []zk.ACL) *Parents {
	return &Parents{client: c, dir: dir, path: path, acl: acl}
}

// Lacks says that dir is missing, or is there.
func (p *Parents) Lacks(dir bool) {
	p.missedAgain = dir && (p.missedAgain || p.shrunk)
	p.missing, p.shrunk = 0, false
	if dir {
		p.missing = 1
	}
}

// Confirm returns a wire.Stale while the session is connected to a server that lacks the path,
// though its leader has it: a node that it creates there stays, and it is told that there is none.
func (p *Parents) Confirm(ctx context.Context) error {
	if !p.missedAgain {
		return nil
	}
	c, dir := p.client, p.dir
	return c.ConfirmUnder(ctx, func() error { return c.Confirm(dir) })
}

// Learn takes what a try has come to. It reports whether that says more of what is missing, so
// that the next try is to be made at once. After one that had found too much there a pause is due,
// in which others finish what they make or remove.
func (p *Parents) Learn(err error) bool {
	switch {
	case Answers(err, zk.ErrNodeExists) && p.missing > 0:
		p.missing--
		p.shrunk = true
		return true
	case Answers(err, zk.ErrNoNode) && p.top() != "/":
		p.missedAgain = p.missedAgain || p.shrunk
		again := !p.shrunk
		p.missing++
		p.shrunk = false
		return again
	}
	return false
}

// top returns the lowest node of the path that is not known to be missing.
func (p *Parents) top() string {
	top := p.dir
	for range p.missing {
		top = recipe.Parent(top)
	}
	return top
}

// Request has r make what is missing of the path, of which the lowest gets the data, and carry out ops, the
// first of which make nodes in dir. All that is one transaction; what it makes above the nodes has to
// let itself be read too.
func (p *Parents) Request(r *wire.Request, data []byte, ops ...wire.Op) error {
	switch {
	case p.missing > 0:
		r.OfAll(slices.Concat(p.creates(data), ops, []wire.Op{Check(p.dir)})...)
	case len(ops) == 1:
		r.Of(ops[0])
	default:
		r.OfAll(ops...)
	}
	return p.client.fits(r.Size(), p.missing+len(ops), p.dir)
}

// Made returns the names of the nodes in dir that a request has made, how many these were to be.
func (p *Parents) Made(r *wire.Request, nodes int) ([]string, error) {
	if !r.Is(wire.OpMulti) {
		node, err := r.Path()
		return []string{node}, err
	}
	results, err := r.Results()
	if p.missing > 0 {
		err = p.judge(results, err)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = results[p.missing+i].Path
	}
	return names, nil
}

// Create carries out the operation that makes a node in dir, and makes what is missing above, as soon
// as there is a connection.
func (p *Parents) Create(node wire.Op) error {
	c := p.client
	r := new(wire.Request)
	err := p.Request(r, nil, node)
	if err == nil {
		_, err = c.Await(c.ctx, AnySession)
	}
	if err == nil {
		err = c.Ask(c.ctx, r)
	}
	if err == nil {
		_, err = p.Made(r, 1)
	}
	return err
}

// creates are the operations that make what is missing, from the top down. A server that does not know
// the request for a container hangs up on it; by its flags it refuses one, or makes a plain node.
func (p *Parents) creates(data []byte) []wire.Op {
	flags := int32(zk.FlagContainer)
	if p.client.noContainers.Load() {
		flags = zk.FlagPersistent
	}
	var creates []wire.Op
	for dir := p.dir; len(creates) < p.missing; dir = recipe.Parent(dir) {
		acl := p.acl
		if len(dir) < len(p.path) {
			acl = passable(acl)
		}
		creates = append(creates, wire.Op{Code: wire.OpCreate, Path: dir, Data: data, ACL: acl, Flags: flags})
		data = nil
	}
	slices.Reverse(creates)
	return creates
}

// passable returns the list of a node above a lock's path: as the lock's, but everybody may create
// what is below it, so that the first lock there does not shut the others out.
func passable(acl []zk.ACL) []zk.ACL {
	anybody := zk.ACL{Perms: zk.PermCreate, Scheme: "world", ID: "anyone"}
	if slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == anybody.Scheme && a.Perms&anybody.Perms != 0 }) {
		return acl
	}
	return append(slices.Clip(acl), anybody)
}

// errNoContainers says that the next try makes persistent parents.
var errNoContainers = errors.New("the servers have no containers")

// judge says what a transaction that was to make parents has come to. Servers that do not know
// containers refuse them (ZooKeeper 3.4), or make persistent nodes (ClickHouse Keeper).
func (p *Parents) judge(results []wire.Result, err error) error {
	failed := slices.IndexFunc(results, func(r wire.Result) bool { return r.Err != nil })
	switch {
	case err == nil && results[0].Stat == nil:
		p.client.lacksContainers()
	case failed >= 0 && failed < p.missing && err == zk.ErrBadArguments:
		p.client.lacksContainers()
		return errNoContainers
	case failed > 0 && err == zk.ErrNoAuth:
		return fmt.Errorf("%w: %w", ErrShutOut, err)
	}
	return err
}

// lacksContainers has parents made persistent from now on.
func (c *Client) lacksContainers() {
	if !c.noContainers.Swap(true) {
		c.Log.Warn("zklock: the servers have no containers, parents are made persistent")
	}
}
