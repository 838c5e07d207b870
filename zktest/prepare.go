package zktest

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// prepare turns a request into the transaction that decides it, against the tree as it will be when everything before
// it is applied. The order of the checks is PrepRequestProcessor's: it decides which of two errors is reported.
func (l *leader) prepare(q *request) *txn {
	l.zxid++
	t := &txn{
		zxid: l.zxid, at: time.Now(), op: q.op, session: q.session, timeout: q.timeout, cause: q.cause, req: q,
	}
	l.overlay.begin()
	switch q.op {
	case OpConnect:
		l.tracker.track(q.session, q.timeout, q.conn.srv)
	case OpCloseSession:
		t.actions = l.endSession(q.session, t.zxid)
	case OpMulti:
		t.actions, t.code = l.multi(q, t.zxid)
	default:
		var a action
		if a, t.code = l.decide(q, q.record, t.zxid); t.code == ok {
			t.actions = []action{a}
		}
	}
	return t
}

// multi decides all or nothing. A session that moved away fails the request as a whole, since it is answered by
// hanging up, and so does what is malformed; every other error is reported for the operation that met it.
func (l *leader) multi(q *request, zxid int64) ([]action, code) {
	if q.malformed {
		return nil, marshallingError
	}
	actions := make([]action, 0, len(q.ops))
	failed := -1
	for i, r := range q.ops {
		if failed >= 0 {
			actions = append(actions, action{op: opError, code: runtimeInconsistency})
			continue
		}
		a, c := l.decide(q, r, zxid)
		if c == sessionMoved || c == marshallingError {
			l.overlay.rollback()
			return nil, c
		}
		if c != ok {
			failed, a = i, action{op: opError, code: c}
			l.overlay.rollback()
		}
		actions = append(actions, a)
	}
	// The operations ahead of the one that failed are reported as errors too, with error 0.
	for i := range max(failed, 0) {
		actions[i] = action{op: opError, code: ok}
	}
	return actions, ok
}

func (l *leader) decide(q *request, r record, zxid int64) (action, code) {
	if q.conn == nil {
		return l.decideReap(r, zxid)
	}
	if r.malformed {
		return action{}, marshallingError
	}
	if r.op == OpReconfig {
		return action{}, reconfigDisabled
	}
	if c := l.createFlags(r); c != ok {
		return action{}, c
	}
	if r.op == OpCreateContainer && l.srv.e.noContainers { // in a multi
		r.op = OpCreate
	}
	if c := l.tracker.check(q.session, q.conn.srv); c != ok {
		return action{}, c
	}
	switch {
	case r.op.creates():
		return l.create(q, r, zxid)
	case r.op == OpDelete:
		return l.delete(q, r, zxid)
	default:
		return l.update(q, r, zxid)
	}
}

// The bits and numbers of a create request's flags (CreateMode).
const (
	flagEphemeral  = 1
	flagSequential = 2
	flagContainer  = 4
	flagTTL        = 5
	flagTTLSeq     = 6
	maxTTL         = 0xffffffffff * time.Millisecond
)

func (l *leader) createFlags(r record) code {
	if !r.op.creates() {
		return ok
	}
	ttl := r.flags == flagTTL || r.flags == flagTTLSeq
	switch {
	case r.flags < 0 || r.flags > flagTTLSeq, r.flags == flagContainer && l.srv.e.noContainersSaid:
		return badArguments
	case ttl && !l.srv.e.ttlNodes:
		return unimplemented
	case ttl && (r.ttl <= 0 || r.ttl > maxTTL), !ttl && r.op == OpCreateTTL && r.ttl >= 0:
		return badArguments
	}
	return ok
}

