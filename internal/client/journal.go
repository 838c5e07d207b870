package client

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/zklock/zklock/internal/callback"
	"github.com/zklock/zklock/internal/plain"
)

// Journal writes to the user's logger in a goroutine of its own: a handler may be slow, and may call
// the session, neither of which may happen under a lock of ours.
type Journal struct {
	logger *slog.Logger
	lines  callback.Serial
	work   sync.WaitGroup

	mu      sync.Mutex // guards the fields below; that of lines is locked under it
	closed  bool
	dropped int // lines, since the last one that was not
}

// mostLines bounds the lines that wait for a handler that does not return, as on a pipe that
// nobody reads.
const mostLines = 1000

// Debugs reports whether lines at Debug are written at all, which those do not ask that are few.
func (j *Journal) Debugs() bool { return j.logger.Enabled(context.Background(), slog.LevelDebug) }

func (j *Journal) Debug(message string, args ...any) { j.write(slog.LevelDebug, message, args) }
func (j *Journal) Info(message string, args ...any)  { j.write(slog.LevelInfo, message, args) }
func (j *Journal) Warn(message string, args ...any)  { j.write(slog.LevelWarn, message, args) }
func (j *Journal) Error(message string, args ...any) { j.write(slog.LevelError, message, args) }

// Printf takes go-zookeeper's messages.
func (j *Journal) Printf(format string, args ...any) {
	j.Debug(plain.Message(fmt.Sprintf("zk: "+format, args...), longestValue))
}

func (j *Journal) write(level slog.Level, message string, args []any) {
	j.add(func() {
		for i, value := range args {
			args[i] = Plainly(value)
		}
		j.logger.Log(context.Background(), level, message, args...)
	})
}

// Others give names to nodes and servers, and texts to errors. A handler may write them as they are.
const (
	longestValue = 1000 // in characters
	mostValues   = 10   // of a list
)

// Plainly returns a line's key or value that is no danger to the log.
func Plainly(value any) any {
	switch value := value.(type) {
	case string:
		return plain.Message(value, longestValue)
	case []string:
		shown := make([]string, min(len(value), mostValues))
		for i := range shown {
			shown[i] = plain.Message(value[i], longestValue)
		}
		if more := len(value) - len(shown); more > 0 {
			shown = append(shown, fmt.Sprintf("and %d more", more))
		}
		return shown
	case error:
		return quoted{value}
	}
	return value
}

// quoted is an error whose text is plain.
type quoted struct{ error }

func (q quoted) Error() string { return plain.Message(q.error.Error(), longestValue) }
func (q quoted) Unwrap() error { return q.error }

// add has a line written, in the order of the calls, and does not wait for that.
func (j *Journal) add(line func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
	case j.lines.Len() >= mostLines:
		j.dropped++
	default:
		j.tellDropped()
		j.put(line)
	}
}

// tellDropped has a line written that says how many are missing. j.mu is held.
func (j *Journal) tellDropped() {
	if log, dropped := j.logger, j.dropped; dropped > 0 {
		j.dropped = 0
		j.put(func() { log.Warn("zklock: messages were dropped", "dropped", dropped) })
	}
}

// put has a line written. j.mu is held.
func (j *Journal) put(line func()) {
	if j.lines.Add(line) {
		j.work.Go(j.lines.Run)
	}
}

// close returns when all is written.
func (j *Journal) close() {
	j.mu.Lock()
	j.tellDropped()
	j.closed = true
	j.mu.Unlock()
	j.work.Wait()
}
