// Command service is a service to copy: of all its instances one works, and the others stand by and take
// over. What it works is yours to write, in work.go.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// config is what the command line says.
type config struct {
	servers []string
	path    string        // of the election
	value   string        // what the leader says of itself
	listen  string        // address of the probes and the metrics
	timeout time.Duration // of the session: how long a crash keeps others from leading
}

func parse(args []string, messages io.Writer) (config, error) {
	var c config
	var servers string
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.StringVar(&servers, "servers", os.Getenv("ZKLOCK_SERVERS"), "the ZooKeeper servers, as host:port,...")
	flags.StringVar(&c.path, "path", "/service/leader", "path of the election")
	flags.StringVar(&c.value, "value", os.Getenv("POD_IP"), "what the leader says of itself, such as its address")
	flags.StringVar(&c.listen, "listen", ":8080", "address of the probes and the metrics")
	flags.DurationVar(&c.timeout, "session-timeout", 10*time.Second, "how long a crash keeps others from leading")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if servers == "" || flags.NArg() > 0 {
		flags.Usage()
		return c, errors.New("give -servers or $ZKLOCK_SERVERS, and no arguments")
	}
	c.servers = strings.Split(servers, ",")
	return c, nil
}

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	c, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := serve(ctx, c, log); err != nil {
		log.Error("the service has ended", "error", err)
		os.Exit(1) // whoever has started it starts it again
	}
}

// serve answers probes for as long as the service runs.
func serve(ctx context.Context, c config, log *slog.Logger) error {
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	s := newService(c, log)
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	defer server.Close()
	return s.run(ctx)
}
