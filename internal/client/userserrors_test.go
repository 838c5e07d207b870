package client

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inquisitive is code of a user that calls the session back.
type inquisitive struct{ c *Client }

func (e inquisitive) Error() string   { return e.ask("a user's error") }
func (e inquisitive) Timeout() bool   { return e.ask("") != "" }
func (e inquisitive) Temporary() bool { return false }
func (e inquisitive) Is(error) bool   { return e.ask("") != "" }
func (e inquisitive) Unwrap() error   { e.ask(""); return nil }

func (e inquisitive) ask(answer string) string {
	e.c.ID()
	_, v := e.c.WatchOver(context.Background(), "/another")
	v.End()
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
	for name, how := range map[string]struct {
		happens func(c *Client, err error)
		says    string
	}{
		"a call that has no connection": {func(c *Client, err error) {
			_, v := c.WatchOver(context.Background(), "/lock")
			(*connections)(c).Failed(err)
			v.since = c.Clock.Now().Add(-time.Hour)
			c.stalls.find()
		}, "there is no connection: a user's error"},
		"a call whose tries fail": {func(c *Client, err error) {
			c.connectedTo(t, err)
			ctx, v := c.WatchOver(context.Background(), "/lock")
			WaitsFor(ctx, "luck")
			FailedTry(ctx, err)
			v.since = c.Clock.Now().Add(-time.Hour)
			c.stalls.find()
		}, "it waits for luck; the last try: a user's error"},
	} {
		t.Run(name, func(t *testing.T) {
			log := make(told, 1)
			c := unconnected(t, slog.New(log))
			go how.happens(c, inquisitive{c})
			select {
			case line := <-log:
				require.Contains(t, line, how.says)
			case <-time.After(whatHangs):
				require.FailNow(t, "it hangs")
			}
		})
	}
}
