package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServersThatCannotBeDialledAreRefused(t *testing.T) {
	require.EqualError(t, CheckServers(nil), "the server list is empty: name at least one as host:port")
	for server, says := range map[string]string{
		"":                  "it is empty",
		" \t":               "it is empty",
		"zk1:2181,zk2:2181": "these are several",
		"zk://zk1:2181":     "it is no URL",
		"zk1:2181/app":      "it has a path",
		"zk1 :2181":         "it has a blank",
		"zk1:2181\x00":      "it has a blank",
		"::1":               "an IPv6 address is put in brackets, as in [::1]:2181",
		"[::1":              "missing ']' in address",
		"zk1:2181:2182":     "too many colons in address",
		":2181":             "the host is missing",
		"zk1:":              `port "" is not a number from 1 to 65535`,
		"zk1:client":        `port "client" is not a number from 1 to 65535`,
		"zk1:0":             `port "0" is not a number from 1 to 65535`,
		"zk1:65536":         `port "65536" is not a number from 1 to 65535`,
		"zk1:-1":            `port "-1" is not a number from 1 to 65535`,
	} {
		err := CheckServers([]string{"zk0:2181", server})
		require.ErrorContains(t, err, says+"; each server is one string, host:port", "%q", server)
	}
	require.EqualError(t, CheckServers([]string{"a b"}), `server "a b": it has a blank; each server is one string, host:port`)
	require.NoError(t, CheckServers([]string{"zk1:2181", "zk1", "10.0.0.1", "10.0.0.1:1", "[::1]:2181", "zk1:65535"}))
}

func TestTheLastServerMayCarryTheChroot(t *testing.T) {
	for _, tc := range []struct {
		servers, addresses []string
		chroot, err        string
	}{
		{servers: []string{"zk1:2181", "zk2"}, addresses: []string{"zk1:2181", "zk2"}},
		{servers: []string{"zk1:2181", "zk2:2181/app/part"}, addresses: []string{"zk1:2181", "zk2:2181"}, chroot: "/app/part"},
		{servers: []string{"zk1:2181/"}, addresses: []string{"zk1:2181"}},
		{servers: []string{"zk://zk1:2181"}, addresses: []string{"zk://zk1:2181"}},
		{servers: []string{"zk1/app", "zk2"}, err: `server "zk1/app": only the last one may carry a path, for the whole list`},
		{servers: []string{"zk1/app/"}, addresses: []string{"zk1"}, chroot: "/app/", err: "/app/"},
	} {
		addresses, chroot, err := SplitChroot(tc.servers)
		require.Equal(t, tc.addresses, addresses)
		require.Equal(t, tc.chroot, chroot)
		if tc.err == "" {
			require.NoError(t, err, "%v", tc.servers)
			continue
		}
		require.ErrorContains(t, err, tc.err)
	}
}
