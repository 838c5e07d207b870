package worker

import (
	"context"
	"errors"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdParty is the mutex that comes with etcd's client. Its owner is a
// concurrency.Session, so that goroutines exclude each other only if each has
// one; they share the connection.
type etcdParty struct{}

func (etcdParty) version() string { return moduleVersion("go.etcd.io/etcd/client/v3") }

func (etcdParty) connect(ctx context.Context, server string) (client, error) {
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{server}, DialTimeout: sessionTimeout, Context: ctx, Logger: zap.NewNop(),
	})
	return &etcdClient{client: c}, err
}

type etcdClient struct {
	client   *clientv3.Client
	sessions []*concurrency.Session
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

func (c *etcdClient) mutex(path, _ string) (mutex, error) {
	session, err := concurrency.NewSession(c.client, concurrency.WithTTL(int(sessionTimeout.Seconds())))
	if err != nil {
		return nil, err
	}
	c.sessions = append(c.sessions, session)
	return etcdMutex{concurrency.NewMutex(session, path)}, nil
}

type etcdMutex struct{ m *concurrency.Mutex }

func (m etcdMutex) lock() error   { return m.m.Lock(context.Background()) }
func (m etcdMutex) unlock() error { return m.m.Unlock(context.Background()) }

func (m etcdMutex) tryLock() (bool, error) {
	err := m.m.TryLock(context.Background())
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
