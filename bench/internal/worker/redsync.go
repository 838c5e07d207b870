package worker

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncParty locks in one Redis server. It polls, with redsync's own delays,
// and nothing renews what is held for longer than the expiry.
type redsyncParty struct{}

func (redsyncParty) version() string { return moduleVersion("github.com/go-redsync/redsync/v4") }

func (redsyncParty) connect(ctx context.Context, server string) (client, error) {
	c := redis.NewClient(&redis.Options{Addr: server})
	if err := c.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return redsyncClient{c}, nil
}

type redsyncClient struct{ client *redis.Client }

func (c redsyncClient) close() { _ = c.client.Close() }

func (c redsyncClient) mutex(path, _ string) (mutex, error) {
	rs := redsync.New(goredis.NewPool(c.client))
	return redsyncMutex{rs.NewMutex(path, redsync.WithExpiry(sessionTimeout), redsync.WithTries(math.MaxInt))}, nil
}

type redsyncMutex struct{ m *redsync.Mutex }

func (m redsyncMutex) lock() error { return m.m.Lock() }

func (m redsyncMutex) unlock() error {
	_, err := m.m.Unlock()
	return err
}

func (m redsyncMutex) tryLock() (bool, error) {
	err := m.m.TryLock()
	if taken := new(redsync.ErrTaken); errors.As(err, &taken) {
		return false, nil
	}
	return err == nil, err
}
