package zklock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

// Ping returns nil when a majority of the servers has committed a write of this session that
// changes nothing: locks can be taken then. It is for readiness probes. A server that is up but
// cut off from its leader fails it. While there is no connection it waits for one, and it tries
// again if one breaks, as long as ctx lives: give it a deadline. The error is ctx's, with the
// last cause of the connection if there is none, or [ErrClosed].
func (s *Session) Ping(ctx context.Context) error {
	err := s.client.Persist(ctx, func() error { return s.ping(ctx) })
	return wrap("ping", sessionName(s.ID()), s.client.Explain(err))
}

func (s *Session) ping(ctx context.Context) error {
	if ctx.Err() != nil {
		return client.Ended(ctx)
	}
	if err := s.client.MakeRoom(ctx); err != nil {
		return err
	}
	check := client.Send(s.client, func() (answered bool, err error) {
		responses, err := s.client.Conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		return len(responses) > 0, err
	})
	answered, err := check.Wait(ctx)
	switch {
	case err == nil:
		return nil
	case answered && errors.Is(err, zk.ErrNoAuth): // which a majority has committed too
		return nil
	}
	check.Leave(s.client)
	return err
}
