package lease

import (
	"fmt"

	"github.com/zklock/zklock/internal/clock"
)

// The model is a session at a follower of a leader, in steps of a 32nd of its timeout. What a
// lease comes to is decided by the package's own code; the model is what ZooKeeper promises,
// and what a client does in between:
//
//   - The leader pings each half tick; a ping may be late by less than two steps. The
//     follower answers with the touches since its last answer, on the stream that carries
//     the writes: the countdown begins anew.
//   - The follower answers a read at once, and passes a write on. Either is a touch. A
//     leg of the way between it and the client may take a step.
//   - The leader may be paused. When it goes on, it works through what has come and ends
//     the sessions that are overdue, in either order. After a 16th of the timeout it has
//     done so, and has pinged. The first write that is answered meanwhile does not count
//     as quick: that is an exception which the lease has.
//   - The client, or the follower, is cut off for good.
//   - The client loses its connection, sends a connect request that is never answered, and
//     has another server at once. The request is carried out at any later time, by a server
//     that grants a quarter of the timeout: from then on the leader takes the session to be
//     there, and nothing of its follower's.
//   - The client reads something each third of the timeout, usually. At some time it begins a
//     lease, with a write, and sends a proof whenever one is due. It may give back what
//     it holds, and begin again.
//
// A step of time is a sequence of phases, each of which may go in several ways.
const (
	step      = 100 // nanoseconds
	timeout   = 32 * step
	countdown = timeout / step

	catchingUp = countdown / 16
)

// scope is what a check explores.
type scope struct {
	budget  budget
	longest uint8  // steps that a pause takes
	tick    uint8  // half of one, in steps: a quarter of the timeout at most is assumed
	drift   int16  // what the client's clock may have lost while its lease lasted
	keeps   bool   // that a hold is lost is wrong too
	reading uint8  // steps from one read to the next
	grant   moment // what a server counts down from that was not heard
	starts  uint8  // of how many: in each the leader pings a step later

	// What a mutant takes away: it has the lease take what is true for what would satisfy a
	// condition.
	relayed func(by clock.Instant) clock.Instant // when a touch that counts is answered at the latest
	asked   func(c *client, l *Lease)            // a connect request goes out
	proved  func(a *answered)
	began   func(a *answered)
	lasts   func(l *Lease) bool // a hold may begin

	words   bool // each step says what it is
	phases  []phase
	buffers [2][]move
}

// budget is how often something may still happen that need not.
type budget struct{ late, pings, pauses, cuts, releases, asks uint8 }

// moment is in steps from now.
type moment int8

// longAgo is a moment from which nothing counts any more.
const longAgo moment = -countdown

// world is comparable, and equal for what behaves alike.
type world struct {
	budget budget
	ensemble
	client
	requests [2]request // under way: a read and a proof
}

const (
	theRead = iota
	theProof
)

// ensemble is the leader and the follower.
type ensemble struct {
	left    moment // of the leader's countdown
	ping    uint8  // steps to the leader's next
	touched bool   // the follower has touches to tell
	stream  [4]item
	waiting uint8 // items of the stream
	paused  uint8 // steps that the pause has taken, 0 if there is none
	resumed uint8 // steps since it went on, counted from 1, until it has caught up
	met     bool  // a write has been answered since
	ended   bool  // the session
	unheard bool  // a connect request may yet be carried out
	cut     cut
}

// item is what is on the stream from the follower to the leader.
type item uint8

const (
	aWrite item = iota + 1
	touches
)

type cut uint8

const (
	nothing cut = iota
	theClient
	theFollower
)

// request is one of the client's.
type request struct {
	at      place
	sent    moment // the request
	touched moment // the touch that is ahead of it unless there was a pause
	early   moment // the same if a ping was late
}

type place uint8

const (
	nowhere place = iota
	toFollower
	onStream
	toClient
)

// move is a way in which a step may go.
type move struct {
	to    world
	text  string
	wrong string
}

// phase appends the ways in which a move may go on.
type phase func(all []move, m move) []move

func (sc *scope) say(m move, text string, args ...any) move {
	if sc.words {
		m.text += "; " + fmt.Sprintf(text, args...)
	}
	return m
}

// severs cuts something off, or nothing.
func (sc *scope) severs(all []move, m move) []move {
	all = append(all, m)
	if m.to.budget.cuts == 0 {
		return all
	}
	m.to.budget.cuts--
	client := sc.say(m, "the client is cut off")
	client.to.cut = theClient
	follower := sc.say(m, "the follower is cut off from the leader")
	follower.to.cut = theFollower
	return append(all, client, follower)
}

