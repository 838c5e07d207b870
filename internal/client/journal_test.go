package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// book is a log handler that keeps what it is told.
type book struct {
	mu    sync.Mutex // guards lines
	lines []string
	slow  chan struct{} // each line waits for a value, if this is not nil
}

func (b *book) Enabled(context.Context, slog.Level) bool { return true }
func (b *book) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *book) WithGroup(string) slog.Handler            { return b }

func (b *book) Handle(_ context.Context, r slog.Record) error {
	if b.slow != nil {
		<-b.slow
	}
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
	return nil
}

// all returns the lines since the last call.
func (b *book) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines = nil
	return lines
}

func TestTheLogIsWrittenInOrderAndWholeWhenItIsClosed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := &book{slow: make(chan struct{})}
		j := &Journal{logger: slog.New(b)}
		j.Debug("a", "of", 1)
		j.Info("b")
		j.Warn("c")
		j.Error("d", "of", 2)
		j.Printf("from %s", "go-zookeeper")
		closed := make(chan struct{})
		go func() { j.close(); close(closed) }()
		synctest.Wait()
		j.Error("what comes later is not written")
		for range 5 {
			select {
			case <-closed:
				require.Fail(t, "it is closed before all is written")
			default:
			}
			b.slow <- struct{}{}
		}
		<-closed
		require.Equal(t, []string{"DEBUG a of=1", "INFO b", "WARN c", "ERROR d of=2", "DEBUG zk: from go-zookeeper"}, b.all())
	})
}

func TestALogThatIsNotReadDropsWhatDoesNotFitAndSaysHowMuch(t *testing.T) {
	const fits = 1 + 1000 // one is being written
	for name, tc := range map[string]struct {
		more   int
		closes bool
	}{"before the next line": {1, false}, "at the end": {5, true}} {
		virtual.Run(t, name, func(t *testing.T) {
			b := &book{slow: make(chan struct{})}
			j := &Journal{logger: slog.New(b)}
			j.Info("0")
			synctest.Wait()
			var want []string
			for i := range fits + tc.more {
				if i > 0 {
					j.Info(fmt.Sprint(i))
				}
				if i < fits {
					want = append(want, fmt.Sprint("INFO ", i))
				}
			}
			for range fits {
				b.slow <- struct{}{}
			}
			synctest.Wait()
			close(b.slow)
			want = append(want, fmt.Sprint("WARN zklock: messages were dropped dropped=", tc.more))
			if !tc.closes {
				j.Info("next")
				j.Info("and one more")
				want = append(want, "INFO next", "INFO and one more")
			}
			j.close()
			require.Equal(t, want, b.all())
		})
	}
}

// warnings returns those of the lines since the last call.
func (b *book) warnings() []string {
	return slices.DeleteFunc(b.all(), func(line string) bool { return !strings.HasPrefix(line, "WARN ") })
}

// Whoever may create a node, or runs a server, would write lines of a log, or fill it.
func TestALineQuotesAndCutsWhatOthersHaveSaid(t *testing.T) {
	b := new(book)
	j := &Journal{logger: slog.New(b)}
	forged := "/lock\nzklock: all is well\x1b[2J" + strings.Repeat("x", 600_000)
	refused := fmt.Errorf("the server said %s: %w", forged, ErrClosed)
	j.Warn("zklock: lock lost", "node", forged, "nodes", []string{"/a", forged}, "nodes", slices.Repeat([]string{"/a"}, 600_000), "cause", refused)
	j.Printf("failed to connect to %s", forged)
	j.close()
	lines := b.all()
	require.Len(t, lines, 2)
	for _, line := range lines {
		require.Less(t, len(line), 5000)
		require.NotContains(t, line, "\n")
	}
	for _, value := range []any{forged, []string{forged}, slices.Repeat([]string{"/a"}, 600_000), refused} {
		shown := fmt.Sprint(Plainly(value))
		require.Less(t, len(shown), 1200)
		require.NotContains(t, shown, "\n")
		require.NotContains(t, shown, "\x1b")
	}
	require.Contains(t, fmt.Sprint(Plainly(forged)), `/lock\x0azklock: all is well\x1b[2J`)
	require.Contains(t, fmt.Sprint(Plainly(make([]string, 11))), "and 1 more")
	require.Equal(t, []string{"/a", `/b\x0ac`}, Plainly([]string{"/a", "/b\nc"}))
	require.ErrorIs(t, Plainly(refused).(error), ErrClosed)
	require.Equal(t, 7, Plainly(7))
	fits := strings.Repeat("x", longestValue)
	for more, whole := range map[string]bool{"": true, "x": false} {
		value := fits + more
		require.Equal(t, whole, Plainly(value) == value)
		require.Equal(t, whole, Plainly([]string{value}).([]string)[0] == value)
		require.Equal(t, whole, Plainly(errors.New(value)).(error).Error() == value)
		j = &Journal{logger: slog.New(b)}
		j.Printf("%s", value[len("zk: "):])
		j.close()
		require.Equal(t, whole, b.all()[0] == "DEBUG zk: "+value[len("zk: "):])
	}
}
