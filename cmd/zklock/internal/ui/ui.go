// Package ui is a page of the locks below a path, for people to look at: who holds what, who waits, and
// since when. It reads nothing while nobody looks.
package ui

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
)

// Options are what a page is of, and what it may do.
type Options struct {
	Session *zklock.Session
	Link    *Link // of the session: see Link.Trace
	Prefix  string
	Log     *slog.Logger

	Servers []string                                                   // as host:port
	Dial    func(ctx context.Context, server string) (net.Conn, error) // as the session does
	Flags   []string                                                   // with which the session was made, for commands to copy

	// Allow are the verbs of Act that the page may do, for whoever knows the token.
	Allow []string
	Token string
	Act   func(ctx context.Context, a Action) (said string, err error)

	// Open says that any name of this machine may be in the address. Otherwise it has to be the loopback's:
	// a name of a stranger's that leads here shows a stranger's page what is here.
	Open bool
}

// Verbs of an Action.
const (
	Revoke = "revoke"
	Break  = "break"
)

// Action is what somebody has the page do to a node, as it was shown.
type Action struct {
	Verb, Path, Node string

	Token int64 // of the node
	Held  bool  // it had the lock
}

//go:embed page.html ui.css ui.js
var files embed.FS

// page serves the views.
type page struct {
	Options
	hub       *hub
	ensemble  *ensemble
	templates *template.Template
	cookie    string       // that a form of ours comes with
	shown     atomic.Int32 // pages that are told of changes
}

// Serve shows the page to whoever connects to the listener, until ctx ends.
func Serve(ctx context.Context, listener net.Listener, o Options) error {
	p := newPage(ctx, o)
	defer p.hub.close()
	server := &http.Server{
		Handler:           p.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 16,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelInfo),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stopped := context.AfterFunc(ctx, func() { server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

func newPage(ctx context.Context, o Options) *page {
	p := &page{Options: o, cookie: rand.Text()}
	p.hub = newHub(ctx, o.Session, o.Prefix)
	p.ensemble = &ensemble{dial: o.Dial, servers: o.Servers, link: o.Link}
	p.hub.also = p.ensemble.follow
	p.ensemble.told = p.hub.tell
	o.Link.tell(p.hub.connected)
	p.templates = template.Must(template.New("").Funcs(p.functions()).ParseFS(files, "page.html"))
	return p
}

func (p *page) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.show)
	mux.HandleFunc("GET /lock", p.show)
	mux.HandleFunc("GET /ensemble", p.show)
	mux.HandleFunc("GET /confirm", p.confirm)
	mux.HandleFunc("POST /act", p.act)
	mux.HandleFunc("GET /events", p.events)
	for name, kind := range map[string]string{"ui.css": "text/css", "ui.js": "text/javascript"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			http.ServeFileFS(w, r, files, name)
		})
	}
	return p.guarded(mux)
}
