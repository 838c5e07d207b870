package zktest

import "time"

// Cause is why a node or a session went.
type Cause int

// A change is a client's unless it says otherwise.
const (
	CauseClient Cause = iota // a client's request, its closeSession included
	CauseExpiry              // the server ended the session
	CauseReaper              // the server removed an empty container or an outlived node
)

func (c Cause) String() string { return [...]string{"client", "expiry", "reaper"}[c] }

// Kind is what a Change does.
type Kind int

// The kinds of changes.
const (
	NodeCreated Kind = iota
	NodeDeleted
	DataSet
	ACLSet
	SessionCreated
	SessionClosed
)

func (k Kind) String() string {
	return [...]string{"created", "deleted", "data set", "acl set", "session created", "session closed"}[k]
}

// Txn is a committed transaction. One without changes is a check, or a request that failed.
type Txn struct {
	Zxid    int64
	Time    time.Time // of the commit
	Session int64     // who asked; 0 for the reaper
	Op      Op
	Failed  bool
	Changes []Change
}

// Change is one change to the tree or to the sessions.
type Change struct {
	Kind    Kind
	Path    string // of a node
	Owner   int64  // session that owns an ephemeral node
	Data    []byte // of a node that was created, or whose data was set; not to be changed
	Session int64  // session created or closed
	Cause   Cause
}

// Observe calls fn for every transaction that is committed from now on, each once and in the order of their zxids, which
// begin anew after LoseData. The call comes before any client can see the transaction, and everything waits for its
// return: it must not block and must not call this package. A nil fn panics.
func (e *Ensemble) Observe(fn func(Txn)) {
	if fn == nil {
		panic("zktest: Observe of a nil function")
	}
	e.do(func() { e.observers = append(e.observers, fn) })
}

// Observe is Ensemble.Observe.
func (s *Server) Observe(fn func(Txn)) { s.e.Observe(fn) }

// committed tells the observers. A new leader commits again what it knows, so a transaction may come by twice.
func (e *Ensemble) committed(by *Server, t *txn) {
	if t.zxid <= e.observed {
		return
	}
	e.observed = t.zxid
	if len(e.observers) == 0 {
		return
	}
	report := Txn{Zxid: t.zxid, Time: time.Now(), Session: t.session, Op: t.op, Failed: t.code != ok}
	for _, a := range t.actions {
		if a.op == opError {
			report.Failed = true
			continue
		}
		if kind, changes := changeKind(a.op); changes && t.code == ok {
			report.Changes = append(report.Changes, Change{Kind: kind, Path: a.path, Owner: a.owner, Data: a.data, Cause: t.cause})
		}
	}
	switch _, known := by.sessions[t.session]; {
	case t.op == OpConnect:
		report.Changes = append(report.Changes, Change{Kind: SessionCreated, Session: t.session})
	case t.op == OpCloseSession && known:
		report.Changes = append(report.Changes, Change{Kind: SessionClosed, Session: t.session, Cause: t.cause})
	}
	for _, fn := range e.observers {
		fn(report)
	}
}

func changeKind(o Op) (Kind, bool) {
	switch {
	case o.creates():
		return NodeCreated, true
	case o == OpDelete:
		return NodeDeleted, true
	case o == OpSetData:
		return DataSet, true
	case o == OpSetACL:
		return ACLSet, true
	}
	return 0, false
}
