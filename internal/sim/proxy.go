package sim

import (
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/zktest"
)

// accepting makes a dialer go by way of something that accepts connections for
// servers that are away, and closes them when it hears what they are for.
func accepting(dial zk.Dialer) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := dial(network, address, timeout)
		if err == nil {
			return conn, nil
		}
		client, proxy := net.Pipe()
		go func() {
			defer proxy.Close()
			_, _ = io.ReadAtLeast(proxy, make([]byte, 256), 1)
		}()
		return client, nil
	}
}

// restartBehindProxy restarts a server that a machine reaches by way of a proxy, and has it
// leave one handshake without an answer: ZooKeeper may accept a connection before it has
// loaded its data, fail on it, and neither answer nor close it.
func (w *world) restartBehindProxy(f Fault) func() {
	m, server := w.machines[f.Machine], w.ensemble.Server(f.Server)
	m.proxied.Store(true)
	server.Stop()
	deaf := server.HoldRequest(zktest.OpConnect, zktest.OnClient(m.place))
	return func() {
		server.Restart()
		time.Sleep(m.spec.Timeout)
		m.proxied.Store(false)
		select {
		case <-deaf.Struck(): // never answered
		default:
			deaf.Release()
		}
	}
}
