package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zklockprom"
)

// service is one instance.
type service struct {
	config
	log      *slog.Logger
	metrics  *zklockprom.Metrics
	registry *prometheus.Registry
	session  atomic.Pointer[zklock.Session] // nil before there is one
	work     func(ctx context.Context, term *election.Term) error
	options  []zklock.SessionOption // of tests
}

func newService(c config, log *slog.Logger) *service {
	s := &service{config: c, log: log, metrics: zklockprom.New(), registry: prometheus.NewRegistry(), work: work}
	s.registry.MustRegister(s.metrics)
	return s
}

// connectTime is how long it may take to reach a server. The log says after two seconds why it does.
const connectTime = 30 * time.Second

// run works whenever this instance leads, until ctx ends or the work fails. It returns nil if ctx ended
// and everything was in order.
func (s *service) run(ctx context.Context) error {
	session, err := s.connect(ctx)
	if err != nil {
		return err
	}
	s.session.Store(session)
	e, err := election.New(session, s.path,
		election.WithValue([]byte(s.value)),
		election.WithTrace(s.metrics.Trace()),
		election.WithPause(time.Second),   // for another to lead that comes a little later
		election.WithLossGrace(s.timeout), // after a loss, for the work to end in
	)
	if err == nil {
		err = e.Run(ctx, s.work) // an error of the work ends it: whoever has started us has a pause for that
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // SIGTERM is how it is meant to end
	}
	return errors.Join(err, s.shutdown(session))
}

func (s *service) connect(ctx context.Context) (*zklock.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	options := append([]zklock.SessionOption{zklock.WithLogger(s.log), zklock.WithSessionTrace(s.metrics.SessionTrace())}, s.options...)
	return zklock.Connect(ctx, s.servers, s.timeout, options...)
}

// shutdown gives back what is held, so that another instance leads at once. It takes no longer than the
// session has to live without it.
func (s *service) shutdown(session *zklock.Session) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	return session.Shutdown(ctx)
}

// handler answers probes and shows the metrics.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	// Alive is who answers: without ZooKeeper it works nothing, and to start it anew would not help.
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	// Ready is who could lead, not who leads: the others stand by, and a rollout goes on without them.
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTime)
		defer cancel()
		session := s.session.Load()
		if session == nil {
			http.Error(w, "not connected yet", http.StatusServiceUnavailable)
			return
		}
		if err := session.Ping(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	return mux
}

// pingTime is shorter than timeoutSeconds of the readiness probe.
const pingTime = 2 * time.Second
