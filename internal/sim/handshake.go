package sim

import (
	"time"

	"github.com/zklock/zklock/zktest"
)

// leastTicks is how long the timeout of a session must be so that a server may
// grant three tenths of it.
const leastTicks = 7

// loseHandshake has a machine ask a server that grants less than the others, whose
// answer it does not hear, and then cuts it off: at once, or when the server
// carries the handshake out after the machine has gone elsewhere.
func (w *world) loseHandshake(f Fault) func() {
	m, mean := w.machines[f.Machine], w.ensemble.Server(f.Server)
	tick, chance := w.program.Cluster.Tick, int(f.For/time.Millisecond)
	part := time.Duration(3+chance%5) * m.spec.Timeout / 10
	mean.SetSessionTimeouts(2*tick, max(2*tick, part))
	handshake := []zktest.Filter{zktest.OnClient(m.place), zktest.OnServer(mean)}
	late := chance%2 == 1
	unheard := (*zktest.Ensemble).HoldReply
	if late {
		unheard = (*zktest.Ensemble).HoldRequest
	}
	held := unheard(w.ensemble, zktest.OpConnect, handshake...)
	w.refuse(true, mean)
	m.place.Cut()
	w.work.Go(func() {
		select {
		case <-held.Struck():
		case <-time.After(m.spec.Timeout / 8):
		}
		if late {
			w.refuse(false, mean)
			time.Sleep(m.spec.Timeout)
			held.Release()
		}
		m.place.Block(zktest.ToServer)
		m.place.Block(zktest.ToClient)
		w.refuse(false, mean)
		time.Sleep(m.spec.Timeout)
		held.Release()
		m.place.Unblock()
		mean.SetSessionTimeouts(2*tick, longestTicks*tick)
	})
	return nil
}

// refuse makes the servers but one refuse new connections, or take them again.
func (w *world) refuse(on bool, but *zktest.Server) {
	for _, s := range w.ensemble.Servers() {
		if s != but {
			s.Refuse(on)
		}
	}
}