func (l *leader) create(q *request, r record, zxid int64) (action, code) {
	parentPath, _, found := splitPath(r.path)
	if !found {
		return action{}, badArguments
	}
	acl, c := l.srv.e.fixACL(r.acl, q.who)
	if c != ok {
		return action{}, c
	}
	parent, found := l.overlay.find(parentPath)
	if !found {
		return action{}, noNode
	}
	if !permitted(parent.acl, permCreate, q.who) {
		return action{}, noAuth
	}
	path := r.path
	if r.flags == flagTTLSeq || r.flags < flagContainer && r.flags&flagSequential != 0 {
		path += fmt.Sprintf("%010d", parent.created)
	}
	if !validPath(path) {
		return action{}, badArguments
	}
	if _, exists := l.overlay.find(path); exists {
		return action{}, nodeExists
	}
	if parent.owner != 0 {
		return action{}, noChildrenForEphemerals
	}
	parent.created++
	parent.children++
	a := action{op: r.op, path: path, data: r.data, acl: acl, created: parent.created}
	switch {
	case r.op == OpCreateContainer:
		a.container = true
	case r.op == OpCreateTTL:
		a.ttl = r.ttl
	case r.flags < flagContainer && r.flags&flagEphemeral != 0:
		a.owner = q.session
	}
	l.overlay.put(zxid, parent)
	l.overlay.put(zxid, future{path: path, acl: acl, owner: a.owner, container: a.container, ttl: a.ttl > 0})
	return a, ok
}

func (l *leader) delete(q *request, r record, zxid int64) (action, code) {
	parentPath, _, found := splitPath(r.path)
	if !found || special(r.path) {
		return action{}, badArguments
	}
	parent, found := l.overlay.find(parentPath)
	if !found {
		return action{}, noNode
	}
	if !permitted(parent.acl, permDelete, q.who) {
		return action{}, noAuth
	}
	n, found := l.overlay.find(r.path)
	switch {
	case !found:
		return action{}, noNode
	case r.version != -1 && r.version != n.version:
		return action{}, badVersion
	case n.children > 0:
		return action{}, notEmpty
	}
	return l.remove(parent, n, zxid), ok
}

func (l *leader) remove(parent, n future, zxid int64) action {
	parent.children--
	l.overlay.put(zxid, parent)
	l.overlay.put(zxid, future{path: n.path, gone: true})
	return action{op: OpDelete, path: n.path, owner: n.owner}
}

// update decides the operations that look at one node only: setData, setACL and check.
func (l *leader) update(q *request, r record, zxid int64) (action, code) {
	if !validPath(r.path) {
		return action{}, badArguments
	}
	a := action{op: r.op, path: r.path, data: r.data}
	if r.op == OpSetACL {
		var c code
		if a.acl, c = l.srv.e.fixACL(r.acl, q.who); c != ok {
			return action{}, c
		}
	}
	n, found := l.overlay.find(r.path)
	if !found {
		return action{}, noNode
	}
	a.owner = n.owner
	needs, version := permRead, &n.version
	switch r.op {
	case OpSetData:
		needs = permWrite
	case OpSetACL:
		needs, version = permAdmin, &n.aversion
	}
	if !permitted(n.acl, needs, q.who) {
		return action{}, noAuth
	}
	if r.version != -1 && r.version != *version {
		return action{}, badVersion
	}
	if r.op != OpCheck {
		*version++
		a.version = *version
		l.overlay.put(zxid, n) // with the ACL that it has: a new one counts when it is committed
	}
	return a, ok
}

// decideReap decides the server's own deletion of a container or a node with a TTL.
func (l *leader) decideReap(r record, zxid int64) (action, code) {
	parentPath, _, _ := splitPath(r.path)
	n, found := l.overlay.find(r.path)
	switch {
	case !found:
		return action{}, noNode
	case n.children > 0:
		return action{}, notEmpty
	case !n.container && !n.ttl:
		return action{}, badVersion
	}
	parent, _ := l.overlay.find(parentPath)
	return l.remove(parent, n, zxid), ok
}

// endSession deletes what the session owns, in no particular order: ZooKeeper walks a HashSet, and the watchers of two
// nodes that go in one transaction may learn of them either way round. Until that is committed their parents count them
// as children, and cannot be deleted.
func (l *leader) endSession(session, zxid int64) []action {
	l.tracker.close(session)
	paths := slices.Sorted(maps.Keys(l.overlay.ephemerals(session)))
	l.srv.e.shuffle(paths)
	actions := make([]action, len(paths))
	for i, path := range paths {
		l.overlay.put(zxid, future{path: path, gone: true})
		actions[i] = action{op: OpDelete, path: path, owner: session}
	}
	return actions
}