// asks has the client ask a server that does not answer, and go on to another one.
func (sc *scope) asks(all []move, m move) []move {
	all = append(all, m)
	w := &m.to
	if w.budget.asks == 0 || w.cut != nothing || w.ended || w.paused+w.resumed > 0 {
		return all
	}
	w.budget.asks--
	w.requests = [2]request{}
	w.unheard, w.touched, w.left = true, false, countdown
	w.stream, w.waiting = [4]item{}, 0
	w.reconnects(sc.asked)
	return append(all, sc.say(m, "a connect request has no answer, another one has"))
}

// carriesOut has the connect request without an answer carried out, or not yet.
func (sc *scope) carriesOut(all []move, m move) []move {
	all = append(all, m)
	w := &m.to
	if !w.unheard || w.ended {
		return all
	}
	w.unheard, w.left, w.cut = false, sc.grant, theFollower
	return append(all, sc.say(m, "the connect request is carried out"))
}

// late has a leg of a request take a step, if that may still happen.
func (sc *scope) late(all []move, m move, text string) []move {
	if m.to.budget.late > 0 {
		m.to.budget.late--
		all = append(all, sc.say(m, "%s", text))
	}
	return all
}

// arrives brings a request to the follower.
func (sc *scope) arrives(which int) phase {
	return func(all []move, m move) []move {
		if m.to.requests[which].at != toFollower || m.to.cut == theClient {
			return append(all, m)
		}
		all = sc.late(all, m, "a request is late")
		m.to.follows(which)
		return append(all, m)
	}
}

// follows has the follower take a request.
func (w *world) follows(which int) {
	w.touched = true
	if w.requests[which].at = toClient; which == theProof {
		w.requests[which].at = onStream
		w.send(aWrite)
	}
}

// send puts something on the stream, unless nobody is going to read it.
func (w *world) send(what item) {
	if w.cut != theFollower {
		w.stream[w.waiting] = what
		w.waiting++
	}
}

// pings has the leader ping when it is time.
func (sc *scope) pings(all []move, m move) []move {
	if m.to.ping == 0 && m.to.paused == 0 && m.to.resumed == 0 {
		if m.to.budget.pings > 0 {
			later := sc.say(m, "the leader's ping is late")
			later.to.budget.pings--
			all = append(all, later)
		}
		m = sc.ping(m)
	}
	return append(all, m)
}

// catchesUp has a leader that was paused ping and end the sessions that are overdue, or not
// yet.
func (sc *scope) catchesUp(all []move, m move) []move {
	w := &m.to
	if w.resumed == 0 {
		return append(all, m)
	}
	if w.resumed < catchingUp {
		later := m
		later.to.resumed++
		all = append(all, later)
	}
	w.resumed, w.met = 0, false
	w.expires()
	return append(all, sc.ping(m))
}

func (sc *scope) ping(m move) move {
	m.to.ping = sc.tick
	if m.to.touched && m.to.cut != theFollower {
		m.to.touched = false
		m.to.send(touches)
		return sc.say(m, "the follower tells the leader of touches")
	}
	return m
}

// leads has the leader do what is due.
func (sc *scope) leads(all []move, m move) []move {
	w := &m.to
	switch {
	case w.resumed > 0:
		w.works()
		return append(all, m)
	case w.paused == 0:
		if w.budget.pauses > 0 {
			paused := sc.say(m, "the leader is paused")
			paused.to.budget.pauses--
			paused.to.paused = 1
			all = append(all, paused)
		}
		w.works()
		w.expires()
		return append(all, m)
	}
	if w.paused < sc.longest {
		longer := m
		longer.to.paused++
		all = append(all, longer)
	}
	w.paused, w.resumed = 0, 1
	first := sc.say(m, "the leader goes on, with what has come")
	first.to.works()
	second := sc.say(m, "the leader goes on, with the sessions")
	second.to.expires()
	second.to.works()
	return append(all, first, second)
}

// works takes what has come on the stream.
func (w *world) works() {
	if w.cut == theFollower {
		return
	}
	for _, what := range w.stream[:w.waiting] {
		switch {
		case w.ended: // a write is refused, and proves nothing
		case what == touches:
			w.left = countdown
		default:
			w.requests[theProof].at = toClient
		}
	}
	w.stream, w.waiting = [4]item{}, 0
}

func (w *world) expires() { w.ended = w.ended || w.left <= 0 }
