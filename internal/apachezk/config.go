//go:build unix

package apachezk

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logging configures whichever logging library an installation brings:
// warnings, and what the quorum does, to standard output or error. That a
// client is gone is no news.
//
//go:embed conf
var logging embed.FS

// Config describes an ensemble. Its zero value is one standalone server.
type Config struct {
	// Servers is the number of servers; 1, a standalone server, if zero.
	Servers int

	// Spares are further servers, which are not started, and belong to the ensemble
	// only when a reconfiguration has them join. Their IDs come after the others'.
	Spares int

	// TickTime is ZooKeeper's unit of time, 200 ms if zero. Session timeouts
	// are rounded up to whole ticks and are at least two.
	TickTime time.Duration

	// InitLimit and SyncLimit are counted in ticks: how long a follower may
	// take to join the leader, and how long it may stay silent. They are 50
	// and 10 if zero.
	InitLimit, SyncLimit int

	// ContainerCheck is how often the leader removes container nodes that have
	// become empty; ZooKeeper's own default, a minute, if zero.
	ContainerCheck time.Duration

	// Secure adds a port that speaks TLS, see Server.SecureAddr. Settings say with
	// which certificates.
	Secure bool

	// Settings are lines of zoo.cfg, key to value. They take precedence over
	// this package's own.
	Settings map[string]string

	// Own, if not nil, returns settings of the server of that ID alone, which take
	// precedence over all others.
	Own func(id int) map[string]string

	// JVM is appended to the flags of the Java virtual machine.
	JVM []string

	// Route, if not nil, redirects the connections between the servers, through
	// proxies that partition them for instance.
	Route Route

	// Dir receives the data and the log of every server and is kept by Stop.
	// If empty, a temporary directory is used, which Stop removes.
	Dir string
}

func (c Config) withDefaults() Config {
	if c.Servers == 0 {
		c.Servers = 1
	}
	if c.TickTime == 0 {
		c.TickTime = 200 * time.Millisecond
	}
	if c.InitLimit == 0 {
		c.InitLimit = 50
	}
	if c.SyncLimit == 0 {
		c.SyncLimit = 10
	}
	return c
}

// jvmFlags trade speed in the long run for a fast start.
func (c Config) jvmFlags() []string {
	flags := []string{
		"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData",
	}
	if c.ContainerCheck > 0 {
		flags = append(flags, fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", c.ContainerCheck.Milliseconds()))
	}
	if c.Secure {
		// Debian's zookeeper.jar names but a part of the Netty that it needs.
		if netty, _ := filepath.Glob("/usr/share/java/netty-*.jar"); len(netty) > 0 {
			flags = append(flags, "-Xbootclasspath/a:"+strings.Join(netty, string(os.PathListSeparator)))
		}
	}
	return append(flags, c.JVM...)
}

// writeFiles creates dir with all that server id of an ensemble with these
// ports reads at its start, and returns the path of its zoo.cfg.
func (c Config) writeFiles(dir string, id int, ensemble []ports) (string, error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(id)), 0o644); err != nil {
		return "", err
	}
	cfg := filepath.Join(dir, "zoo.cfg")
	return cfg, os.WriteFile(cfg, []byte(c.zooCfg(data, id, ensemble)), 0o644)
}

func (c Config) zooCfg(data string, id int, ensemble []ports) string {
	lines := map[string]string{
		"dataDir":           data,
		"clientPort":        strconv.Itoa(ensemble[id-1].client),
		"clientPortAddress": loopback,
		"tickTime":          strconv.FormatInt(c.TickTime.Milliseconds(), 10),
		"initLimit":         strconv.Itoa(c.InitLimit),
		"syncLimit":         strconv.Itoa(c.SyncLimit),

		"maxSessionTimeout":      "600000", // by default 20 ticks, which is short with short ticks
		"maxClientCnxns":         "0",
		"admin.enableServer":     "false",
		"4lw.commands.whitelist": "*",

		// What was written survives the death of the process, if not that of
		// the machine, without waiting for the disk.
		"forceSync":    "no",
		"preAllocSize": "64",
	}
	if len(ensemble) > 1 {
		for i, p := range ensemble {
			lines[fmt.Sprintf("server.%d", i+1)] = fmt.Sprintf("%s:%d:%d", loopback, p.quorum, p.election)
		}
	}
	if c.Spares > 0 {
		lines["reconfigEnabled"] = "true"
		lines["standaloneEnabled"] = "false"
		for i, p := range ensemble {
			delete(lines, fmt.Sprintf("server.%d", i+1))
			if i < c.Servers || i == id-1 {
				lines[fmt.Sprintf("server.%d", i+1)] = p.member()
			}
		}
	}
	if c.Secure {
		lines["serverCnxnFactory"] = "org.apache.zookeeper.server.NettyServerCnxnFactory"
		lines["secureClientPort"] = strconv.Itoa(ensemble[id-1].secure)
		lines["secureClientPortAddress"] = loopback
	}
	maps.Copy(lines, c.Settings)
	if c.Own != nil {
		maps.Copy(lines, c.Own(id))
	}

	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%s=%s\n", key, lines[key])
	}
	return b.String()
}

func writeLogging(dir string) error {
	files, err := fs.Sub(logging, "conf")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}
