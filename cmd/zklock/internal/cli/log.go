package cli

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const logFormatFlag = "log-format"

const verboseFlag = "verbose"

// verbosity returns how often -v was given, which every command takes.
func verbosity(cmd *cobra.Command) int {
	times, err := cmd.Flags().GetCount(verboseFlag)
	if err != nil {
		panic(err) // the root has it
	}
	return times
}

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
	w = plainWriter{w}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// An asyncWriter passes on what is written to it without making the writer wait: whoever
// reads our standard error may have stopped reading, and the lock must be looked
// after all the same. What does not fit is dropped.
type asyncWriter struct {
	done chan struct{}

	mu     sync.Mutex // guards closed, and the end of lines; nothing is locked under it
	closed bool
	lines  chan []byte
}

const (
	asyncLines   = 1024
	flushTimeout = time.Second // for what is still to be written at the end
)

func newAsyncWriter(to io.Writer) *asyncWriter {
	w := &asyncWriter{lines: make(chan []byte, asyncLines), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for line := range w.lines {
			_, _ = to.Write(line) // there is nobody to tell
		}
	}()
	return w
}

func (w *asyncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(p), nil
	}
	select {
	case w.lines <- bytes.Clone(p):
	default:
	}
	return len(p), nil
}

// close waits, if not for long, until what was written is passed on. What comes
// later, from a goroutine that has not ended yet, is dropped.
func (w *asyncWriter) close() {
	w.mu.Lock()
	w.closed = true
	close(w.lines)
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-time.After(flushTimeout):
	}
}

// ignoreBrokenPipes keeps this process alive when the reader of its output is
// gone. A command that it runs has the signal as it should be.
func ignoreBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
