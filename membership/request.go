package membership

import (
	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// request calls f with the session's connection, and has Close wait for it:
// go-zookeeper reads the answers of requests under way while it closes, and hangs
// if too many are sent then.
func request[T any](s *zklock.Session, f func(*zk.Conn) (T, error)) (T, error) {
	c := client.Of(s)
	if !c.Begin() {
		var none T
		return none, zklock.ErrClosed
	}
	defer c.End()
	return f(s.Conn())
}

// order is request for what has no answer but an error.
func order(s *zklock.Session, f func(*zk.Conn) error) error {
	_, err := request(s, func(conn *zk.Conn) (struct{}, error) { return struct{}{}, f(conn) })
	return err
}
