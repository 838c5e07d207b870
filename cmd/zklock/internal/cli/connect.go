package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
)

const (
	serversVariable = "ZKLOCK_SERVERS"
	defaultTimeout  = 10 * time.Second
)

// connection is what it takes to reach the servers, and how to tell about it.
type connection struct {
	servers   string
	timeout   duration // of the session
	tls       tlsFiles
	authFile  string
	modeCheck *choice // of that file
	verbosity int
	logFormat *choice
}

func (c *connection) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.servers, "servers", "", "the ZooKeeper servers, as `host:port,...` (default $"+serversVariable+")")
	c.timeout = duration{Duration: defaultTimeout}
	flags.Var(&c.timeout, "session-timeout", "how long a lost connection, or a crash, keeps the lock; also the time to connect")
	c.tls.flags(flags)
	flags.StringVar(&c.authFile, "auth-file", "", "`file` of credentials, one scheme:credentials a line (default $"+authVariable+", one)")
	c.modeCheck = oneOf("on", "off")
	c.modeCheck.add(cmd, modeCheckFlag, "whether to refuse an --auth-file that others may read or write")
	flags.CountVarP(&c.verbosity, "verbose", "v", "tell what happens; twice: in detail")
	c.logFormat = oneOf("text", "json")
	c.logFormat.add(cmd, logFormatFlag, "how to write messages to standard error")
}

func (c *connection) logger(cmd *cobra.Command) *slog.Logger {
	return newLogger(cmd.ErrOrStderr(), c.logFormat.value, c.verbosity)
}

// check returns what is wrong with the flags, before any server is asked.
func (c *connection) check() ([]string, []zklock.SessionOption, error) {
	servers, err := c.serverList()
	if err != nil {
		return nil, nil, err
	}
	if c.timeout.Duration < time.Millisecond {
		return nil, nil, usage("--session-timeout %v: ZooKeeper counts in milliseconds, it must be at least one", c.timeout.Duration)
	}
	logins, err := credentials(c.authFile, c.modeCheck.value == "on")
	if err != nil {
		return nil, nil, err
	}
	options, err := c.tls.options()
	return servers, append(options, logins...), err
}

func (c *connection) serverList() ([]string, error) {
	from, text := "--servers", c.servers
	if text == "" {
		from, text = "$"+serversVariable, os.Getenv(serversVariable)
	}
	if text == "" {
		return nil, usage("no servers: give --servers host:port,... or set $%s", serversVariable)
	}
	servers := strings.Split(text, ",")
	for i, s := range servers {
		servers[i] = strings.TrimSpace(s)
		if servers[i] == "" {
			return nil, usage("%s %q: there is an empty server in it; write host:port,host:port", from, text)
		}
	}
	return servers, nil
}

// open connects, and gives up at the session's timeout or when ctx ends.
func (c *connection) open(ctx context.Context, log *slog.Logger) (*zklock.Session, error) {
	servers, options, err := c.check()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout.Duration)
	defer cancel()
	session, err := zklock.Connect(ctx, servers, c.timeout.Duration, append(options, zklock.WithLogger(log))...)
	if err != nil {
		return nil, classify(err)
	}
	log.Info("connected", "session", sessionName(session.ID()), "timeout", session.Timeout())
	return session, nil
}

// sessionName is how ZooKeeper's own tools and logs write a session's id.
func sessionName(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }
