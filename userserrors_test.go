package zklock

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// inquisitive is code of a user that calls the session back.
type inquisitive struct{ s *Session }

func (e inquisitive) Error() string   { return e.ask("a user's error") }
func (e inquisitive) Timeout() bool   { return e.ask("") != "" }
func (e inquisitive) Temporary() bool { return false }
func (e inquisitive) Is(error) bool   { return e.ask("") != "" }
func (e inquisitive) Unwrap() error   { e.ask(""); return nil }

func (e inquisitive) ask(answer string) string {
	e.s.ID()
	return answer
}

// told is a log handler that tells of warnings.
type told chan string

func (c told) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c told) WithAttrs([]slog.Attr) slog.Handler           { return c }
func (c told) WithGroup(string) slog.Handler                { return c }

func (c told) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	c <- line
	return nil
}

func TestAUsersErrorMayCallTheSessionThatLogsIt(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *Session, err error)
		says    string
	}{
		"a call that has no connection": {func(s *Session, err error) {
			_, v := s.startWatchdog(context.Background(), "/lock")
			s.failed(err)
			v.since = time.Now().Add(-time.Hour)
			s.findStalls()
		}, "there is no connection: a user's error"},
		"a call whose tries fail": {func(s *Session, err error) {
			s.connectedTo(t, err)
			ctx, v := s.startWatchdog(context.Background(), "/lock")
			waitsFor(ctx, "luck")
			failedTry(ctx, err)
			v.since = time.Now().Add(-time.Hour)
			s.findStalls()
		}, "it waits for luck; the last try: a user's error"},
		"a connection that ends twice on a request for a container": {func(s *Session, err error) {
			s.containersAsked = 1
			for range 2 {
				l := s.connectedTo(t, err)
				request := make([]byte, 100)
				binary.BigEndian.PutUint32(request[8:], wire.OpCreateContainer)
				_, _ = l.Write(request)
				_, _ = l.Read(request)
			}
		}, "the connection was lost twice on the request for one: a user's error"},
	} {
		t.Run(name, func(t *testing.T) {
			log := make(told, 1)
			s := unconnected(t, slog.New(log))
			go c.happens(s, inquisitive{s})
			select {
			case line := <-log:
				require.Contains(t, line, c.says)
			case <-time.After(whatHangs):
				require.FailNow(t, "it hangs")
			}
		})
	}
}

// calling is a context whose Err calls the session back.
type calling struct {
	context.Context
	s *Session
}

func (c calling) Err() error {
	c.s.ID()
	return c.Context.Err()
}

func TestAContextsErrMayCallTheSession(t *testing.T) {
	const many = 4 // so that some wait for the others
	for name, opts := range map[string][]Option{
		"a node each": nil, "a shared node": {WithHandoff(many)}, "a kept node": {WithRetention(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, err := Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, WithDialer(server.Dial))
			require.NoError(t, err)
			l, err := New(s, "/lock", opts...)
			require.NoError(t, err)
			var work sync.WaitGroup
			for range many {
				work.Go(func() {
					ctx := calling{context.Background(), s}
					_ = l.LockContext(ctx)
					_ = l.UnlockContext(ctx)
					_ = l.Do(ctx, func(context.Context) error { return nil })
					if ok, _ := l.TryLockFor(ctx, time.Second); ok {
						l.Unlock()
					}
				})
			}
			over := make(chan struct{})
			go func() {
				defer close(over)
				work.Wait()
			}()
			select {
			case <-over:
				require.NoError(t, s.Close())
			case <-time.After(whatHangs):
				require.FailNow(t, "it hangs")
			}
		})
	}
}
