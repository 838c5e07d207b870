package recipe

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The model is a small ensemble with a few clients, whose every next step is tried. What the
// package decides is decided by its own code; the model is what ZooKeeper promises and what a
// client does in between:
//
//   - Transactions have one order. A session's server has applied a part of them, and
//     what it answers and tells is of that part, in order. How long a message is under
//     way is the server's lag, too.
//   - An operator deletes a node, or the whole queue, node by node, with its counter.
//   - The deletes of one transaction are told in any order, but before any answer.
//   - After a reconnect the server may be any that has applied what was answered before.
//     What decides something is read when it has applied all that was committed by then.
//   - A session that has ended has lost its holds before (the lease sees to that), but
//     its waiters know nothing of it.
//   - Another library has the lock when its node is the first of all, whatever it is called, and
//     looks again when anything changes. Some nodes are no lock's: nobody ever deletes them.
//
// A node is a bit: contender i's own is 1<<i, and 1<<(most+i) is the reader that it has become
// by a downgrade.
const (
	most     = 4 // contenders
	sessions = 3
	logged   = 12 // transactions that not all servers have applied
)

type nodes uint8

// actor is a contender as the scope describes it.
type actor struct {
	kind       Kind
	session    int
	downgrades bool
	stem       string // of another library's node; empty for ours
	persists   bool   // likewise, of a node that is no lock's
}

// theirs reports whether another library has made the node.
func (a actor) theirs() bool { return a.stem != "" }

// scope is what a check explores.
type scope struct {
	actors  []actor
	counter int64 // its first number
	budget  budget

	// What a mutant takes away: a field of a Wakeup or a Succession is set to what satisfies
	// its condition, whatever is true.
	wakeup     func(*Wakeup)
	succession func(*Succession)
	locate     func([]Node, Node) (Position, error)
	contends   func(n Node, ephemeral bool) bool
	keeps      bool // the watches of a connection that has gone count
	behindhand bool // a new connection is read by at once
	follows    bool // contenders of one session hand the lock on
	asks       bool // who is woken may ask for those ahead alone, which a list of its session has shown
	remaining  func([]Node, Node) ([]Node, bool)
	ownFirst   bool // its own node is asked for ahead of these

	words  bool // each step says what it is
	buffer []step
}

// budget is how often something may still happen that need not.
type budget struct{ reconnects, ends, deletes, changes, leaves, renewals uint8 }

type phase uint8

const (
	idle      phase = iota
	making          // its create is committed, and not answered
	listing         // has to list the queue
	asking          // knows which of those ahead are there, and has to ask for its own node
	behind          // waits for the nearest one ahead
	following       // waits to be handed the lock by the one ahead
	holding
	leaving // has handed the lock on; its node is there
	over
)

var phases = [...]string{"idle", "making", "listing", "asking", "behind", "following", "holding", "leaving", "over"}

// watched is a watch of one contender.
type watched uint8

const (
	unset watched = iota
	asked
	armed
	deleted
	changed
	late // the node was gone before it could be watched
)

// state is comparable, and equal for what behaves alike.
type state struct {
	base    nodes // that all servers have applied
	log     [logged]entry
	length  uint8
	made    uint8 // nodes, of any contender
	removed nodes // by an operator: who had them is told, but not in time
	former  nodes // that were made before the queue was made anew
	servers [sessions]server
	seen    [sessions]nodes // by the last list of the session
	actors  [most]waiter
	budget  budget
}

// entry is a transaction.
type entry struct{ made, gone, changed nodes }

// server is that of a session's connection.
type server struct {
	applied  uint8 // of the log
	telling  nodes // whose deletion is applied, and not told
	answered uint8 // the latest part of the log of which an answer told
	need     uint8 // what it has to have applied before it may be read by
	ended    bool  // the session
}

type waiter struct {
	phase     phase
	number    uint8 // of its node, counted from 1
	nearest   uint8 // the node ahead, by the last list
	ahead     uint8 // how many, at most 2
	next, own watched
	blind     bool  // the own node was gone already when the end of the next was told
	reader    bool  // it has downgraded
	moved     bool  // the connection is another than that of its create
	still     nodes // that were ahead when it asked for them
	other     uint8 // that it follows, or that it has handed the lock to
}

