package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
	"github.com/zklock/zklock/internal/wire"
)

// reached is a log's handler that notes which servers cannot be reached, and names them to
// whoever waits for the first connection.
type reached struct {
	slog.Handler
	servers   []string
	connected atomic.Bool

	mu  sync.Mutex       // guards why; nothing is locked under it
	why map[string]error // by the server
}

// newReached returns a handler that passes on what it gets to log.
func newReached(servers []string, log *slog.Logger) *reached {
	if addresses, _, err := client.SplitChroot(servers); err == nil {
		servers = addresses // as they are dialled
	}
	return &reached{Handler: log.Handler(), servers: zk.FormatServers(servers), why: make(map[string]error)}
}

func (r *reached) Enabled(context.Context, slog.Level) bool { return true }

func (r *reached) Handle(ctx context.Context, record slog.Record) error {
	switch {
	case record.Message == "zklock: attempt to connect failed":
		r.note(record)
	case record.Message == "zklock: no connection" && !r.connected.Load():
		named := slog.NewRecord(record.Time, record.Level, "no server answers yet, trying on", 0)
		named.Add("servers", r.String())
		record = named
	}
	if !r.Handler.Enabled(ctx, record.Level) {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}

func (r *reached) note(record slog.Record) {
	var server string
	var why error
	record.Attrs(func(a slog.Attr) bool {
		switch value := a.Value.Any().(type) {
		case string:
			server = value
		case error:
			why = value
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why[server] = why
}

// String names the servers, each with what is wrong.
func (r *reached) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := make([]string, len(r.servers))
	for i, server := range r.servers {
		why := "no answer yet"
		if err := r.why[server]; err != nil {
			why = reason(err)
		}
		said[i] = fmt.Sprintf("%s (%s)", server, why)
	}
	return strings.Join(said, ", ")
}

// reason is why there is no connection to a server, without its address.
func reason(err error) string {
	var attempt wire.Attempt
	if errors.As(err, &attempt) {
		return plain.Message(attempt.What(), longestError)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
