package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
)

// Job is what a worker does. One with paths to hold runs holders, see holder.go; any
// other runs clients, see client.go.
type Job struct {
	Process int // its number in the reports
	Addrs   []string
	Timeout time.Duration

	Hold   []string      // paths to lock, each in a session of its own
	Spread time.Duration // over which the sessions are opened

	Seed  uint64
	Began Instant // when the run did, which all processes of a run have in common
	Store string  // directory of the registers outside ZooKeeper
}

// WorkerMain does the job that the environment asks for and ends the process. It
// returns if there is none. It belongs at the beginning of TestMain.
func WorkerMain() {
	description := os.Getenv(jobVariable)
	if description == "" {
		return
	}
	var j Job
	err := json.Unmarshal([]byte(description), &j)
	if err == nil {
		err = j.run(os.Stdin, &reporter{out: json.NewEncoder(os.Stdout)})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "process %d: %v\n", j.Process, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run works until the end of the commands.
func (j Job) run(in io.Reader, r *reporter) error {
	commands := make(chan string)
	go func() {
		defer close(commands)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	if len(j.Hold) > 0 {
		return j.holdAll(r, commands)
	}
	return j.runClients(r, commands)
}

// connect opens a session, however long that takes.
func (j Job) connect() (*zklock.Session, error) {
	return zklock.Connect(context.Background(), j.Addrs, j.Timeout)
}

// reporter writes a worker's messages.
type reporter struct {
	next atomic.Int64 // number of a report
	mu   sync.Mutex
	out  *json.Encoder
}

func (r *reporter) send(m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(m); err != nil {
		os.Exit(2) // nobody listens any more
	}
}

func (r *reporter) state(s string) { r.send(message{State: s}) }
func (r *reporter) report(o *Op)   { r.send(message{Op: o}) }

// invoke starts the report of an op, before the call.
func (r *reporter) invoke(o Op) *Op {
	o.ID, o.Invoked = r.next.Add(1), Now()
	r.report(&o)
	return &o
}

// update reports an update before and after the write, whose outcome is returned.
func (r *reporter) update(u Update, write func() Outcome) {
	u.ID = r.next.Add(1)
	r.send(message{Update: &u})
	u.Outcome = write()
	r.send(message{Update: &u})
}

// look takes a look at a hold, and reports whether it is not lost. All that is seen
// counts for the moment before the look, however long it takes.
func (o *Op) look(h *zklock.Hold) bool {
	at := Now()
	if h.Valid() {
		o.Valid = at
	}
	select {
	case <-h.Lost():
		o.Lost = Now()
		return false
	default:
		o.Open = at
		return true
	}
}

// got notes a grant, and takes the first look at it.
func (o *Op) got(h *zklock.Hold, s *zklock.Session) {
	o.OK = Now()
	o.Session, o.Node = s.ID(), h.Node()
	o.look(h)
}
