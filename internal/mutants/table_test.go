package mutants

import "github.com/zklock/zklock/internal/sim"

// mutant is the lock with a safeguard missing.
type mutant struct {
	name    string
	changes []edit
}

// edit replaces a text that occurs once in a file.
type edit struct{ file, old, new string }

// focus is the kind of fault that gives a mutant away, where few programs have it, and
// few of those at the moment that counts.
var focus = map[string]sim.FaultKind{
	"permits are counted before the server has caught up":             sim.ListBehindLag,
	"a list decides before the server has caught up":                  sim.ListBehindLag,
	"recovery without the committed write":                            sim.LostBehindLag,
	"a grant without the own node in the list":                        sim.DeleteUnlisted,
	"the sequence's end is ignored":                                   sim.EndOfCounter,
	"a proof is trusted after a quiet gap":                            sim.QuietGap,
	"a proof makes its own touches sure":                              sim.LateTouches,
	"the clocks are looked at when the lease should be over":          sim.Sleep,
	"the wall clock does not count":                                   sim.Sleep,
	"answered pings extend the lease":                                 sim.CutOffPair,
	"no proofs":                                                       sim.CutOffPair,
	"a handshake counts from the next proof on":                       sim.LoseHandshake,
	"a proof outweighs a handshake without an answer":                 sim.LoseHandshake,
	"a handshake without an answer is forgotten after half a timeout": sim.LoseHandshake,
	"any answer is one to all handshakes":                             sim.LoseHandshake,
	"a server that has not been heard grants all of the timeout":      sim.LoseHandshake,
	"a create's result is adopted whatever its session":               sim.ExpireAtLogin,
	"wake without a list behind a node of the own session":            sim.ExpireInLine,
	"no session-id comparison":                                        sim.ReplaceSession,
}

