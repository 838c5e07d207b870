// Command rollcall is the classic demonstration of a live server list. Start a
// client, then servers, and kill some of them; the client prints each new list:
//
//	go run ./test/membership/rollcall -servers localhost:2181 client
//	go run ./test/membership/rollcall -servers localhost:2181 server alpha
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rollcall:", err)
		os.Exit(1)
	}
}

const usage = "usage: rollcall [-servers host:port,...] [-path path] [-timeout duration] client | server NAME"

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet(usage, flag.ContinueOnError)
	servers := flags.String("servers", "localhost:2181", "the ZooKeeper servers")
	path := flags.String("path", "/rollcall", "where the list is kept")
	timeout := flags.Duration("timeout", 4*time.Second, "after which a server that died is off the list")
	if err := flags.Parse(args); err != nil {
		return err
	}
	session, err := zklock.Connect(ctx, strings.Split(*servers, ","), *timeout)
	if err != nil {
		return err
	}
	defer session.Close()
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "client":
		return client(ctx, session, *path, out)
	case flags.NArg() == 2 && flags.Arg(0) == "server":
		return server(ctx, session, *path, flags.Arg(1), out)
	}
	return errors.New(usage)
}

// server is on the list until ctx ends.
func server(ctx context.Context, session *zklock.Session, path, name string, out io.Writer) error {
	member, err := membership.Join(ctx, session, path, []byte(name),
		membership.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, name, "serves")
	<-ctx.Done()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.Timeout())
	defer cancel()
	return member.Leave(leaving)
}

// client prints each list until ctx ends.
func client(ctx context.Context, session *zklock.Session, path string, out io.Writer) error {
	for peers, err := range membership.Watch(ctx, session, path) {
		if err != nil {
			return err
		}
		names := []string{}
		for _, p := range peers {
			names = append(names, string(p.Data))
		}
		fmt.Fprintln(out, len(names), "servers:", strings.Join(names, " "))
	}
	return nil
}
