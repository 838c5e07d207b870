package worker

import (
	"context"
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"
)

// sessionTimeout is the same for all parties.
const sessionTimeout = 30 * time.Second

// goZKParty is the lock that comes with go-zookeeper. A zk.Lock is not made
// for several goroutines, so each has its own.
type goZKParty struct{}

func (goZKParty) version() string { return moduleVersion("github.com/go-zookeeper/zk") }

func (goZKParty) connect(ctx context.Context, server string) (client, error) {
	conn, err := dial(ctx, server)
	return goZKClient{conn}, err
}

type goZKClient struct{ conn *zk.Conn }

func (c goZKClient) close() { c.conn.Close() }

func (c goZKClient) mutex(path, _ string) (mutex, error) {
	return goZKMutex{zk.NewLock(c.conn, path, zk.WorldACL(zk.PermAll))}, nil
}

type goZKMutex struct{ l *zk.Lock }

func (m goZKMutex) lock() error   { return m.l.Lock() }
func (m goZKMutex) unlock() error { return m.l.Unlock() }

// dial returns a connection whose session is established.
func dial(ctx context.Context, server string) (*zk.Conn, error) {
	established := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{server}, sessionTimeout,
		zk.WithLogger(log.New(io.Discard, "", 0)),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				select {
				case established <- struct{}{}:
				default:
				}
			}
		}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	select {
	case <-established:
		return conn, nil
	case <-ctx.Done():
		conn.Close()
		return nil, ctx.Err()
	}
}
