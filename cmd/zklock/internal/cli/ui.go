package cli

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/cmd/zklock/internal/ui"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// uiCommand is one use of the ui command.
type uiCommand struct {
	connection
	listen    string
	allow     []string
	cert, key string
	plainHTTP bool
}

const defaultPage = "127.0.0.1:8421"

func newUI() *cobra.Command {
	u := &uiCommand{listen: defaultPage}
	cmd := &cobra.Command{
		Use:   "ui [flags] [PREFIX]",
		Short: "Show the locks below a path on a page",
		Long: `Ui serves a page, for a browser, of the locks at and below PREFIX (default /): who holds
what, who waits, and since when; of each lock its queue, its last hour, and the commands that
ask for it or break it; and the servers. The page shows each change by itself. It reads
nothing while nobody looks; then it is one watch to the servers, however many locks and pages
there are.

It only shows, unless --allow says otherwise. Then it writes a token when it starts, which
has to be typed for each action, beside the name of the node.`,
		Example: `  zklock ui /locks
  zklock ui --allow revoke,break /locks`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return onePath(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := "/"
			if len(args) > 0 {
				prefix = args[0]
			}
			if err := u.check(cmd); err != nil {
				return err
			}
			if err := recipe.CheckPath(prefix); err != nil && prefix != "/" {
				return withCode(exitUsage, err)
			}
			err := untilSignal(cmd.Context(), func(ctx context.Context) error { return u.run(ctx, cmd, prefix) })
			var interrupted *job.Interrupted
			if errors.As(err, &interrupted) {
				return nil // which is how it is meant to end
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.Var((*nonEmpty)(&u.listen), "listen", "the `address` to listen on; port 0 for a free one")
	flags.Var((*verbs)(&u.allow), "allow", "what the page may do, for whoever knows the token: `revoke,break`, or one of them")
	flags.Var((*nonEmpty)(&u.cert), "https-cert", "PEM `file` of the page's own certificate")
	flags.Var((*nonEmpty)(&u.key), "https-key", "PEM `file` of its key")
	flags.BoolVar(&u.plainHTTP, "plain-http", false, "listen beyond this machine without encryption: whoever is on the way sees the page, and the token")
	u.connection.flags(cmd)
	return cmd
}

// verbs is a flag's value that is some of what a page may do.
type verbs []string

func (v *verbs) Set(text string) error {
	for _, verb := range strings.Split(text, ",") {
		if verb != ui.Revoke && verb != ui.Break {
			return fmt.Errorf("%q is none of its values: revoke, break", verb)
		}
		*v = append(*v, verb)
	}
	return nil
}

func (v *verbs) Type() string   { return "string" }
func (v *verbs) String() string { return strings.Join(*v, ",") }

// check returns what is wrong with the page's own flags.
func (u *uiCommand) check(cmd *cobra.Command) error {
	if err := checkListen(cmd.Context(), u.listen); err != nil {
		return err
	}
	switch host, _, _ := net.SplitHostPort(u.listen); {
	case (u.cert == "") != (u.key == ""):
		return usage("--https-cert %q, --https-key %q: give both or none", u.cert, u.key)
	case u.cert == "" && !u.plainHTTP && !ui.IsLoopback(host):
		return usage("--listen %q: it is to be reached from other machines: give --https-cert and --https-key, or --plain-http", u.listen)
	}
	return nil
}

func (u *uiCommand) run(ctx context.Context, cmd *cobra.Command, prefix string) error {
	listener, scheme, err := u.listener(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	log := u.logger(cmd)
	link := new(ui.Link)
	session, err := u.open(ctx, log, zklock.WithSessionTrace(link.Trace()))
	if err != nil {
		return err
	}
	defer session.Close()
	servers, err := u.serverList()
	if err != nil {
		return err
	}
	addresses, _, err := client.SplitChroot(servers)
	if err != nil {
		return usage("%v", err)
	}
	host, _, _ := net.SplitHostPort(u.listen)
	o := ui.Options{
		Session: session, Link: link, Prefix: prefix, Log: log, Servers: zk.FormatServers(addresses), Dial: u.dial, Flags: u.given(cmd),
		Allow: u.allow, Act: func(ctx context.Context, a ui.Action) (string, error) { return act(ctx, session, a) }, Open: !ui.IsLoopback(host),
	}
	out := ctxWriter{ctx, cmd.OutOrStdout()}
	said := fmt.Sprintf("%s://%s/\n", scheme, reachedAt(listener.Addr().String()))
	if len(u.allow) > 0 {
		o.Token = rand.Text()
		said += "token: " + o.Token + "\n"
	}
	if _, err := io.WriteString(out, said); err != nil {
		return withCode(exitFailure, err)
	}
	return withCode(exitFailure, ui.Serve(ctx, listener, o))
}

// reachedAt is where others find what listens on that address: any address of this machine is its name.
func reachedAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return address
	}
	name, err := os.Hostname()
	if err != nil {
		return address
	}
	return net.JoinHostPort(name, port)
}

func (u *uiCommand) listener(ctx context.Context) (net.Listener, string, error) {
	var config *tls.Config
	if u.cert != "" {
		pair, err := tls.LoadX509KeyPair(u.cert, u.key)
		if err != nil {
			return nil, "", usage("--https-cert %s, --https-key %s: %w", u.cert, u.key, err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", u.listen)
	switch {
	case err != nil:
		return nil, "", withCode(exitFailure, fmt.Errorf("--listen: %w", err))
	case config != nil:
		return tls.NewListener(listener, config), "https", nil
	}
	return listener, "http", nil
}

// dial connects to a server, as the session does.
func (u *uiCommand) dial(ctx context.Context, server string) (net.Conn, error) {
	if !u.tls.given() {
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	}
	config, err := u.tls.config()
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", server)
}

// given are the flags of the connection, for a command that somebody copies.
func (u *uiCommand) given(cmd *cobra.Command) (words []string) {
	if servers, err := u.serverList(); err == nil {
		words = append(words, "--servers", strings.Join(servers, ","))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "auth-file" || f.Name == modeCheckFlag || strings.HasPrefix(f.Name, "tls") || strings.HasPrefix(f.Name, "sasl") {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

// act does to a node what somebody has asked for on the page, and returns what there is to say.
func act(ctx context.Context, session *zklock.Session, a ui.Action) (string, error) {
	var said strings.Builder
	var err error
	agreed := &agreement{a.Token, a.Held}
	if a.Verb == ui.Revoke {
		_, err = revoke(ctx, session, &said, a.Path, a.Node, agreed)
	} else {
		err = (&breaking{session: session, out: &said, path: a.Path, node: a.Node, shown: agreed}).run(ctx)
	}
	return said.String(), err
}
