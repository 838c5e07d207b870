package ui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/plain"
)

// ensemble is what the servers say of themselves, to ZooKeeper's command srvr.
type ensemble struct {
	dial    func(ctx context.Context, server string) (net.Conn, error)
	servers []string
	link    *Link
	told    func()

	mu    sync.Mutex // guards asked; nothing is locked under it
	asked []serverState
}

// serverState is what a server has said.
type serverState struct {
	Server    string
	Role      string // leader, follower, observer, standalone; "" if it has not said
	Version   string
	RoundTrip time.Duration
	Clients   string
	Waiting   string // requests that it has not answered
	Zxid      string
	Why       string // it has not said
	Ours      bool   // the session is connected to it
	Asked     bool
}

const (
	askEvery = 10 * time.Second
	askLimit = 2 * time.Second
	mostSaid = 1 << 16
)

// follow asks the servers now and then, until ctx ends.
func (e *ensemble) follow(ctx context.Context) {
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		now := make([]serverState, len(e.servers))
		var all sync.WaitGroup
		for i, server := range e.servers {
			all.Go(func() { now[i] = e.ask(ctx, server) })
		}
		all.Wait()
		e.mu.Lock()
		e.asked = now
		e.mu.Unlock()
		e.told()
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// state returns what is known of the servers, in their order.
func (e *ensemble) state() []serverState {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]serverState, len(e.servers))
	ours := e.link.is().Server
	for i, server := range e.servers {
		if all[i].Server = server; i < len(e.asked) {
			all[i] = e.asked[i]
		}
		all[i].Ours = server == ours
	}
	return all
}

func (e *ensemble) ask(ctx context.Context, server string) serverState {
	s := serverState{Server: server, Asked: true}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := s.ask(ctx, e.dial); err != nil {
		s.Why = plain.Message(err.Error(), 200)
	}
	return s
}

func (s *serverState) ask(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) error {
	conn, err := dial(ctx, s.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if limit, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(limit)
	}
	begun := time.Now()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return err
	}
	lines := bufio.NewScanner(io.LimitReader(conn, mostSaid))
	for lines.Scan() {
		if s.RoundTrip == 0 {
			s.RoundTrip = time.Since(begun)
		}
		s.heard(lines.Text())
	}
	switch {
	case s.Role == "" && lines.Err() != nil:
		return lines.Err()
	case s.Role == "":
		return fmt.Errorf("it does not answer srvr: see its 4lw.commands.whitelist")
	}
	return nil
}

// heard takes a line of the answer.
func (s *serverState) heard(line string) {
	key, value, _ := strings.Cut(line, ": ")
	value = plain.Name(strings.TrimSpace(value), 60)
	switch key {
	case "Zookeeper version":
		s.Version, _, _ = strings.Cut(value, "-")
	case "Mode":
		s.Role = value
	case "Connections":
		s.Clients = value
	case "Outstanding":
		s.Waiting = value
	case "Zxid":
		s.Zxid = value
	}
}
