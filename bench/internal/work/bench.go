package work

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/rig"
)

// Bench is what the works stand on: the services and the workers.
type Bench struct {
	ZooKeeper   *rig.ZooKeeper
	Etcd, Redis *rig.Store // nil if missing
	Processes   map[string]*driver.Process
	Start       func(ctx context.Context, process string) (*driver.Process, error)

	conn         *zk.Conn      // straight to the servers
	far          *zk.Conn      // through the delay
	serial       int           // makes paths that nobody has used
	warm, window time.Duration // before the measurement that is next, and of it
}

// root is the parent of all paths.
const root = "/bench"

// Prepare connects the bench itself to ZooKeeper, and makes the parent of the
// parties' paths.
func (b *Bench) Prepare() error {
	var err error
	if b.conn, err = connect(b.ZooKeeper.Direct); err != nil {
		return err
	}
	if b.far, err = connect(b.ZooKeeper.Delayed); err != nil {
		return err
	}
	_, err = b.conn.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return err
}

func connect(servers []string) (*zk.Conn, error) {
	silent := zk.WithLogger(log.New(io.Discard, "", 0))
	conn, _, err := zk.Connect(servers, 30*time.Second, silent)
	return conn, err
}

// roundTrip is how long a request through the delay takes at this moment.
func (b *Bench) roundTrip() (time.Duration, error) {
	times := make([]time.Duration, 9)
	for i := range times {
		start := time.Now()
		if _, _, err := b.far.Exists(root); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	return result.Median(times), nil
}

// Close ends everything, whatever it is doing.
func (b *Bench) Close() {
	for _, p := range b.Processes {
		p.Close()
	}
	for _, conn := range []*zk.Conn{b.conn, b.far} {
		if conn != nil {
			conn.Close()
		}
	}
	for _, s := range []*rig.Store{b.Etcd, b.Redis} {
		if s != nil {
			s.Close()
		}
	}
	if b.ZooKeeper != nil {
		b.ZooKeeper.Close()
	}
}

// Has reports whether everything that a party needs is there.
func (b *Bench) Has(p Party) bool { return b.Processes[p.Process] != nil }

// restart replaces a party's worker. If it cannot, the party is out of what is
// left of the run.
func (b *Bench) restart(ctx context.Context, p Party) (err error) {
	b.Processes[p.Process].Close()
	if b.Processes[p.Process], err = b.Start(ctx, p.Process); err != nil {
		delete(b.Processes, p.Process)
		return err
	}
	if p.Process == curator.Process {
		return b.WarmUp(ctx, 10*b.window)
	}
	return nil
}

func (b *Bench) store(p Party) *rig.Store {
	switch p.Process {
	case "etcd":
		return b.Etcd
	case "redsync":
		return b.Redis
	}
	return &b.ZooKeeper.Store
}

func (b *Bench) servers(p Party, w way) []string {
	s := b.store(p)
	return [...][]string{direct: s.Direct, delayed: s.Delayed, counted: s.Counted}[w]
}

// do has a party's worker do something with the servers at the end of a way.
func (b *Bench) do(ctx context.Context, p Party, w way, word, lock string, fields map[string]string) (Numbers, error) {
	all := map[string]string{
		"servers": strings.Join(b.servers(p, w), ","),
		"path":    lock,
		"variant": p.Variant,
		"work":    path.Base(lock),
	}
	maps.Copy(all, fields)
	return b.Processes[p.Process].Do(ctx, word, all)
}

// disband ends the sessions of a party's worker.
func (b *Bench) disband(ctx context.Context, p Party) error {
	_, err := b.Processes[p.Process].Do(ctx, "close", nil)
	return err
}

// settle returns when a number of contenders stand in a queue, and have set the
// watches with which they wait. look returns how many there are of both.
func (b *Bench) settle(ctx context.Context, contenders int, look func() (contenders, watches int, err error)) error {
	const (
		interval = 50 * time.Millisecond
		calm     = 5 // intervals without a new watch
	)
	watches, unchanged := 0, 0
	for unchanged < calm {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return fmt.Errorf("%d contenders do not come to rest: %w", contenders, ctx.Err())
		}
		there, now, err := look()
		// A server that has no time to answer is not at rest either.
		if err != nil || now != watches || there != contenders {
			watches, unchanged = now, 0
			continue
		}
		unchanged++
	}
	return nil
}

// queued returns how many stand in a queue, and how many watches ZooKeeper has.
func (b *Bench) queued(path string) (contenders, watches int, err error) {
	_, stat, err := b.conn.Exists(path)
	if err != nil {
		return 0, 0, err
	}
	watches, err = b.ZooKeeper.Watches()
	return int(stat.NumChildren), watches, err
}

// WarmUp has Java's compiler see the code that counts.
func (b *Bench) WarmUp(ctx context.Context, d time.Duration) error {
	if !b.Has(curator) {
		return nil
	}
	warm := cycle{workers: 4, warm: d}
	if _, err := warm.measure(ctx, b, curator, root+"/warm-up"); err != nil {
		return err
	}
	return b.disband(ctx, curator)
}
