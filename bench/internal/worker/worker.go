// Package worker is a program that does one party's part of the benchmark: it
// reads what to do from its standard input and writes what it measured to its
// standard output, one line each. Every Go library is measured in a process of
// its own, so that processor time, memory and goroutines are its own too, and
// so that it stands on the same footing as those in other languages.
package worker

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/zklock/zklock/bench/internal/line"
)

// A party is a lock library under measurement.
type party struct {
	module string // the library's; empty if it is this commit's
	// connect opens a client with a session of its own.
	connect func(server string) (client, error)
}

// A client is one session of a party.
type client interface {
	// mutex returns a lock on path for one goroutine; variant is an option of
	// the party's, or empty.
	mutex(path, variant string) (mutex, error)
	close()
}

// A mutex is a lock as one goroutine sees it.
type mutex struct {
	lock, unlock func() error
	tryLock      func() (bool, error) // nil if the party has no such thing
	reenter      func(n int) error    // locks and unlocks n times while the lock is held; nil if it is not reentrant
}

// during is a stand for the lock.
func (m mutex) during(serve func() error) error {
	if err := m.lock(); err != nil {
		return err
	}
	if err := serve(); err != nil {
		return err
	}
	return m.unlock()
}

// A readWriter is a client that has read/write locks.
type readWriter interface {
	readWrite(path string) (read, write mutex, err error)
}

const goZooKeeper = "github.com/go-zookeeper/zk"

var parties = map[string]party{
	"zklock":  {"", connectZKLock},
	"zk.Lock": {goZooKeeper, goZK(zkLock)},
	"etcd":    {"go.etcd.io/etcd/client/v3", connectEtcd},
	"redsync": {"github.com/go-redsync/redsync/v4", connectRedis},
	"floor":   {goZooKeeper, goZK(floor)},
}

// version returns the version of the party's library that this program was
// built with.
func (p party) version() string {
	if p.module == "" {
		return "this commit"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == p.module {
				return module.Version
			}
		}
	}
	return "unknown"
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
		return fmt.Errorf("worker: no party %q, there are %q", name, slices.Sorted(maps.Keys(parties)))
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
		reply := w.answer(request)
		if _, err := io.WriteString(os.Stdout, reply.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// A task is something that a worker is told to do.
type task func(line.Message) (numbers, error)

func (w *worker) answer(request string) line.Message {
	m, err := line.Parse(request)
	if err != nil {
		return failure(err)
	}
	if m.Word == "version" {
		return line.Message{Word: "ok", Fields: map[string]string{"version": w.party.version()}}
	}
	do, ok := map[string]task{
		"cycle":    w.within(w.cycle),
		"try":      w.within(w.try),
		"refused":  w.within(w.refused),
		"reenter":  w.within(w.reenter),
		"rw":       w.within(w.readWrite),
		"cold":     w.within(w.cold),
		"event":    w.within(w.event),
		"pipeline": w.within(w.pipeline),
		"queue":    w.within(w.enqueue),
		"campaign": w.within(w.campaign),
		"observe":  w.within(w.observe),
		"drain":    w.drain,
		"weigh":    w.weigh,
		"close":    w.close,
	}[m.Word]
	if !ok {
		return failure(fmt.Errorf("worker: cannot %q", m.Word))
	}
	measured, err := do(m)
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

// within returns a task that is done within sessions.
func (w *worker) within(do func([]client, line.Message) (numbers, error)) task {
	return func(m line.Message) (numbers, error) {
		clients, err := w.sessions(m.List("servers"), m.Int("sessions"))
		if err != nil {
			return nil, err
		}
		return do(clients, m)
	}
}

// sessions returns n clients, one at least, spread over the servers, connecting
// those that are missing.
func (w *worker) sessions(servers []string, n int) ([]client, error) {
	taken := make(map[string]int)
	var clients []client
	for i := range max(1, n) {
		server := servers[i%len(servers)]
		if taken[server] == len(w.clients[server]) {
			c, err := w.party.connect(server)
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
func (w *worker) close(line.Message) (numbers, error) {
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
