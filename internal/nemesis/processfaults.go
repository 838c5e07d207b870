package nemesis

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// processFaults strike one of the processes, and the network between it and the
// servers.
var processFaults = []fault{
	{"connection cut", withMember(func(m *member) func() { m.doors.Cut(); return nil })},
	{"connection reset", withMember(func(m *member) func() { m.doors.Reset(); return nil })},
	{"process cannot send", withMember(func(m *member) func() {
		m.doors.Drop(faultproxy.ClientToServer)
		return m.reconnect
	})},
	{"process cannot receive", withMember(func(m *member) func() {
		m.doors.Drop(faultproxy.ServerToClient)
		return m.reconnect
	})},
	{"process cut off", withMember(func(m *member) func() {
		m.doors.Freeze(faultproxy.Both)
		return m.doors.Heal
	})},
	{"servers refuse the process", withMember(func(m *member) func() {
		m.doors.Refuse(true)
		m.doors.Cut()
		return m.doors.Heal
	})},
	{"slow network to the process", withMember(func(m *member) func() {
		m.doors.Slow(50 * time.Millisecond)
		return m.doors.Heal
	})},
	{"request lost", loseOne((*faultproxy.Proxy).DropRequest)},
	{"reply lost", loseOne((*faultproxy.Proxy).DropReply)},
	{"process stopped", func(s *Soak, dice *rand.Rand) (func() error, error) {
		m := s.member(dice)
		return m.worker.Continue, m.worker.Stop()
	}},
	{"process killed", func(s *Soak, dice *rand.Rand) (func() error, error) {
		m := s.member(dice)
		m.worker.Kill()
		return func() error { return s.replace(m) }, nil
	}},
	{"session killed", func(s *Soak, dice *rand.Rand) (func() error, error) {
		s.killSession(s.member(dice))
		return nil, nil
	}},
}

func withMember(strike func(m *member) (end func())) strike {
	return func(s *Soak, dice *rand.Rand) (func() error, error) {
		end := strike(s.member(dice))
		if end == nil {
			return nil, nil
		}
		return func() error { end(); return nil }, nil
	}
}

// reconnect heals the network, and ends the connections in whose streams
// something is missing.
func (m *member) reconnect() {
	m.doors.Cut()
	m.doors.Heal()
}

// loseOne loses the next request or reply of one operation.
func loseOne(order func(*faultproxy.Proxy, int32) <-chan struct{}) strike {
	operations := []int32{
		faultproxy.OpCreate, faultproxy.OpCreate, faultproxy.OpDelete, faultproxy.OpMulti,
		faultproxy.OpGetData, faultproxy.OpGetChildren2, faultproxy.OpSync,
	}
	return func(s *Soak, dice *rand.Rand) (func() error, error) {
		op := operations[dice.IntN(len(operations))]
		s.member(dice).doors.each(func(d *faultproxy.Proxy) { order(d, op) })
		return nil, nil
	}
}

// killSession ends the session of a process as an operator would. Whatever the
// process believes about its holds from then on, it cannot know better.
func (s *Soak) killSession(m *member) {
	session := m.worker.session.Load()
	if session == 0 {
		return
	}
	m.doors.Refuse(true) // it would take its session back
	defer m.doors.Refuse(false)
	s.history.Ended(session)
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	for _, server := range s.Cluster.Servers() {
		if apachezk.KillSession(ctx, server.Addr(), session) == nil {
			return
		}
	}
}