var all = []mutant{
	{"a create's result is adopted whatever its session", []edit{
		{"create.go", "if carrier.ID != c.epoch.id {", "if false {"},
	}},
	{"a list decides before the server has caught up", []edit{
		{"listing.go", "if l.CaughtUp() {\n\t\treturn l, nil\n\t}\n\tl.CatchingUp", "if true {\n\t\treturn l, nil\n\t}\n\tl.CatchingUp"},
	}},
	{"permits are counted before the server has caught up", []edit{
		{"watch.go", "if _, err = s.catchUp(key.path); err == nil {", "if true {"},
	}},
	{"recovery without the committed write", []edit{
		{"create.go", "if _, err := c.queue.session.catchUp(dir); err != nil {", "if err := error(nil); err != nil {"},
	}},
	{"ExistsW instead of GetW", []edit{
		{"watch.go", "w.data, w.stat, err = s.conn.Get(key.path)", "_, w.stat, _, err = s.conn.ExistsW(key.path)"},
	}},
	{"no list after a reconnect", []edit{
		{"wait.go", "case <-at.link.Down():\n\t\treturn nil, nil\n", ""},
		{"epoch.go", "w.fire(false)", "_ = w"},
	}},
	{"wake without a list behind a writer", []edit{
		{"internal/recipe/wakeup.go", "(w.Position.Nearest.Kind != Write || w.Self == Read) &&", ""},
	}},
	{"wake without a list behind a node of the own session", []edit{
		{"wait.go", "next.isArmed() && next.stat.EphemeralOwner != c.epoch.id", "next.isArmed()"},
	}},
	{"release by prefix", []edit{
		{"janitor.go", "err := s.deleteTogether(batch)\n", `names, _, err := s.conn.Children(last.queue.dir)
		for _, name := range names {
			if _, ours := s.ids.of(name); ours && err == nil {
				err = s.conn.Delete(recipe.Join(last.queue.dir, name), -1)
			}
		}
`},
	}},
	{"a lost create is not looked for", []edit{
		{"create.go", "case created.err == nil:\n\t\treturn c.adopt(carrier, created.value, zxid)\n\t}", "case created.err == nil:\n\t\treturn c.adopt(carrier, created.value, zxid)\n\t}\n\tif true {\n\t\ts.forget(c)\n\t\treturn created.err\n\t}"},
	}},
	{"a delete is tried once", []edit{
		{"janitor.go", "case !transient(err):\n\t\t\tif errors.Is(err, zk.ErrNoAuth)", "case true:\n\t\t\tif errors.Is(err, zk.ErrNoAuth)"},
	}},
	{"no deadline", []edit{
		{"internal/lease/lease.go", "proof.Add(part(timeout, proofPart)), touch.Add(part(timeout, touchPart))", "proof.Add(100*timeout), touch.Add(100*timeout)"},
	}},
	{"the sequence's end is ignored", []edit{
		{"internal/recipe/name.go", "return n.Sequence >= orderEnd || n.Sequence < 0 }", "return false }"},
	}},
	{"a lost hold's node is left to the session", []edit{
		{"contender.go", "c.leaveLocked() // the session may live, and the node with it", ""},
	}},
	{"the token is the sequence", []edit{
		{"hold.go", "return h.contender.token", "return int64(h.contender.sequence)"},
	}},
	{"a grant without the own node in the list", []edit{
		{"internal/recipe/order.go", "listed := false", "listed := true"},
	}},
	{"answered pings extend the lease", []edit{
		{"proof.go", "if !s.proving {", "if false {"},
		{"internal/wire/link.go", "r, known := l.answered(xid)", "l.dialer.session.Asks(clock.Instant{})\n\tr, known := l.answered(xid)"},
		{"connection.go", "if s.id == 0 {", `if ep := s.epoch; ep != nil && at.IsZero() {
		now := s.clock.Now()
		ep.Extend(now.Add(s.shortest*3/5), now)
		return
	}
	if s.id == 0 {`},
	}},
	{"a proof is trusted after a quiet gap", []edit{
		{"internal/lease/lease.go", "return clock.Earlier(byProof, byTouch)", "_ = byTouch\n\treturn byProof"},
	}},
	{"a proof makes its own touches sure", []edit{
		{"internal/lease/lease.go", "l.Extend(in.safeUntil(p.Begun, relay.proved(p, now, in.Timeout)), now)\n", `sure := relay.proved(p, now, in.Timeout)
	if in.Held {
		sure = p.Touched
	}
	l.Extend(in.safeUntil(p.Begun, sure), now)
`},
	}},
	{"the clocks are looked at when the lease should be over", []edit{
		{"proof.go", "min(ep.Left(now), s.terms(now).Look())", "ep.Left(now)"},
	}},
	{"the wall clock does not count", []edit{
		{"internal/lease/lease.go", "return -now.Most(*end)", "return -now.Least(*end)"},
	}},
	{"a handshake counts when it is answered", []edit{
		{"connection.go", "if s.id == 0 {", "if true {"},
	}},
	{"a handshake counts from the next proof on", []edit{
		{"connection.go", "s.epoch.Shorten(lease.UnheardEnd(at, s.shortest))", "_ = at"},
	}},
	{"a proof outweighs a handshake without an answer", []edit{
		{"internal/lease/lease.go", "if in.Unheard {\n\t\tend = clock", "if false {\n\t\tend = clock"},
	}},
	{"a handshake without an answer is forgotten after half a timeout", []edit{
		{"internal/lease/unheard.go", "> requestLife*timeout", "> timeout/2"},
	}},
	{"any answer is one to all handshakes", []edit{
		{"internal/lease/unheard.go", "u.sent = u.sent[:n-1]", "u.sent = nil"},
	}},
	{"a server that has not been heard grants all of the timeout", []edit{
		{"internal/lease/unheard.go", "leastGrant  = 1.0 / 4", "leastGrant  = 1.0"},
	}},
	{"no session-id comparison", []edit{
		{"epoch.go", "if l.ID != s.id {", "if l.ID == 0 || s.id == 0 {"},
	}},
	{"succession to a contender that is not the next", []edit{
		{"succession.go", "c.sequence - 1}", "c.sequence - 2}"},
		{"internal/recipe/succession.go", "s.SameConnection && s.Ahead.Sequence == s.Self.Sequence-1", "s.SameConnection"},
	}},
	{"a retained node is not given up", []edit{
		{"cohort.go", "if t.company == others && !t.idle.IsZero() {", "if false {"},
	}},
	{"no proofs", []edit{
		{"proof.go", "if !s.proving {", "if false {"},
	}},
	{"TryLock does not try", []edit{
		{"trylock.go", "{ return l.tryLock(l.tryUntil()) == nil }", "{ return false && l.tryLock(l.tryUntil()) == nil }"},
	}},
	{"a try finds every queue taken", []edit{
		{"queue.go", "if err == nil && recipe.AnyBlocks(view.names, q.kind) {", "if _, _ = view, recipe.AnyBlocks; err == nil {"},
	}},
	{"TryLockFor does not wait", []edit{
		{"trylock.go", "err = wait(timed)", "_, err = timed, ErrLocked"},
	}},
	{"TryLockFor waits too long", []edit{
		{"trylock.go", "context.WithTimeoutCause(ctx, d, errTimeIsUp)", "context.WithTimeoutCause(ctx, d+time.Second, errTimeIsUp)"},
	}},
	{"a lock that is given back was lost", []edit{
		{"context.go", "err = h.release(ctx, endTenancy)", "h.release(ctx, endTenancy)\n\t\terr = ErrLost"},
	}},
	{"a lost lock is given back", []edit{
		{"hold.go", "return nil, ErrLost", "return nil, nil"},
	}},
	{"a release is not waited for", []edit{
		{"hold.go", "case <-r.done:\n\t\treturn r.err\n\tcase <-ctx.Done():\n\t\treturn ended(ctx)", "case <-ctx.Done():\n\t\treturn ended(ctx)\n\tdefault:\n\t\treturn nil"},
	}},
	{"a hold that has ended is valid", []edit{
		{"hold.go", "if h.Err() != nil {\n\t\treturn false\n\t}\n\tep,", "ep,"},
		{"hold.go", "s.lapse(ep, now)\n\treturn h.Err() == nil", "s.lapse(ep, now)\n\treturn true"},
	}},
	{"Valid ends half a timeout early", []edit{
		{"hold.go", "if ep.RunsAt(now) {\n\t\treturn true", "if ep.RunsAt(now.Add(h.contender.queue.session.Timeout() / 2)) {\n\t\treturn true"},
		{"hold.go", "return h.Err() == nil // a proof", "return false // a proof"},
	}},
	{"a check of the path instead of the node", []edit{
		{"hold.go", "check := h.contender.check()", "check := &zk.CheckVersionRequest{Path: h.contender.queue.dir, Version: -1}"},
	}},
	{"the owner's first lock does not count", []edit{
		{"reentrant.go", "return l.depth", "return l.depth - 1"},
	}},
	{"Inspect tells another token", []edit{
		{"inspect.go", "n.stat.Czxid", "n.stat.Czxid + 1"},
	}},
	{"who is asked for the lock is not told", []edit{
		{"revoke.go", "c.hold.revoked.Close()", "_ = c"},
		{"contender.go", "c.hold.revoked.Close()", "_ = c"},
	}},
	{"a hold is born asked for", []edit{
		{"contender.go", "if c.revoked {", "if true {"},
	}},
	{"the next hold begins before the last one has ended", []edit{
		{"hold.go", "import (\n", "import (\n\t\"runtime\"\n"},
		{"hold.go", "first = h.end(holdReleased)\n", "first = h.Err() == nil\n"},
		{"hold.go", "\treturn c.leaving, first\n", "\truntime.Gosched()\n\th.end(holdReleased)\n\treturn c.leaving, first\n"},
	}},
	{"a place is kept when the trace panics", []edit{
		{"queue.go", "if h == nil {\n\t\t\tleft = c.leave()", "if h == nil && err != nil {\n\t\t\tleft = c.leave()"},
	}},
	{"a hold is kept when the trace panics", []edit{
		{"trace.go", "if !told {", "if !told && h == nil {"},
	}},
	{"a cohort waits for ever when the trace panics", []edit{
		{"cohort.go", "defer func() { t.fetched(h) }() // also if a function of the trace panics\n\treturn acquire(ctx, a)", "h, err = acquire(ctx, a)\n\tt.fetched(h)\n\treturn h, err"},
	}},
}
