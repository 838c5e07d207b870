package cli

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const logFormatFlag = "log-format"

// newLogger writes warnings to w, and more with each step of verbosity.
func newLogger(w io.Writer, format string, verbosity int) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case verbosity == 1:
		level = slog.LevelInfo
	case verbosity > 1:
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// An outlet passes on what is written to it without making the writer wait: whoever
// reads our standard error may have stopped reading, and the lock must be looked
// after all the same. What does not fit is dropped.
type outlet struct {
	lines chan []byte
	done  chan struct{}
}

const (
	outletSize = 1024
	farewell   = time.Second // for what is still to be written at the end
)

func newOutlet(to io.Writer) *outlet {
	o := &outlet{lines: make(chan []byte, outletSize), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for line := range o.lines {
			_, _ = to.Write(line) // there is nobody to tell
		}
	}()
	return o
}

func (o *outlet) Write(p []byte) (int, error) {
	select {
	case o.lines <- bytes.Clone(p):
	default:
	}
	return len(p), nil
}

// close is for when nobody writes any more.
func (o *outlet) close() {
	close(o.lines)
	select {
	case <-o.done:
	case <-time.After(farewell):
	}
}

// ignoreBrokenPipes keeps this process alive when the reader of its output is
// gone. A command that it runs has the signal as it should be.
func ignoreBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
