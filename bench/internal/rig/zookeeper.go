package rig

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// ZooKeeper is a Store that tells what its servers count, and what went through
// the counting proxies.
type ZooKeeper struct {
	Store
	Traffic  Traffic
	ensemble *apachezk.Ensemble
}

// StartZooKeeper starts servers as they are in production, with one exception:
// the log is not forced to the disk, whose speed is not the measurement.
func StartZooKeeper(ctx context.Context, servers int) (*ZooKeeper, error) {
	ensemble, err := apachezk.Start(ctx, apachezk.Config{
		Servers:  servers,
		TickTime: 2 * time.Second,
		JVM:      []string{"-XX:TieredStopAtLevel=4", "-Xmx1g"},
		Settings: map[string]string{"preAllocSize": "65536"},
	})
	if err != nil {
		return nil, err
	}
	z := &ZooKeeper{ensemble: ensemble}
	z.Direct, z.closers = ensemble.Addrs(), []func(){ensemble.Stop}
	if err := z.connectWays(); err != nil {
		z.Close()
		return nil, err
	}
	return z, nil
}

func (z *ZooKeeper) connectWays() (err error) {
	if err := z.delay(faultproxy.New); err != nil {
		return err
	}
	if z.Counted, err = z.through(faultproxy.New, func(p *faultproxy.Proxy) { p.Tap(z.Traffic.tap) }); err != nil {
		return err
	}
	_, version, err := z.line("srvr", "Zookeeper version: ")
	z.Version = versionNumber.FindString(version)
	return err
}

// Watches returns how many watches all servers hold.
func (z *ZooKeeper) Watches() (int, error) {
	sum, _, err := z.line("mntr", "zk_watch_count\t")
	return sum, err
}

// line returns what the servers' answers to a four letter word say behind a
// prefix: the sum, and the last text.
func (z *ZooKeeper) line(word, prefix string) (sum int, text string, err error) {
	for _, server := range z.ensemble.Servers() {
		answer, err := server.FourLetter(word)
		if err != nil {
			return 0, "", err
		}
		for l := range strings.Lines(answer) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(l), prefix); ok {
				text = value
				n, _ := strconv.Atoi(value) // not every text is a number
				sum += n
			}
		}
	}
	return sum, text, nil
}
