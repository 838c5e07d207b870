package worker

import (
	"context"

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
	return etcdClient{c}, err
}

type etcdClient struct{ client *clientv3.Client }

func (c etcdClient) close() { _ = c.client.Close() }

func (c etcdClient) mutex(path, _ string) (mutex, error) {
	session, err := concurrency.NewSession(c.client, concurrency.WithTTL(int(sessionTimeout.Seconds())))
	if err != nil {
		return nil, err
	}
	return etcdMutex{concurrency.NewMutex(session, path)}, nil
}

type etcdMutex struct{ m *concurrency.Mutex }

func (m etcdMutex) lock() error   { return m.m.Lock(context.Background()) }
func (m etcdMutex) unlock() error { return m.m.Unlock(context.Background()) }
