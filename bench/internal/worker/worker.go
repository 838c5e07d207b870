// Package worker is a program that does one party's part of the benchmark: it
// reads what to do from its standard input and writes what it measured to its
// standard output, one line each. Every Go library is measured in a process of
// its own, so that processor time, memory and goroutines are its own too, and
// so that it stands on the same footing as those in other languages.
package worker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/zklock/zklock/bench/internal/line"
)

// A party is a lock library under measurement.
type party interface {
	// connect opens a client with a session of its own.
	connect(ctx context.Context, server string) (client, error)
	version() string
}

// A client is one session of a party.
type client interface {
	// mutex returns a lock on path for one goroutine; variant is an option of
	// the party's, or empty.
	mutex(path, variant string) (mutex, error)
	close()
}

// A mutex is a lock as one goroutine sees it.
type mutex interface {
	lock() error
	unlock() error
}

// What not every party can do.
type (
	trier interface {
		tryLock() (bool, error)
	}
	reentrant interface {
		// reenter locks and unlocks n times while the lock is held.
		reenter(n int) error
	}
	readWriter interface {
		readWrite(path string) (read, write mutex, err error)
	}
)

var parties = map[string]party{
	"zklock":  zklockParty{},
	"zk.Lock": goZKParty{},
	"etcd":    etcdParty{},
	"redsync": redsyncParty{},
	"floor":   floorParty{},
}

// Names returns the parties that this program can be.
func Names() []string {
	var names []string
	for name := range parties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// worker keeps the party's clients from one request to the next.
type worker struct {
	party    party
	clients  map[string][]client // by server
	queue    *queue              // waiters that stand in line, if not nil
	profiles string              // a directory for profiles, if not empty
}

// fineRate has every few allocations recorded, for a profile.
const fineRate = 1 << 10

// Serve is the party until standard input ends, which also ends a measurement
// that is under way: nothing outlives the benchmark.
func Serve(name, profiles string) error {
	p, ok := parties[name]
	if !ok {
		return fmt.Errorf("worker: no party %q, there are %q", name, Names())
	}
	if profiles != "" {
		runtime.MemProfileRate = fineRate
	}
	w := &worker{party: p, clients: make(map[string][]client), profiles: profiles}
	requests := make(chan string)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			requests <- lines.Text()
		}
		os.Exit(0)
	}()
	for request := range requests {
		reply := w.answer(context.Background(), request)
		if _, err := io.WriteString(os.Stdout, reply.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) answer(ctx context.Context, request string) line.Message {
	m, err := line.Parse(request)
	if err != nil {
		return failure(err)
	}
	do, ok := map[string]func(context.Context, line.Message) (numbers, error){
		"cycle":    w.cycle,
		"try":      w.try,
		"refused":  w.refused,
		"reenter":  w.reenter,
		"rw":       w.readWrite,
		"cold":     w.cold,
		"event":    w.event,
		"pipeline": w.pipeline,
		"queue":    w.enqueue,
		"drain":    w.drain,
		"weigh":    w.weigh,
		"close":    w.close,
	}[m.Word]
	if m.Word == "version" {
		return line.Message{Word: "ok", Fields: map[string]string{"version": w.party.version()}}
	}
	if !ok {
		return failure(fmt.Errorf("worker: cannot %q", m.Word))
	}
	measured, err := do(ctx, m)
	if err != nil {
		return failure(err)
	}
	return line.Message{Word: "ok", Fields: measured.fields()}
}

func failure(err error) line.Message {
	return line.Message{Word: "error", Fields: map[string]string{"text": err.Error()}}
}

// numbers are what was measured, by name.
type numbers map[string]float64

func (n numbers) fields() map[string]string {
	fields := make(map[string]string, len(n))
	for key, value := range n {
		fields[key] = fmt.Sprint(value)
	}
	return fields
}

// sessions returns n clients, spread over the servers, connecting those that
// are missing.
func (w *worker) sessions(ctx context.Context, m line.Message) ([]client, error) {
	servers := m.List("servers")
	taken := make(map[string]int)
	var clients []client
	for i := range max(1, m.Int("sessions")) {
		server := servers[i%len(servers)]
		if taken[server] == len(w.clients[server]) {
			c, err := w.party.connect(ctx, server)
			if err != nil {
				return nil, fmt.Errorf("connect to %s: %w", server, err)
			}
			w.clients[server] = append(w.clients[server], c)
		}
		clients = append(clients, w.clients[server][taken[server]])
		taken[server]++
	}
	return clients, nil
}

// close ends every session, so that the next work starts from nothing.
func (w *worker) close(context.Context, line.Message) (numbers, error) {
	for _, clients := range w.clients {
		for _, c := range clients {
			c.close()
		}
	}
	clear(w.clients)
	if w.queue != nil {
		w.queue.close()
		w.queue = nil
	}
	return nil, nil
}