func (n nodes) has(i int) bool { return n&(1<<i) != 0 }

// sequence returns the number that the server gives to the n-th node.
func (sc *scope) sequence(n uint8) int32 {
	v := sc.counter + int64(n) - 1
	if v <= math.MaxInt32 {
		return int32(v)
	}
	v-- // the last number comes twice
	return int32(uint32(v))
}

func (sc *scope) node(s *state, i int) Node {
	actor := i % most
	kind := sc.actors[actor].kind
	if i >= most {
		kind = Read
	}
	at := key{i, kind, sc.sequence(s.actors[actor].number), sc.actors[actor].stem}
	n, known := named[at]
	if !known {
		stem := at.stem
		switch {
		case stem == "":
			stem = Stem(fmt.Sprint(i), kind)
		case i >= most:
			stem += "reads-"
		}
		n, _ = Parse(fmt.Sprintf("%s%010d", strings.TrimPrefix(stem, bare), at.sequence))
		named[at] = n
	}
	return n
}

// bare is the stem of a node that is called by its number alone.
const bare = "bare"

type key struct {
	node     int
	kind     Kind
	sequence int32
	stem     string
}

var named = map[key]Node{}

// at returns the nodes as they are when a part of the log is applied.
func (s *state) at(applied uint8) nodes {
	there := s.base
	for _, e := range s.log[:applied] {
		there = there&^e.gone | e.made
	}
	return there
}

func (s *state) committed() nodes { return s.at(s.length) }

func (s *state) commit(e entry) {
	s.log[s.length] = e
	s.length++
}

// view returns what session i is shown, false if its server cannot be read by yet.
func (s *state) view(i int) (nodes, bool) {
	v := &s.servers[i]
	return s.at(v.applied), v.telling == 0 && v.applied >= v.need
}

// own returns the node by which actor i waits or holds.
func (s *state) own(i int) int {
	if s.actors[i].reader {
		return most + i
	}
	return i
}

// step is one thing that can happen.
type step struct {
	text  string
	to    state
	fair  bool   // it happens sooner or later
	wrong string // what it has broken
}

// steps returns all that can happen next, until it is called again.
func (sc *scope) steps(s state) []step {
	all := sc.buffer[:0]
	add := func(fair bool, to state, wrong, text string, args ...any) {
		if sc.words {
			text = fmt.Sprintf(text, args...)
		}
		all = append(all, step{text, to, fair, wrong})
	}
	for i := range sc.actors {
		sc.actorSteps(s, i, add)
	}
	for i := range sessions {
		if slices.ContainsFunc(sc.actors, func(a actor) bool { return a.session == i }) {
			sc.serverSteps(s, i, add)
		}
	}
	sc.operatorSteps(s, add)
	for i := range all {
		sc.canonical(&all[i].to)
		if all[i].wrong == "" {
			all[i].wrong = sc.broken(&all[i].to)
		}
	}
	sc.buffer = all
	return all
}

type adder func(fair bool, to state, wrong, text string, args ...any)

