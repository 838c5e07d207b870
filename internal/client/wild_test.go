package client

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/protocol"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
)

// wild is a server that answers each connect request and then each other one as it is told.
type wild struct{ greeting, answer []byte }

func (w wild) dial(string, string, time.Duration) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		says := w.greeting
		for {
			if _, err := protocol.ReadFrame(theirs); err != nil {
				return
			}
			if _, err := theirs.Write(says); err != nil {
				return
			}
			says = w.answer
		}
	}()
	return ours, nil
}

func numbers(ns ...int32) (b []byte) {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// greeting is the answer to a connect request.
var greeting = append(numbers(greetingLength, 0, 20_000, 0, 1, passwordLength), make([]byte, passwordLength)...)

const greetingLength, passwordLength = 36, 16

func TestConnectAndCloseEndSoonWhateverAServerSays(t *testing.T) {
	const limit = 3 * time.Second
	for name, w := range map[string]wild{
		"nothing":                       {},
		"the length of an answer":       {greeting: greeting[:4]},
		"half an answer":                {greeting: greeting[:greetingLength/2]},
		"another protocol":              {greeting: []byte("HTTP/1.1 400 Bad Request\r\n")},
		"a password that is cut off":    {greeting: append(numbers(greetingLength, 0, 20_000, 0, 1, passwordLength+1), make([]byte, passwordLength)...)},
		"that the session is over":      {greeting: append(numbers(greetingLength, 0, 20_000, 0, 0, passwordLength), make([]byte, passwordLength)...)},
		"nothing after its greeting":    {greeting: greeting},
		"a half frame":                  {greeting, numbers(16, 1, 0)},
		"a short frame":                 {greeting, numbers(12, 77, 0, 0)},
		"the length of a huge frame":    {greeting, numbers(64<<20 + 1)},
		"an answer to nobody's request": {greeting, numbers(16, 77, 0, 0, 0)},
		"an event without a path":       {greeting, numbers(24, -1, 0, 0, 0, 1, 3)},
		"an answer without its body":    {greeting, numbers(16, 1, 0, 0, 0)},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: w.dial})
			c.Observe(nobody{})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			err := c.Connect(ctx, []string{"a:2181", "b:2181"}, nil)
			require.LessOrEqual(t, time.Since(began), limit)
			if !slices.Equal(w.greeting, greeting) {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return
			}
			require.NoError(t, err)
			c.Background(func() error { _, _, err := c.Conn.Exists("/"); return err })
			time.Sleep(limit)
			began = time.Now()
			require.ErrorContains(t, c.Close(RequestPatience), "no server confirmed it: ")
			require.LessOrEqual(t, time.Since(began), 2*RequestPatience)
		})
	}
}
