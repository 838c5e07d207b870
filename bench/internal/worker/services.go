package worker

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdClient has the mutex that comes with etcd's client. Its owner is a
// concurrency.Session, so that goroutines exclude each other only if each has
// one; they share the connection.
type etcdClient struct {
	client   *clientv3.Client
	sessions []*concurrency.Session
}

func connectEtcd(server string) (client, error) {
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{server}, DialTimeout: sessionTimeout, Logger: zap.NewNop(),
	})
	return &etcdClient{client: c}, err
}

// close ends the sessions too, which would expire in somebody else's turn.
func (c *etcdClient) close() {
	var closing sync.WaitGroup
	for _, session := range c.sessions {
		closing.Go(func() { _ = session.Close() })
	}
	closing.Wait()
	_ = c.client.Close()
}

// session returns a new one.
func (c *etcdClient) session() (*concurrency.Session, error) {
	session, err := concurrency.NewSession(c.client, concurrency.WithTTL(int(sessionTimeout.Seconds())))
	if err == nil {
		c.sessions = append(c.sessions, session)
	}
	return session, err
}

func (c *etcdClient) mutex(path, _ string) (mutex, error) {
	session, err := c.session()
	if err != nil {
		return mutex{}, err
	}
	ctx, m := context.Background(), concurrency.NewMutex(session, path)
	return mutex{
		lock:   func() error { return m.Lock(ctx) },
		unlock: func() error { return m.Unlock(ctx) },
		tryLock: func() (bool, error) {
			err := m.TryLock(ctx)
			if errors.Is(err, concurrency.ErrLocked) {
				return false, nil
			}
			return err == nil, err
		},
	}, nil
}

// redsyncClient locks in one Redis server. It polls, with redsync's own delays,
// and nothing renews what is held for longer than the expiry.
type redsyncClient struct{ client *redis.Client }

func connectRedis(server string) (client, error) {
	c := redis.NewClient(&redis.Options{Addr: server})
	if err := c.Ping(context.Background()).Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return redsyncClient{c}, nil
}

func (c redsyncClient) close() { _ = c.client.Close() }

func (c redsyncClient) mutex(path, _ string) (mutex, error) {
	rs := redsync.New(goredis.NewPool(c.client))
	m := rs.NewMutex(path, redsync.WithExpiry(sessionTimeout), redsync.WithTries(math.MaxInt))
	return mutex{
		lock: m.Lock,
		unlock: func() error {
			_, err := m.Unlock()
			return err
		},
		tryLock: func() (bool, error) {
			err := m.TryLock()
			if taken := new(redsync.ErrTaken); errors.As(err, &taken) {
				return false, nil
			}
			return err == nil, err
		},
	}, nil
}