func (sc *scope) actorSteps(s state, i int, add adder) {
	a, w := sc.actors[i], s.actors[i]
	server := s.servers[a.session]
	there, readable := s.view(a.session)
	switch w.phase {
	case idle:
		if !server.ended && s.length < logged-3 && sc.first(&s, i) {
			to := s
			to.made++
			to.actors[i] = waiter{phase: making, number: to.made}
			if a.persists {
				to.actors[i].phase = over
			}
			to.commit(entry{made: 1 << i})
			add(false, to, "", "%d asks for the lock (%v, session %d)", i, a.kind, a.session)
		}
		return
	case making:
		switch answered := server.telling == 0 && !w.moved || readable; {
		case answered && there.has(i):
			to := s
			to.actors[i].phase = listing
			to.servers[a.session].answered = server.applied
			sc.follow(&to, i, func(ahead int) Succession {
				return Succession{SameQueue: to.former.has(ahead) == to.former.has(i)}
			})
			add(true, to, "", "%d hears of its node, number %d", i, sc.sequence(w.number))
		case answered && (w.moved || !s.committed().has(i)):
			to := s
			sc.end(&to, i, over)
			add(true, to, "", "%d finds no node of its own", i)
		}
	case listing:
		switch {
		case !readable:
		case a.theirs():
			sc.lookAsOthersDo(s, i, there, add)
		default:
			sc.ask(s, i, there, add)
			s.seen[a.session] = there
			sc.list(s, i, there, add)
		}
	case asking:
		if readable {
			sc.askOwn(s, i, there, add)
		}
	case behind:
		if readable && w.next == asked {
			to := s
			to.actors[i].next = arm(there, int(w.nearest))
			to.actors[i].blind = !there.has(int(w.nearest)) && !there.has(i)
			add(true, to, "", "%d watches the node of %d", i, w.nearest%most)
		}
		sc.watchOwn(s, i, there, readable, add)
		sc.wake(s, i, add)
	case following:
		sc.watchOwn(s, i, there, readable, add)
	case holding:
		sc.holderSteps(s, i, add)
	case leaving:
		sc.succeed(s, i, add)
	}
	if s.budget.leaves > 0 && (w.phase >= listing && w.phase <= following) {
		to := s
		to.budget.leaves--
		sc.leave(&to, i)
		add(false, to, "", "%d gives up", i)
	}
}

// fresh reports whether nobody of session i has asked for anything yet.
func (sc *scope) fresh(s *state, i int) bool {
	for n, a := range sc.actors {
		if a.session == i && s.actors[n].phase != idle {
			return false
		}
	}
	return true
}

// of returns the actors of session i, as what they are.
func (sc *scope) of(i int) (all []actor) {
	for _, a := range sc.actors {
		if a.session == i {
			a.session = 0
			all = append(all, a)
		}
	}
	return all
}

// first reports whether i is the first of those that are still alike.
func (sc *scope) first(s *state, i int) bool {
	a := sc.actors[i]
	for other := range i {
		if sc.actors[other] == a && s.actors[other].phase == idle {
			return false
		}
	}
	if sc.fresh(s, a.session) {
		for other := range a.session {
			if sc.fresh(s, other) && slices.Equal(sc.of(other), sc.of(a.session)) {
				return false
			}
		}
	}
	return true
}

func (sc *scope) watchOwn(s state, i int, there nodes, readable bool, add adder) {
	if !readable || s.actors[i].own != asked {
		return
	}
	if s.actors[i].own = arm(there, i); s.actors[i].own == late {
		sc.end(&s, i, over)
	}
	add(true, s, "", "%d watches its own node", i)
}

// end takes i out of the queue. Who follows it looks again.
func (sc *scope) end(s *state, i int, how phase) {
	w := s.actors[i]
	s.actors[i] = waiter{phase: how, number: w.number, reader: w.reader, other: w.other}
	for n := range s.actors {
		if f := &s.actors[n]; f.phase == following && int(f.other) == i {
			*f = waiter{phase: listing, number: f.number, moved: f.moved}
		}
	}
}

func arm(there nodes, node int) watched {
	if there.has(node) {
		return armed
	}
	return late
}

// lookAsOthersDo has another library's lock look whether its node is the first.
func (sc *scope) lookAsOthersDo(s state, i int, there nodes, add adder) {
	if !there.has(i) {
		sc.end(&s, i, over)
		add(true, s, "", "%d finds no node of its own", i)
		return
	}
	for n := range 2 * most {
		if there.has(n) && !sc.actors[n%most].persists && s.actors[n%most].number < s.actors[i].number {
			return
		}
	}
	s.actors[i] = waiter{phase: holding, number: s.actors[i].number, moved: s.actors[i].moved}
	add(true, s, "", "%d is the first, and has the lock", i)
}

// counts reports whether n stands in the queue for those who look at it.
func (sc *scope) counts(s *state, n int) bool {
	contends := Node.Contends
	if sc.contends != nil {
		contends = sc.contends
	}
	return contends(sc.node(s, n), !sc.actors[n%most].persists)
}

