package lock_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
)

func TestServersThatCouldOnlyBeDialledInVainAreRefusedAtOnce(t *testing.T) {
	for server, says := range map[string]string{
		"":                  "it is empty",
		" ":                 "it is empty",
		"zk1:2181,zk2:2181": "these are several",
		"zk1,zk2":           "these are several",
		"zk://zk1:2181":     "it is no URL",
		" zk1:2181":         "it has a blank",
		"zk1:2181\n":        "it has a blank",
		"zk1: 2181":         "it has a blank",
		":2181":             "the host is missing",
		"zk1:":              `port "" is not a number from 1 to 65535`,
		"zk1:99999":         `port "99999" is not a number from 1 to 65535`,
		"zk1:0":             `port "0" is not a number from 1 to 65535`,
		"zk1:-1":            `port "-1" is not a number from 1 to 65535`,
		"zk1:zookeeper":     `port "zookeeper" is not a number from 1 to 65535`,
		"2001:db8::1":       "an IPv6 address is put in brackets, as in [2001:db8::1]:2181",
		"zk1:2181:2181":     "too many colons",
		"[2001:db8::1]":     "missing port",
		"[2001:db8::1:2181": "missing ']'",
	} {
		t.Run(server, func(t *testing.T) {
			dialled := false
			s, err := zklock.Connect(within(t, time.Second), []string{server, "zk1:2181"}, time.Second,
				zklock.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
					dialled = true
					return nil, errors.New("nobody is there")
				}))
			require.False(t, dialled)
			require.Nil(t, s)
			require.ErrorContains(t, err, "zklock: connect ")
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "each server is one string, host:port")
		})
	}
}

func TestServersAreDialledAsTheyAreGivenAndAtPort2181WithoutOne(t *testing.T) {
	for server, address := range map[string]string{
		"zk1:2181":           "zk1:2181",
		"zk1":                "zk1:2181",
		"ZK_1.example.org":   "ZK_1.example.org:2181",
		"10.0.0.1":           "10.0.0.1:2181",
		"10.0.0.1:65535":     "10.0.0.1:65535",
		"[2001:db8::1]:2181": "[2001:db8::1]:2181",
		"[fe80::1%eth0]:1":   "[fe80::1%eth0]:1",
	} {
		t.Run(server, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				dialled := make(chan string, 100)
				_, err := zklock.Connect(within(t, time.Second), []string{server}, time.Second,
					zklock.WithDialer(func(_, address string, _ time.Duration) (net.Conn, error) {
						dialled <- address
						return nil, errors.New("nobody is there")
					}))
				require.Error(t, err)
				require.Equal(t, address, <-dialled)
			})
		})
	}
}
