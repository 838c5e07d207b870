package mutants

import "github.com/zklock/zklock/test/sim"

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
	"a handshake counts only while something is held":                 sim.IdleHandshake,
	"a server that has not been heard grants all of the timeout":      sim.LoseHandshake,
	"wake without a list behind a node of the own session":            sim.ExpireInLine,
	"no session-id comparison":                                        sim.ReplaceSession,
	"a downgrade goes on without its writer's node":                   sim.DeleteMidway,
	"permits are taken when the turn is over":                         sim.DeleteMidway,
	"who goes on is not told what it was asked for":                   sim.AskBack,
	"Revoke of a lock looks once":                                     sim.AskBack,
	"Revoke of a lock asks nobody":                                    sim.AskBack,
	"Revoke of a node that is gone says that it is asked":             sim.AskBack,
	"a try of a closed session says that its time is up":              sim.CloseSession,
	"a lost hold's node goes before its grace is over":                sim.LoseHold,
	"succession in a queue that was made anew":                        sim.RenewQueue,
	"a write that takes a tenth of the timeout is quick":              sim.PauseLeader,
	"servers that have lost their data are asked late":                sim.LoseData,
	"servers that have lost their data are never asked":               sim.LoseData,
}

var all = []mutant{
	{"a list decides before the server has caught up", []edit{
		{"internal/client/list.go", "l == nil || l.CaughtUp() {", "true || l.CaughtUp() {"},
		{"internal/client/list.go", "c.Current() != l || !l.CaughtUp() {", "c.Current() != l {"},
	}},
	{"permits are counted before the server has caught up", []edit{
		{"internal/client/list.go", "l == nil || l.CaughtUp() {", "true || l.CaughtUp() {"},
		{"internal/client/list.go", "c.Current() != l || !l.CaughtUp() {", "c.Current() != l {"},
		{"internal/client/watch.go", "if u.key.Children && !u.watch.Link.CaughtUp() {", "if false {"},
		{"internal/client/watch.go", "if err == nil && u.key.Children && !w.Link.CaughtUp() {", "if false {"},
		{"internal/queue/semaphore.go", "if client.GenerationOf(w.Stat).Before(client.GenerationOf(said.Stat)) {", "if false {"},
	}},
	{"ExistsW instead of GetW", []edit{
		{"internal/client/watch.go", "op := wire.Op{Code: wire.OpGetData,", "op := wire.Op{Code: wire.OpExists,"},
		{"internal/client/watch.go", "\t\tw.Data, w.Stat, err = r.Data()\n", `		if w.Data, w.Stat, err = r.Data(); errors.Is(err, wire.ErrMalformed) {
			w.Stat, err = r.Stat()
		}
`},
	}},
	{"no list after a reconnect", []edit{
		{"internal/queue/wait.go", "case <-at.link.Down():\n\t\treturn nil, nil\n", ""},
		{"internal/client/watch.go", "\tw.fire(false)\n\t}\n\tclear", "\t_ = w\n\t}\n\tclear"},
	}},
	{"wake without a list behind a writer", []edit{
		{"internal/recipe/wakeup.go", "(w.Position.Nearest.Kind != Write || w.Self == Read) &&", ""},
	}},
	{"wake without a list behind a node of the own session", []edit{
		{"internal/queue/wait.go", "next.IsArmed() && c.isAnothers(at.Nearest.Name, next)", "next.IsArmed()"},
	}},
	{"release by prefix", []edit{
		{"internal/queue/deletion.go", "\terr := sent.Err()\n", `	s.client.Spawn(func() {
		names, _, _ := s.client.Conn.Children(r.contender.queue.dir)
		for _, name := range names {
			if _, ours := s.ids.of(name); ours {
				_ = s.client.Conn.Delete(r.contender.queue.dir+"/"+name, -1)
			}
		}
	})
	err := sent.Err()
`},
	}},
	{"a lost create is not looked for", []edit{
		{"internal/queue/create.go", "case carrier == nil, a.created.Answered() &&", "case true, carrier == nil, a.created.Answered() &&"},
	}},
	{"a delete is tried once", []edit{
		{"internal/queue/deletion.go", "s.deleteTogether(batch, a); !errors.Is(err, zk.ErrNoNode) {\n\t\t\treturn err", "s.deleteTogether(batch, a); !errors.Is(err, zk.ErrNoNode) {\n\t\t\treturn client.Permanent(err)"},
		{"internal/queue/deletion.go", "if err != nil && !errors.Is(err, zk.ErrNoNode) && s.client.Spawn(", "if err != nil && !errors.Is(err, zk.ErrNoNode) && false && s.client.Spawn("},
	}},
	{"no deadline", []edit{
		{"internal/lease/lease.go", "return touch.Add(part(l.timeout, touchPart))", "return touch.Add(100 * l.timeout)"},
	}},
	{"the sequence's end is ignored", []edit{
		{"internal/recipe/name.go", "return n.Sequence >= orderEnd || n.Sequence < 0 }", "return false }"},
	}},
	{"a lost hold's node is left to the session", []edit{
		{"internal/queue/contender.go", "c.leaveLocked() // the session may live, and the node with it", ""},
	}},
	{"the token is the sequence", []edit{
		{"internal/queue/hold.go", "return h.contender.token", "return int64(h.contender.sequence)"},
	}},
	{"a grant without the own node in the list", []edit{
		{"internal/recipe/order.go", "listed := false", "listed := true"},
	}},
	{"answered pings extend the lease", []edit{
		{"internal/queue/keeper.go", "if !s.proving {", "if false {"},
		{"internal/wire/link.go", "r, known := l.take(xid)", "l.dialer.session.Asks(clock.Instant{})\n\tr, known := l.take(xid)"},
		{"internal/queue/observer.go", "if s.id == 0 {", `if at.IsZero() {
		p, now := proof{}, s.client.Clock.Now()
		p.Begun, p.Touched, p.Early = now, now, now
		s.lease.Prove(p.Proof, false, now)
		return
	}
	if s.id == 0 {`},
	}},
	{"a proof is trusted after a quiet gap", []edit{
		{"internal/lease/lease.go", "end := l.touchEnd(touch)", "end := begun.Add(part(l.timeout, 3.0/5))"},
		{"internal/lease/touches.go", "l.inTime(min(l.Left(now)-l.interval(now), byTouch))", "l.inTime(l.Left(now)-l.interval(now)+0*byTouch)"},
		{"internal/lease/touches.go", "(l.isSlow() || l.carry(now))", "true"},
	}},
	{"a proof makes its own touches sure", []edit{
		{"internal/lease/lease.go", "l.restOn(p.Begun, l.makeSure(p, now), now)", "if l.restOn(p.Begun, l.makeSure(p, now), now); held {\n\t\tl.restOn(p.Begun, p.Touched, now)\n\t}"},
	}},
	{"the clocks are looked at when the lease should be over", []edit{
		{"internal/lease/lease.go", "return min(l.Left(now), l.look(now))", "return l.Left(now)"},
	}},
	{"the wall clock does not count", []edit{
		{"internal/lease/lease.go", "return -now.Most(*end)", "return -now.Least(*end)"},
	}},
	{"a handshake counts when it is answered", []edit{
		{"internal/queue/observer.go", "if s.id == 0 {", "if true {"},
	}},
	{"a handshake counts from the next proof on", []edit{
		{"internal/lease/unheard.go", "\tl.shorten(unheardEnd(now, l.timeout))\n", ""},
	}},
	{"a handshake counts only while something is held", []edit{
		{"internal/queue/observer.go", "if s.id == 0 {", "if s.id == 0 || s.protected.length == 0 {"},
	}},
	{"a proof outweighs a handshake without an answer", []edit{
		{"internal/lease/lease.go", "if l.isUnheard(now) {\n\t\tend = clock", "if false {\n\t\tend = clock"},
	}},
	{"a handshake without an answer is forgotten after half a timeout", []edit{
		{"internal/lease/unheard.go", "> requestLife*l.timeout", "> l.timeout/2"},
	}},
	{"any answer is one to all handshakes", []edit{
		{"internal/lease/lease.go", "l.unheard = l.unheard[:n-1]", "l.unheard = nil"},
	}},
	{"a write that takes a tenth of the timeout is quick", []edit{
		{"internal/lease/lease.go", "quickPart = 1.0 / 256", "quickPart = 1.0 / 10"},
	}},
	{"a server that has not been heard grants all of the timeout", []edit{
		{"internal/lease/unheard.go", "leastGrant  = 1.0 / 4", "leastGrant  = 1.0"},
	}},
	{"no session-id comparison", []edit{
		{"internal/queue/incarnation.go", "if l.ID != s.id {", "if l.ID == 0 || s.id == 0 {"},
	}},
	{"succession to a contender that is not the next", []edit{
		{"internal/queue/succession.go", "c.sequence - 1}", "c.sequence - 2}"},
		{"internal/recipe/succession.go", "s.SameQueue && s.Ahead.Sequence == s.Self.Sequence-1", "s.SameQueue"},
	}},
	{"succession in a queue that was made anew", []edit{
		{"internal/recipe/succession.go", "s.SameQueue && s.Ahead", "s.Ahead"},
	}},
	{"who gives up costs a session that only waits all its places", []edit{
		{"internal/queue/succession.go", "if c.hold != nil {\n\t\ts.expire", "if true {\n\t\ts.expire"},
	}},
	{"after a reconnect who goes on is taken as alone until the queue changes", []edit{
		{"internal/queue/contention.go", "\tt.contention = c.queue.contentionOf(w, recipe.Base(c.node))\n", "\tif t.contention != alone {\n\t\tt.contention = c.queue.contentionOf(w, recipe.Base(c.node))\n\t}\n"},
	}},
	{"a retained node is not given up", []edit{
		{"internal/queue/contention.go", "if t.contention == others && !t.idle.IsZero() {", "if false {"},
	}},
	{"no proofs", []edit{
		{"internal/queue/keeper.go", "if !s.proving {", "if false {"},
	}},
	{"TryLock does not try", []edit{
		{"trylock.go", "return s.tryLock(s.tryUntil()) == nil", "return false && s.tryLock(s.tryUntil()) == nil"},
	}},
	{"a try finds every queue taken", []edit{
		{"internal/queue/queue.go", "case recipe.AnyBlocks(wanted, q.kind):", "case true || recipe.AnyBlocks(wanted, q.kind):"},
	}},
	{"TryLockFor does not wait", []edit{
		{"trylock.go", "err := l.ask(timed, \"try\", (*side).take)", "_, err := timed, ErrLocked"},
	}},
	{"TryLockFor waits too long", []edit{
		{"trylock.go", "context.WithTimeoutCause(ctx, d, up)", "context.WithTimeoutCause(ctx, d+time.Second, up)"},
	}},
	{"a lock that is given back was lost", []edit{
		{"context.go", "err = h.hold.Release(ctx, func", "err = ErrLost\n\t\th.hold.Release(ctx, func"},
	}},
	{"a lost lock is given back", []edit{
		{"internal/queue/hold.go", "return nil, h.Err()", "return nil, nil"},
	}},
	{"a release is not waited for", []edit{
		{"internal/queue/hold.go", `case <-r.done.Done():
		return r.err
	case <-ctx.Done():
		return client.Ended(ctx)`, `case <-ctx.Done():
		return client.Ended(ctx)
	default:
		return nil`},
	}},
	{"a hold that has ended is valid", []edit{
		{"internal/queue/hold.go", "case h.Err() != nil:", "case false:"},
		{"internal/queue/hold.go", "s.expire(h.contender.incarnation, now)\n\treturn h.Err() == nil", "s.expire(h.contender.incarnation, now)\n\treturn true"},
	}},
	{"Valid ends half a timeout early", []edit{
		{"internal/queue/hold.go", "s.lease.RunsAt(now)", "s.lease.RunsAt(now.Add(s.client.Timeout() / 2))"},
		{"internal/queue/hold.go", "return h.Err() == nil // a proof", "return false // a proof"},
	}},
	{"a check of the path instead of the node", []edit{
		{"internal/queue/hold.go", "check := client.Check(h.contender.node)", "check := client.Check(h.contender.queue.dir)"},
	}},
	{"the owner's first lock does not count", []edit{
		{"reentrant.go", "return l.depth", "return l.depth - 1"},
	}},
	{"Inspect tells another token", []edit{
		{"inspect.go", "n.Stat.Czxid", "n.Stat.Czxid + 1"},
	}},
	{"who is asked for the lock is not told", []edit{
		{"internal/queue/contender.go", "\t\tc.hold.revoked.Close()\n\t}\n\tif c.handoff", "\t\t_ = c\n\t}\n\tif c.handoff"},
		{"internal/queue/contender.go", "\t\tc.hold.revoked.Close()\n\t}\n\tc.hold.start", "\t\t_ = c\n\t}\n\tc.hold.start"},
	}},
	{"a hold is created asked for", []edit{
		{"internal/queue/contender.go", "if c.revoked {", "if true {"},
	}},
	{"the next hold begins before the last one has ended", []edit{
		{"internal/queue/hold.go", "import (\n", "import (\n\t\"runtime\"\n"},
		{"internal/queue/hold.go", "first = h.end(released)\n", "first = h.Err() == nil\n"},
		{"internal/queue/hold.go", "\treturn h.deletion, first\n", "\truntime.Gosched()\n\th.end(released)\n\treturn h.deletion, first\n"},
	}},
	{"a place is kept when the trace panics", []edit{
		{"internal/queue/queue.go", "if h == nil && !q", "if h == nil && err != nil && !q"},
	}},
	{"a hold is kept when the trace panics", []edit{
		{"internal/queue/trace.go", "if !told {", "if !told && h == nil {"},
	}},
	{"a handoff waits for ever when the trace panics", []edit{
		{"internal/queue/handoff.go", "\tdefer func() { t.fetched(h) }() // also if a function of the trace panics\n", ""},
		{"internal/queue/handoff.go", "\t\tdefer stalls.End()\n\t}\n\treturn acquire(ctx, call)", "\t\tdefer stalls.End()\n\t}\n\th, err = acquire(ctx, call)\n\tt.fetched(h)\n\treturn h, err"},
	}},
	{"a node goes before its minimum is over", []edit{
		{"internal/queue/contender.go", "left = o.MinHold - s.client", "left = o.MinHold/2 - s.client"},
	}},
	{"a lock is handed on before its minimum is over", []edit{
		{"internal/queue/contender.go", "if c.linger() {\n\t\treturn nil\n\t}\n\tif held {\n\t\tc.handOver()\n\t}", "if held {\n\t\tc.handOver()\n\t}\n\tif c.linger() {\n\t\treturn nil\n\t}"},
	}},
	{"readers without an owner give the oldest hold back", []edit{
		{"rwlocker.go", "i = len(held) - 1", "i = 0"},
	}},
	{"a writer that reads gives its share back at a nested Unlock", []edit{
		{"rwlocker.go", "outermost && r != nil {", "r != nil {"},
	}},
	{"a downgrade goes on without its writer's node", []edit{
		{"internal/queue/create.go", "if e.queues() {", "if e.beside != nil || e.queues() {"},
	}},
	{"permits are taken when the turn is over", []edit{
		{"internal/queue/create.go", "append(slices.Repeat([]wire.Op{node}, e.nodes), e.check)...)", "slices.Repeat([]wire.Op{node}, e.nodes)...)"},
	}},
	{"a lost hold's node goes before its grace is over", []edit{
		{"internal/queue/contender.go", "return c.queue.options.LossGrace -", "return c.queue.options.LossGrace/2 -"},
	}},
	{"servers that have lost their data are never asked", []edit{
		{"internal/wire/lostdata.go", "if d.asks == 0 {", "if true {"},
	}},
	{"servers that have lost their data are asked late", []edit{
		{"internal/wire/lostdata.go", "const lostDataTimeouts = 2", "const lostDataTimeouts = 5"},
	}},
	{"what nobody has come to use stays for its minimum", []edit{
		{"internal/queue/contender.go", "if c.unused || s.isOver(c)", "if c.hold == nil || s.isOver(c)"},
	}},
	{"a try finds a lock of its own process taken", []edit{
		{"internal/queue/handoff.go", "func (t *handoff) Try(ctx context.Context, call Call) (*Hold, error) {\n\ts := t.queue.session\n\ts.mu.Lock()\n\tif h := t.resume(); h != nil {", "func (t *handoff) Try(ctx context.Context, call Call) (*Hold, error) {\n\ts := t.queue.session\n\ts.mu.Lock()\n\tif h := (*Hold)(nil); h != nil {"},
	}},
	{"a try finds permits taken", []edit{
		{"internal/queue/semaphore.go", "again, session := 0, s.permits.session\n", "again, session := 0, s.permits.session\n\tif session != nil {\n\t\treturn nil, ErrLocked\n\t}\n"},
	}},
	{"a try of a closed session says that its time is up", []edit{
		{"trylock.go", "return errors.Is(err, up) ||", "return errors.Is(err, up) || errors.Is(err, ErrClosed) ||"},
	}},
	{"who goes on is not told what it was asked for", []edit{
		{"internal/queue/convert.go", "h.heed(before)", "_ = h"},
	}},
	{"Revoke of a lock looks once", []edit{
		{"revoke.go", "case looks == mostLooks:", "default:"},
	}},
	{"Revoke of a lock asks nobody", []edit{
		{"revoke.go", "err = s.revoke(ctx, c.Node)", "err = nil"},
	}},
	{"Revoke of a node that is gone says that it is asked", []edit{
		{"revoke.go", "if gone {\n\t\treturn zk.ErrNoNode\n\t}", "_ = gone"},
	}},
	{"several locks are had though one was lost meanwhile", []edit{
		{"multi.go", "while(others, ctx)", "while(nil, ctx)"},
		{"multi.go", "complete = valid(holds)", "complete = true"},
	}},
	{"what was not told of a queue is never looked for", []edit{
		{"internal/client/watch.go", "\tws.recheckLater()\n", ""},
	}},
	{"a hold's watch that a busy server refuses is never set", []edit{
		{"internal/client/watch.go", "c.pause(w.Link, backoff.Before(try))", "false"},
	}},
	{"a node whose delete a server refuses stays", []edit{
		{"internal/queue/deletion.go", "\t\ts.client.Spawn(func() { s.deleteYet(some[0]) })\n", ""},
	}},
}