func (sc *scope) list(s state, i int, there nodes, add adder) {
	a := sc.actors[i]
	var shown []string
	var which []int
	for n := range 2 * most {
		if there.has(n) && sc.counts(&s, n) {
			shown = append(shown, sc.node(&s, n).Name)
			which = append(which, n)
		}
	}
	find := Locate
	if sc.locate != nil {
		find = sc.locate
	}
	at, err := find(Nodes(shown), sc.node(&s, i))
	to := s
	to.servers[a.session].answered = s.servers[a.session].applied
	switch {
	case err != nil:
		sc.leave(&to, i)
		add(true, to, "", "%d lists the queue and leaves: %v", i, err)
	case at.Ahead == 0:
		to.actors[i] = waiter{phase: holding, number: s.actors[i].number, moved: s.actors[i].moved}
		add(true, to, "", "%d lists the queue and has the lock", i)
	default:
		nearest := which[slices.Index(shown, at.Nearest.Name)]
		w := &to.actors[i]
		*w = waiter{phase: behind, number: w.number, moved: w.moved, ahead: uint8(min(at.Ahead, 2)), nearest: uint8(nearest), next: asked, own: asked}
		sc.follow(&to, i, func(ahead int) Succession { return Succession{Listed: ahead == nearest} })
		add(true, to, "", "%d lists the queue: %d ahead, the nearest is %d", i, at.Ahead, nearest%most)
	}
}

// ask has i ask for those that may be ahead of it by the last list of its session.
func (sc *scope) ask(s state, i int, there nodes, add adder) {
	if !sc.asks {
		return
	}
	var listed []Node
	which := map[string]int{}
	for n := range 2 * most {
		if s.seen[sc.actors[i].session].has(n) {
			node := sc.node(&s, n)
			listed, which[node.Name] = append(listed, node), n
		}
	}
	remaining := sc.remaining
	if remaining == nil {
		remaining = func(listed []Node, self Node) ([]Node, bool) { return Remaining(listed, self, 0, len(listed)) }
	}
	ahead, ok := remaining(listed, sc.node(&s, i))
	if !ok {
		return
	}
	w := s.actors[i]
	s.actors[i] = waiter{phase: asking, number: w.number, moved: w.moved}
	for _, n := range ahead {
		s.actors[i].still |= there & (1 << which[n.Name])
	}
	if sc.ownFirst {
		s.actors[i].still |= there & (1 << i)
	}
	add(true, s, "", "%d asks for %d ahead", i, len(ahead))
}

// askOwn has i ask for its own node, which makes a list of it and of those ahead.
func (sc *scope) askOwn(s state, i int, there nodes, add adder) {
	shown := s.actors[i].still | there&(1<<i)
	s.actors[i].still = 0
	sc.list(s, i, shown, func(fair bool, to state, wrong, text string, args ...any) {
		if to.actors[i].phase == holding && !there.has(i) {
			wrong = sc.blindly(i)
		}
		add(fair, to, wrong, text, args...)
	})
}

func (sc *scope) blindly(i int) string {
	return fmt.Sprintf("%d has the lock though its node was gone before", i)
}

// follow makes i the successor of the actor for which that is allowed.
func (sc *scope) follow(s *state, i int, seen func(ahead int) Succession) {
	if !sc.follows || sc.actors[i].theirs() {
		return
	}
	for ahead := range sc.actors {
		w := s.actors[ahead]
		if ahead == i || sc.actors[ahead].session != sc.actors[i].session || sc.actors[ahead].theirs() ||
			w.phase < listing || w.phase > holding || w.reader {
			continue
		}
		facts := seen(ahead)
		facts.Ahead, facts.Self = sc.node(s, ahead), sc.node(s, i)
		if sc.succession != nil {
			sc.succession(&facts)
		}
		if facts.Allowed() {
			w := s.actors[i]
			s.actors[i] = waiter{phase: following, number: w.number, moved: w.moved, other: uint8(ahead), own: asked}
			return
		}
	}
}

