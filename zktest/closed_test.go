package zktest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestNobodyListensAtTheAddressOfAClosedServer(t *testing.T) {
	for name, before := range map[string]func(*zktest.Server){
		"asked for before":     func(s *zktest.Server) { s.Addr() },
		"asked for since then": func(*zktest.Server) {},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			before(server)
			require.NoError(t, server.Close())
			addr := server.Addr()
			conn, err := net.Dial("tcp", addr)
			require.Error(t, err, "%v", conn)
			require.Equal(t, addr, server.Addr())
		})
	}
}
