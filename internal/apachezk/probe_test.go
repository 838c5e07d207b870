//go:build unix

package apachezk

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnotherZooKeeperOnThePortIsNotMistakenForTheServer(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	go func() {
		conn, err := other.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, len("conf")))
		_, _ = io.WriteString(conn, "dataDir=/of/the/other\n")
	}()
	server := &Server{dir: "/of/ours", ports: ports{client: other.Addr().(*net.TCPAddr).Port}}
	err = server.probe(t.Context(), patience)
	require.ErrorContains(t, err, "is not this server")
	require.ErrorContains(t, err, "/of/the/other")
}
