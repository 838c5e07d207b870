package zktest

import (
	"fmt"
	"time"
)

// Option configures a server or an ensemble.
type Option func(*settings)

type settings struct {
	seed                   int64
	tick                   time.Duration
	minTimeout, maxTimeout time.Duration
	latency                span // client to server and back, each
	serverLatency          span
	diskLatency            span
	syncLimit              int // in ticks
	electionTime           time.Duration
	containerInterval      time.Duration
	neverUsed              time.Duration
	noContainers           bool // createContainer is not known
	noContainersSaid       bool // and answered, before the connection goes
	ttlNodes               bool
	minor                  int // of the version: 3.minor
	maxFrame               int
}

func defaults() settings {
	return settings{
		seed:              1,
		tick:              500 * time.Millisecond,
		syncLimit:         5,
		electionTime:      200 * time.Millisecond,
		containerInterval: time.Minute,
		maxFrame:          0xfffff,
		minor:             9,
	}
}

// WithSeed sets the seed of everything that is left to chance: the order in which a session's nodes go and children are
// listed, latencies, who wins a tie at a thaw. The default is 1. It does not fix the order in which goroutines run.
func WithSeed(seed int64) Option { return func(s *settings) { s.seed = seed } }

// WithTickTime sets ZooKeeper's tickTime, by default 500 ms. Sessions end on its boundaries, and session timeouts are
// kept between 2 and 20 ticks unless WithSessionTimeouts says otherwise.
func WithTickTime(d time.Duration) Option { return func(s *settings) { s.tick = d } }

// WithSessionTimeouts sets the bounds that a client's wish is fitted into.
func WithSessionTimeouts(shortest, longest time.Duration) Option {
	return func(s *settings) { s.minTimeout, s.maxTimeout = shortest, longest }
}

// WithLatency delays every frame between a client and a server, each way, by a time between the bounds. Frames of one
// connection stay in order. The default is none.
func WithLatency(shortest, longest time.Duration) Option {
	return func(s *settings) { s.latency = span{shortest, longest} }
}

// WithServerLatency delays every message between servers. The default is none.
func WithServerLatency(shortest, longest time.Duration) Option {
	return func(s *settings) { s.serverLatency = span{shortest, longest} }
}

// WithDiskLatency delays the moment from which a transaction counts as logged by a server. The default is none. With
// it, requests overlap as they do on a real server.
func WithDiskLatency(shortest, longest time.Duration) Option {
	return func(s *settings) { s.diskLatency = span{shortest, longest} }
}

// WithSyncLimit sets how many ticks a leader and its followers may be silent before they part, by default 5.
func WithSyncLimit(ticks int) Option { return func(s *settings) { s.syncLimit = ticks } }

// WithElectionTime sets how long a server looks around before it follows or leads, by default 200 ms.
func WithElectionTime(d time.Duration) Option { return func(s *settings) { s.electionTime = d } }

// WithContainerInterval sets how often empty containers and outlived nodes are looked for, by default a minute; 0, or less, is
// never.
func WithContainerInterval(d time.Duration) Option {
	return func(s *settings) { s.containerInterval = d }
}

// WithNeverUsedContainers has containers go in which nothing has ever been created, when their data was not set for that
// long (znode.container.maxNeverUsedIntervalMs). The default, 0, keeps them, as ZooKeeper does up to 3.9; 3.10 is said to
// remove them after five minutes.
func WithNeverUsedContainers(after time.Duration) Option {
	return func(s *settings) { s.neverUsed = after }
}

// WithoutContainers makes a server that does not know createContainer: it hangs up on it, as some servers do on every
// operation that they do not know. If answered, it says Unimplemented first, as ZooKeeper 3.4 does. A create in
// a multi whose flags say container is then refused, with BadArguments; otherwise it makes a persistent node, as
// ClickHouse Keeper has it.
func WithoutContainers(answered bool) Option {
	return func(s *settings) { s.noContainers, s.noContainersSaid = true, answered }
}

// WithTTLNodes allows nodes with a TTL, which ZooKeeper refuses with Unimplemented unless it is told to allow them
// (zookeeper.extendedTypesEnabled).
func WithTTLNodes() Option { return func(s *settings) { s.ttlNodes = true } }

// WithVersion has the servers answer as those of ZooKeeper "3.8" do, or "3.9" from 3.9.2 on. The default is the newest. In 3.9
// exists needs the permission to read its node, an event carries the zxid of what it tells, create2 in a multi is answered
// with its stat, a multi with flags that make no sense fails as a whole, a check outside of a multi is not known, checkWatches
// looks at the client's own watches, and an ACL may name IPv6 addresses.
func WithVersion(version string) Option {
	minor, known := map[string]int{"3.8": 8, "3.9": 9}[version]
	if !known {
		panic(fmt.Sprintf("zktest: WithVersion(%q): it is neither 3.8 nor 3.9", version))
	}
	return func(s *settings) { s.minor = minor }
}

// since reports whether the servers are of version 3.minor or later.
func (s *settings) since(minor int) bool { return s.minor >= minor }

// WithMaxBuffer sets the largest frame a client may send, by default 0xfffff bytes (jute.maxbuffer). The connection
// that sends a larger one is closed.
func WithMaxBuffer(bytes int) Option { return func(s *settings) { s.maxFrame = bytes } }