func (sc *scope) wake(s state, i int, add adder) {
	a, w := sc.actors[i], s.actors[i]
	again := s
	again.actors[i] = waiter{phase: listing, number: w.number, moved: w.moved}
	if w.own == changed {
		add(true, again, "", "%d looks again", i)
		return
	}
	if w.next < deleted {
		return
	}
	wakeup := Wakeup{
		Self:           a.kind,
		Position:       Position{Ahead: int(w.ahead), Nearest: sc.node(&s, int(w.nearest))},
		Deleted:        w.next == deleted || w.next == late,
		SameSession:    w.next != late && sc.actors[w.nearest%most].session == a.session,
		OwnWatched:     w.own == armed,
		SameConnection: true,
	}
	if sc.wakeup != nil {
		sc.wakeup(&wakeup)
	}
	if !wakeup.Proves() {
		add(true, again, "", "%d is woken, and looks again", i)
		return
	}
	to, wrong := s, ""
	to.actors[i] = waiter{phase: holding, number: w.number, moved: w.moved}
	if w.blind {
		wrong = sc.blindly(i)
	}
	add(true, to, wrong, "%d is woken, and has the lock", i)
}

func (sc *scope) holderSteps(s state, i int, add adder) {
	if sc.actors[i].downgrades && !s.actors[i].reader && s.committed().has(i) {
		to := s
		to.actors[i].reader = true
		to.commit(entry{made: 1 << (most + i)})
		to.commit(entry{gone: 1 << i})
		for n := range to.actors {
			if f := &to.actors[n]; f.phase == following && int(f.other) == i {
				*f = waiter{phase: holding, number: f.number, moved: f.moved}
			}
		}
		add(false, to, "", "%d goes on as a reader", i)
	}
	for next := range sc.actors {
		if w := s.actors[next]; w.phase == following && int(w.other) == i {
			to := s
			to.actors[next] = waiter{phase: holding, number: w.number, moved: w.moved}
			to.actors[i] = waiter{phase: leaving, number: s.actors[i].number, other: uint8(next)}
			add(true, to, "", "%d hands the lock to %d", i, next)
			return
		}
	}
	to := s
	sc.leave(&to, i)
	add(true, to, "", "%d gives the lock back", i)
}

// succeed deletes the node of i, which has handed its lock on, in a transaction that checks the
// node of whom it went to.
func (sc *scope) succeed(s state, i int, add adder) {
	to, next := s, int(s.actors[i].other)
	if s.actors[next].phase == holding && !s.committed().has(s.own(next)) {
		sc.end(&to, next, over)
	}
	sc.leave(&to, i)
	add(true, to, "", "the node of %d is deleted", i)
}

// leave deletes i's node.
func (sc *scope) leave(s *state, i int) {
	if own := s.own(i); s.committed().has(own) {
		s.commit(entry{gone: 1 << own})
	}
	sc.end(s, i, over)
}

func (sc *scope) serverSteps(s state, i int, add adder) {
	v := s.servers[i]
	switch {
	case v.telling != 0:
		for n := range 2 * most {
			if v.telling.has(n) {
				to := s
				to.servers[i].telling &^= 1 << n
				sc.tell(&to, i, n, deleted)
				add(true, to, "", "session %d is told that the node of %d is gone", i, n%most)
			}
		}
	case v.applied < s.length:
		to := s
		e := s.log[v.applied]
		to.servers[i].applied++
		to.servers[i].telling = e.gone & sc.watchedBy(&s, i)
		for n := range 2 * most {
			if e.changed.has(n) {
				sc.tell(&to, i, n, changed)
			}
		}
		add(true, to, "", "the server of session %d applies a transaction", i)
	}
	if sc.fresh(&s, i) {
		return
	}
	if s.budget.reconnects > 0 && !v.ended {
		oldest := s.length // what was applied before need is not looked at
		if sc.keeps || sc.behindhand {
			oldest = v.answered
		}
		for applied := oldest; applied <= s.length; applied++ {
			to := s
			to.budget.reconnects--
			sc.reconnect(&to, i, applied)
			add(false, to, "", "session %d reconnects to a server that has applied %d of %d", i, applied, s.length)
		}
	}
	if s.budget.ends > 0 && !v.ended && s.length < logged-2 {
		to := s
		to.budget.ends--
		to.servers[i].ended = true
		to.commit(entry{gone: s.committed() & sc.ownedBy(i)})
		for n, a := range sc.actors {
			if p := s.actors[n].phase; a.session == i && (p == holding || p == leaving || p == making || p == following) {
				sc.end(&to, n, over)
			}
		}
		add(false, to, "", "session %d ends", i)
	}
	if v.ended {
		to, told := s, false
		for n, a := range sc.actors {
			if p := s.actors[n].phase; a.session == i && p >= listing && p <= behind {
				sc.end(&to, n, over)
				told = true
			}
		}
		if told {
			add(true, to, "", "session %d hears of its end", i)
		}
	}
}

