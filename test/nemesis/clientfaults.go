package nemesis

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// clientFaults befall one of the processes, and the network between it and the
// servers.
var clientFaults = []fault{
	{"connection cut", atWorker(func(w *worker) func() { w.links.Cut(); return nil })},
	{"connection reset", atWorker(func(w *worker) func() { w.links.Reset(); return nil })},
	{"process cannot send", atWorker(func(w *worker) func() {
		w.links.Drop(faultproxy.ClientToServer)
		return w.reconnect
	})},
	{"process cannot receive", atWorker(func(w *worker) func() {
		w.links.Drop(faultproxy.ServerToClient)
		return w.reconnect
	})},
	{"process cut off", atWorker(func(w *worker) func() {
		w.links.Freeze(faultproxy.Both)
		return w.links.Heal
	})},
	{"servers refuse the process", atWorker(func(w *worker) func() {
		w.links.Refuse(true)
		w.links.Cut()
		return w.links.Heal
	})},
	{"slow network to the process", atWorker(func(w *worker) func() {
		w.links.Slow(50 * time.Millisecond)
		return w.links.Heal
	})},
	{"request lost", loseOne((*faultproxy.Proxy).DropRequest)},
	{"reply lost", loseOne((*faultproxy.Proxy).DropReply)},
	{"process stopped", func(s *Soak, rng *rand.Rand) (func() error, error) {
		w := s.worker(rng)
		return w.Continue, w.Stop()
	}},
	{"process killed", func(s *Soak, rng *rand.Rand) (func() error, error) {
		w := s.worker(rng)
		w.Kill()
		return func() error {
			if err := s.launch(w); err != nil {
				return err
			}
			return w.Await(stateReady)
		}, nil
	}},
	{"session killed", func(s *Soak, rng *rand.Rand) (func() error, error) {
		s.killSession(s.worker(rng))
		return nil, nil
	}},
}

// worker draws one of the processes.
func (s *Soak) worker(rng *rand.Rand) *worker { return s.workers[rng.IntN(len(s.workers))] }

func atWorker(inject func(w *worker) (heal func())) inject {
	return func(s *Soak, rng *rand.Rand) (func() error, error) {
		heal := inject(s.worker(rng))
		if heal == nil {
			return nil, nil
		}
		return func() error { heal(); return nil }, nil
	}
}

// reconnect heals the network, and ends the connections in whose streams
// something is missing.
func (w *worker) reconnect() {
	w.links.Cut()
	w.links.Heal()
}

// loseOne loses the next request or reply of one kind.
func loseOne(order func(*faultproxy.Proxy, int32) <-chan struct{}) inject {
	requests := []int32{
		faultproxy.OpCreate, faultproxy.OpCreate, faultproxy.OpDelete, faultproxy.OpMulti,
		faultproxy.OpGetData, faultproxy.OpGetChildren2, faultproxy.OpSync,
	}
	return func(s *Soak, rng *rand.Rand) (func() error, error) {
		op := requests[rng.IntN(len(requests))]
		s.worker(rng).links.each(func(d *faultproxy.Proxy) { order(d, op) })
		return nil, nil
	}
}

// killSession ends the session of a process as an operator would. Whatever the
// process believes about its holds from then on, it cannot know better.
func (s *Soak) killSession(w *worker) {
	session := w.session.Load()
	if session == 0 {
		return
	}
	w.links.Refuse(true) // it would take its session back
	defer w.links.Refuse(false)
	s.history.Ended(session)
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	for _, server := range s.Cluster.Servers() {
		if apachezk.KillSession(ctx, server.Addr(), session) == nil {
			return
		}
	}
}
