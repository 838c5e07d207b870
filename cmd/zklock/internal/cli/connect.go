package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
)

const (
	serversVariable = "ZKLOCK_SERVERS"
	defaultTimeout  = 10 * time.Second
)

// connection is what it takes to reach the servers, and how to tell about it.
type connection struct {
	servers   string
	timeout   duration // of the session
	connect   duration // to reach a server
	tls       tlsFiles
	authFile  string
	saslUser  string
	saslFile  string  // of that one's password
	modeCheck *choice // of those files
	loggedIn  bool    // there are credentials
	logFormat *choice
}

func (c *connection) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*nonEmpty)(&c.servers), "servers", "the ZooKeeper servers, as `host:port,...`, the last one with a chroot if all paths are below one: host:port/app (default $"+serversVariable+")")
	c.timeout = duration{Duration: defaultTimeout}
	flags.Var(&c.timeout, "session-timeout", "how long a crash keeps the lock from others; without a server a lock is usually lost after 0.45 to 0.6 of it")
	flags.Var(&c.connect, "connect-timeout", "how long to try to reach a server (default the session timeout)")
	c.tls.flags(flags)
	flags.Var((*nonEmpty)(&c.authFile), "auth-file", "`file` of credentials, one scheme:credentials a line (default $"+authVariable+", one)")
	flags.Var((*nonEmpty)(&c.saslUser), "sasl-user", "log in by SASL, as `name`, by DIGEST-MD5")
	flags.Var((*nonEmpty)(&c.saslFile), "sasl-password-file", "`file` of that one's password, one line")
	c.modeCheck = oneOf("on", "off")
	c.modeCheck.add(cmd, modeCheckFlag, "whether to refuse a file of credentials that others may read or write")
	c.logFormat = oneOf("text", "json")
	c.logFormat.add(cmd, logFormatFlag, "how to write messages to standard error")
}

func (c *connection) logger(cmd *cobra.Command) *slog.Logger {
	return newLogger(cmd.ErrOrStderr(), c.logFormat.value, verbosity(cmd))
}

// check returns the servers, or what is wrong with the flags.
func (c *connection) check() ([]string, error) {
	servers, err := c.serverList()
	if err != nil {
		return nil, err
	}
	if c.timeout.Duration < time.Millisecond {
		return nil, usage("--session-timeout %v: ZooKeeper counts in milliseconds, it must be at least one", c.timeout.Duration)
	}
	if c.timeout.Duration > math.MaxInt32*time.Millisecond {
		return nil, usage("--session-timeout %v: ZooKeeper counts milliseconds in 32 bits", c.timeout.Duration)
	}
	if c.connect.set && c.connect.Duration == 0 {
		return nil, usage("--connect-timeout 0: no server is reached in no time; give a longer one, or leave it out")
	}
	if (c.saslUser == "") != (c.saslFile == "") {
		return nil, usage("--sasl-user %q, --sasl-password-file %q: give both or none", c.saslUser, c.saslFile)
	}
	return servers, nil
}

// options are what the files say that the flags name, now and for each connection.
func (c *connection) options() ([]zklock.SessionOption, error) {
	var options []zklock.SessionOption
	logins, err := c.credentials()
	if err != nil {
		return nil, err
	}
	if len(logins) > 0 {
		options = append(options, zklock.WithAuthProvider(again(logins, c.credentials, c.authFile)))
	}
	if c.saslUser != "" {
		mechanism, err := c.mechanism()
		if err != nil {
			return nil, err
		}
		options = append(options, zklock.WithSASLProvider(again(mechanism, c.mechanism, c.saslFile)))
	}
	c.loggedIn = len(options) > 0
	if c.tls.given() {
		config, err := c.tls.config()
		if err != nil {
			return nil, err
		}
		options = append(options, zklock.WithTLSProvider(again(config, c.tls.config, c.tls.ca, c.tls.cert, c.tls.key)))
	}
	return options, nil
}

// readTime is how long it may take to read files for a connection, which waits for it.
const readTime = 200 * time.Millisecond

// again returns a provider of what read returns. The first time that is what was read before, and
// always if one of the files is a pipe, or the like, which gives what it has only once.
func again[T any](first T, read func() (T, error), files ...string) func() (T, error) {
	begun := false
	return func() (T, error) {
		if !begun || slices.ContainsFunc(files, isPipe) {
			begun = true
			return first, nil
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), readTime,
			fmt.Errorf("the files that the flags name could not be read within %v", readTime))
		defer cancel()
		return await(ctx, read)
	}
}

func isPipe(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.Mode().IsRegular()
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
	return servers, checkServers(from, servers)
}

// checkServers returns what is wrong with the list before anybody dials.
func checkServers(from string, servers []string) error {
	addresses, _, err := client.SplitChroot(servers)
	if err == nil {
		err = client.CheckServers(addresses)
	}
	if err != nil {
		return usage("%s: %v", from, err)
	}
	return nil
}

// identified reports whether the servers know us by more than our address. options has found out.
func (c *connection) identified() bool { return c.loggedIn || c.tls.cert != "" }

// open connects, and gives up at the session's timeout or when ctx ends.
func (c *connection) open(ctx context.Context, log *slog.Logger, more ...zklock.SessionOption) (*zklock.Session, error) {
	servers, err := c.check()
	if err != nil {
		return nil, err
	}
	options, err := await(ctx, c.options)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, classify(fmt.Errorf("reading the files that the flags name: %w", err))
	case err != nil:
		return nil, err
	}
	limit := c.timeout.Duration
	if c.connect.set {
		limit = c.connect.Duration
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reached := newReached(servers, log)
	options = append(append(options, zklock.WithLogger(slog.New(reached))), more...)
	session, err := zklock.Connect(ctx, servers, c.timeout.Duration, options...)
	if err != nil {
		return nil, classify(err)
	}
	reached.connected.Store(true)
	log.Info("connected", "session", client.Hex(session.ID()), "timeout", session.Timeout())
	return session, nil
}

// onSession runs f on a session of its own, until a signal to end. What f writes to out
// holds nobody up after that.
func (c *connection) onSession(cmd *cobra.Command, f func(ctx context.Context, session *zklock.Session, out io.Writer) error) error {
	return untilSignal(cmd.Context(), func(ctx context.Context) error {
		session, err := c.open(ctx, c.logger(cmd))
		if err != nil {
			return err
		}
		defer session.Close()
		return f(ctx, session, ctxWriter{ctx, cmd.OutOrStdout()})
	})
}

// request returns what f does with the session's connection, over another one if that is lost.
// It gives up when ctx ends, or when a session that is lost would; the session's Close waits
// for f.
func request[T any](ctx context.Context, session *zklock.Session, f func(*zk.Conn) (T, error)) (value T, err error) {
	c := client.Of(session)
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	err = c.Persist(ctx, func() (err error) {
		var got T
		asked := c.Background(func() (err error) {
			got, err = f(session.Conn())
			return err
		})
		if err = client.Wait(ctx, asked); latch.IsClosed(asked.Done()) {
			value = got
		}
		if slices.ContainsFunc(interrupted, func(lost error) bool { return errors.Is(err, lost) }) {
			return err
		}
		return client.Permanent(err)
	})
	return value, c.Explain(err)
}

// interrupted are how a request ends whose connection, or session, is lost.
var interrupted = []error{zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrSessionMoved}