// tell passes an event to the waiters of session i that watch the node.
func (sc *scope) tell(s *state, i, node int, what watched) {
	for n, a := range sc.actors {
		w := &s.actors[n]
		if a.session != i || w.phase != behind && w.phase != following {
			continue
		}
		if w.next == armed && int(w.nearest) == node {
			w.next = what
			w.blind = what == deleted && !s.at(s.servers[i].applied).has(n)
		}
		if w.own == armed && n == node {
			if w.own = what; what == deleted {
				sc.end(s, n, over)
			} else if w.phase == following {
				w.own = asked
			}
		}
	}
}

func (sc *scope) watchedBy(s *state, i int) (all nodes) {
	for n, a := range sc.actors {
		w := s.actors[n]
		if a.session != i || w.phase != behind && w.phase != following {
			continue
		}
		if w.next == armed {
			all |= 1 << w.nearest
		}
		if w.own == armed {
			all |= 1 << n
		}
	}
	return all
}

func (sc *scope) ownedBy(i int) (all nodes) {
	for n, a := range sc.actors {
		if a.session == i && !a.persists {
			all |= 1<<n | 1<<(most+n)
		}
	}
	return all
}

func (sc *scope) reconnect(s *state, i int, applied uint8) {
	v := &s.servers[i]
	*v = server{applied: applied, answered: v.answered, need: s.length}
	if sc.behindhand {
		v.need = 0
	}
	if sc.keeps {
		v.telling = sc.watchedBy(s, i) &^ s.at(applied)
	}
	for n, a := range sc.actors {
		w := &s.actors[n]
		if a.session != i {
			continue
		}
		w.moved = w.phase != idle && w.phase != over
		switch {
		case sc.keeps:
		case w.phase == behind, w.phase == asking:
			*w = waiter{phase: listing, number: w.number, moved: true}
		case w.phase == following:
			w.own = asked
		}
	}
}

func (sc *scope) operatorSteps(s state, add adder) {
	there := s.committed()
	if s.budget.renewals > 0 && s.made > 0 && s.length < logged-2-most {
		to := s
		to.budget.renewals--
		to.made = 0
		to.removed |= there
		to.former = sc.begun(&s)
		for n := range 2 * most {
			if there.has(n) {
				to.commit(entry{gone: 1 << n})
			}
		}
		add(false, to, "", "an operator deletes the queue")
	}
	for n := range 2 * most {
		if !there.has(n) || s.length >= logged-2 {
			continue
		}
		if s.budget.deletes > 0 {
			to := s
			to.budget.deletes--
			to.removed |= 1 << n
			to.commit(entry{gone: 1 << n})
			add(false, to, "", "an operator deletes the node of %d", n%most)
		}
		if s.budget.changes > 0 {
			to := s
			to.budget.changes--
			to.commit(entry{changed: 1 << n})
			add(false, to, "", "somebody asks %d for its lock back", n%most)
		}
	}
}

// canonical forgets what no step looks at.
func (sc *scope) canonical(s *state) {
	applied := s.length
	for i := range sessions {
		v := &s.servers[i]
		if v.telling == 0 || !sc.looks(s, i) {
			v.telling = 0
			v.applied = max(v.applied, sc.unread(s, i))
		}
		if s.budget.reconnects == 0 || !sc.keeps && !sc.behindhand {
			v.answered = v.applied
		}
		if v.need <= v.applied {
			v.need = 0
		}
		applied = min(applied, v.applied, v.answered)
	}
	s.base = s.at(applied)
	copy(s.log[:], s.log[applied:s.length])
	clear(s.log[s.length-applied:])
	s.length -= applied
	used := s.base
	for _, e := range s.log[:s.length] {
		used |= e.made | e.gone | e.changed
	}
	for i := range s.seen {
		if !sc.asks || !sc.looks(s, i) {
			s.seen[i] = 0
		}
		used |= s.seen[i]
	}
	for i := range sessions {
		v := &s.servers[i]
		v.applied -= applied
		v.answered -= applied
		v.need -= min(v.need, applied)
	}
	for i := range s.actors {
		w := &s.actors[i]
		if w.phase == over && !used.has(i) && !used.has(most+i) {
			*w = waiter{phase: over}
		}
	}
	for i := range s.actors {
		if p := s.actors[i].phase; p != idle && p != over {
			used |= 1<<i | 1<<(most+i)
		}
	}
	s.removed &= used
	s.former &= used
}

// begun returns the nodes of those that have asked for the lock.
func (sc *scope) begun(s *state) (all nodes) {
	for i := range sc.actors {
		if s.actors[i].phase != idle {
			all |= 1<<i | 1<<(most+i)
		}
	}
	return all
}

// looks reports whether anybody of session i waits for its server.
func (sc *scope) looks(s *state, i int) bool {
	for n, a := range sc.actors {
		if p := s.actors[n].phase; a.session == i && p >= making && p <= following {
			return true
		}
	}
	return false
}

// unread returns how much of the log session i's server may apply before anybody looks.
func (sc *scope) unread(s *state, i int) uint8 {
	far := s.length
	for n, a := range sc.actors {
		if a.session != i {
			continue
		}
		switch w := s.actors[n]; {
		case w.phase == making && !w.moved:
			for at, e := range s.log[:s.length] {
				if e.made.has(n) {
					far = min(far, uint8(at))
				}
			}
			if s.base.has(n) {
				return 0
			}
		case w.phase >= making && w.phase <= following:
			return 0
		}
	}
	return far
}

// broken says what s breaks of what the lock promises.
func (sc *scope) broken(s *state) string {
	for i := range sc.actors {
		for j := range i {
			if sc.holds(s, i) && sc.holds(s, j) && sc.held(s, i).Blocks(sc.held(s, j)) {
				return fmt.Sprintf("%d and %d have the lock", j, i)
			}
		}
	}
	there := s.committed()
	for i, a := range sc.actors {
		w := s.actors[i]
		if w.phase == over && !a.persists && !s.servers[a.session].ended && there&(1<<i|1<<(most+i)) != 0 {
			return fmt.Sprintf("the node of %d stays", i)
		}
		for j, b := range sc.actors {
			early := s.actors[j]
			if sc.holds(s, i) && early.number < w.number && s.former.has(i) == s.former.has(j) && early.phase >= making && early.phase <= following &&
				there.has(j) && b.kind.Blocks(a.kind) && !s.servers[b.session].ended && !s.actors[i].reader {
				return fmt.Sprintf("%d has the lock ahead of %d", i, j)
			}
		}
	}
	return ""
}

// holds reports whether i has the lock, and no operator has deleted its node.
func (sc *scope) holds(s *state, i int) bool {
	return s.actors[i].phase == holding && !s.removed.has(s.own(i)) && !s.servers[sc.actors[i].session].ended
}

func (sc *scope) held(s *state, i int) Kind {
	if s.actors[i].reader && !sc.actors[i].theirs() {
		return Read
	}
	return sc.actors[i].kind
}

// stuck returns who waits though nothing more will happen.
func (sc *scope) stuck(s *state, next []step) string {
	if slices.ContainsFunc(next, func(st step) bool { return st.fair }) {
		return ""
	}
	for i, w := range s.actors {
		if w.phase != idle && w.phase != over {
			return fmt.Sprintf("nobody wakes %d, which is %s", i, phases[w.phase])
		}
	}
	return ""
}
