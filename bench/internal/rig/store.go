// Package rig runs what the parties of the benchmark lock with: ZooKeeper, etcd
// and Redis servers on this machine, and proxies on the way to them.
package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/zklock/zklock/internal/faultproxy"
)

// RoundTrip is what the delayed way adds to the time of a request.
const RoundTrip = 5 * time.Millisecond

// Store is a running service, and the ways to its servers.
type Store struct {
	Version string
	Direct  []string
	Delayed []string // through proxies that add RoundTrip
	Counted []string // through proxies that count; of ZooKeeper alone

	closers []func()
}

// Close ends the servers and the proxies.
func (s *Store) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

// delay makes the delayed way.
func (s *Store) delay(proxy func(target string) (*faultproxy.Proxy, error)) (err error) {
	s.Delayed, err = s.through(proxy, func(p *faultproxy.Proxy) { p.Delay(faultproxy.Both, RoundTrip/2) })
	return err
}

// through returns the addresses of proxies for the servers, each of which was set
// up.
func (s *Store) through(proxy func(target string) (*faultproxy.Proxy, error), setUp func(*faultproxy.Proxy)) ([]string, error) {
	var addrs []string
	for _, addr := range s.Direct {
		p, err := proxy(addr)
		if err != nil {
			return nil, fmt.Errorf("rig: %w", err)
		}
		s.closers = append(s.closers, p.Close)
		setUp(p)
		addrs = append(addrs, p.Addr())
	}
	return addrs, nil
}

// ErrMissing is in the chain of every error that says that a program is not
// installed.
var ErrMissing = errors.New("not installed (scripts/install-peers.sh does it on Debian)")

// StartEtcd starts one etcd server. It forces its log to the disk and cannot
// be told not to, so its disk is memory if the machine has such a thing.
func StartEtcd(ctx context.Context) (*Store, error) {
	dir, err := memoryDir()
	if err != nil {
		return nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) } // best effort: it is a temporary directory
	s, err := serve(ctx, "etcd", func(client, peer string) []string {
		return []string{
			"--data-dir", dir, "--log-level", "error", "--logger", "zap",
			"--listen-client-urls", "http://" + client, "--advertise-client-urls", "http://" + client,
			"--listen-peer-urls", "http://" + peer, "--initial-advertise-peer-urls", "http://" + peer,
			"--initial-cluster", "default=http://" + peer,
		}
	})
	if err != nil {
		remove()
		return nil, err
	}
	s.closers = append([]func(){remove}, s.closers...)
	return s, nil
}

// StartRedis starts one Redis server, which keeps everything in memory.
func StartRedis(ctx context.Context) (*Store, error) {
	return serve(ctx, "redis-server", func(client, _ string) []string {
		host, port, _ := net.SplitHostPort(client)
		return []string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no"}
	})
}

// versionNumber is what matters of what a program says about its version.
var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+`)

// serve starts a program with the arguments for two addresses, of which clients
// use the first.
func serve(ctx context.Context, program string, args func(client, peer string) []string) (*Store, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, ErrMissing)
	}
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("rig: %s --version: %w", program, err)
	}
	client, err := freeAddr()
	if err != nil {
		return nil, err
	}
	peer, err := freeAddr()
	if err != nil {
		return nil, err
	}
	process, err := start(append([]string{path}, args(client, peer)...)...)
	if err != nil {
		return nil, fmt.Errorf("rig: start %s: %w", program, err)
	}
	s := &Store{Version: versionNumber.FindString(string(version)), Direct: []string{client}, closers: []func(){process.kill}}
	if err := errors.Join(process.await(ctx, client), s.delay(faultproxy.NewRaw)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// memoryDir returns a new directory in memory, or else an ordinary one.
func memoryDir() (string, error) {
	if dir, err := os.MkdirTemp("/dev/shm", "zklock-bench-"); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", "zklock-bench-")
}
