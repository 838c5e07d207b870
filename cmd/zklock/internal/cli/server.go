package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/zktest"
)

const defaultListen = "127.0.0.1:2181"

func newServer() *cobra.Command {
	listen := defaultListen
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a ZooKeeper in memory, for development",
		Long: `Server runs one ZooKeeper server in memory until it is interrupted. It is made for
development and tests: it keeps nothing on a disk and protects nothing.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := untilSignal(cmd.Context(), func(ctx context.Context) error {
				return serve(ctx, ctxWriter{ctx, cmd.OutOrStdout()}, listen, newLogger(cmd.ErrOrStderr(), "text", verbosity(cmd)))
			})
			var interrupted *job.Interrupted
			if errors.As(err, &interrupted) {
				return nil // which is how it is meant to end
			}
			return err
		},
	}
	cmd.Flags().Var((*nonEmpty)(&listen), "listen", "the `address` to listen on; port 0 for a free one")
	return cmd
}

// serve runs a server on the address until ctx ends.
func serve(ctx context.Context, out io.Writer, address string, log *slog.Logger) error {
	if err := checkListen(ctx, address); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return withCode(exitFailure, fmt.Errorf("--listen: %w", err))
	}
	defer listener.Close()
	server, err := zktest.Start()
	if err != nil {
		return withCode(exitFailure, err)
	}
	defer server.Close()
	context.AfterFunc(ctx, func() { listener.Close() })
	if _, err := fmt.Fprintf(out, "a ZooKeeper in memory at %s\n", listener.Addr()); err != nil {
		return withCode(exitFailure, err)
	}
	for {
		client, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE): // until a client has gone
			log.Warn("a client cannot be accepted", "error", err)
			time.Sleep(time.Second)
			continue
		case err != nil:
			return withCode(exitFailure, err)
		}
		log.Info("a client has connected", "from", client.RemoteAddr())
		go forward(client, server)
	}
}

// checkListen finds what is no address at all.
func checkListen(ctx context.Context, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil && ctx.Err() == nil {
		return usage("--listen %q: it must be host:port or :port: %w", address, err)
	}
	return nil
}

// forward carries one client's connection to the server.
func forward(client net.Conn, server *zktest.Server) {
	defer client.Close()
	upstream, err := server.Dial("tcp", "", 0)
	if err != nil {
		return // the server is closing
	}
	defer upstream.Close()
	go func() {
		_, _ = io.Copy(client, upstream) // either side may hang up
		client.Close()
	}()
	_, _ = io.Copy(upstream, client)
}
