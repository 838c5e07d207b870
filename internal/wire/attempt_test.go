package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

func TestAnAttemptToConnectSaysWhatWasSentAndWhatCame(t *testing.T) {
	const hungUp = "zk1:2181 hung up 3 ms after the connect request, without an answer"
	const likely = ": it may have no majority, or as many connections from here as maxClientCnxns allows, or expect TLS, or be a proxy without a server behind it"
	for want, a := range map[string]Attempt{
		"zk1:2181 hung up 3 ms after the connection was made, without an answer" + likely: {Sent: nothing, Err: &net.OpError{Op: "dial", Err: syscall.EPIPE}},
		"zk1:2181 has not answered the connect request":                                   {Sent: connectRequest},
		hungUp + likely:                         {Sent: connectRequest, Err: io.EOF},
		hungUp + " (the cable is out)" + likely: {Sent: connectRequest, Err: errors.New("the cable is out")},
		"zk1:2181 has not answered the connect request for 3 ms: it may hang, or be overloaded, or expect TLS, or be no ZooKeeper server":                                            {Sent: connectRequest, Err: os.ErrDeadlineExceeded},
		"zk1:2181 has not answered the TLS hello for 3 ms: it may hang, or be overloaded, or expect no TLS, or lack what its own TLS needs (see its log), or be no ZooKeeper server": {Sent: helloOfTLS, Err: context.DeadlineExceeded},
		"zk1:2181 hung up 3 ms after the TLS hello, without an answer: it may have no majority, or as many connections from here as maxClientCnxns allows, or expect no TLS, or lack what its own TLS needs (see its log), or be a proxy without a server behind it": {
			Sent: helloOfTLS, Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		},
		"zk1:2181 hung up 3 ms after the connect request over TLS, without an answer: it may have no majority, or as many connections from here as maxClientCnxns allows, or be a proxy without a server behind it": {
			Sent: requestOverTLS, Err: io.EOF,
		},
		"zk1:2181 has not answered the connect request over TLS for 3 ms: it may hang, or be overloaded, or be no ZooKeeper server": {Sent: requestOverTLS, Err: os.ErrDeadlineExceeded},
		"zk1:2181 has refused the connect request over TLS: remote error: tls: certificate required": {
			Sent: requestOverTLS, Err: &net.OpError{Op: "remote error", Err: tls.AlertError(116)},
		},
		"zk1:2181 has answered the TLS hello without TLS: that may be its port for plain connections":                                               {Sent: helloOfTLS, Err: tls.RecordHeaderError{}},
		`zk1:2181 is no ZooKeeper server: its answer to the connect request begins with "\x15\x03\x03", which is TLS: it may expect that`:           {Sent: connectRequest, Err: foreign("\x15\x03\x03")},
		`zk1:2181 is no ZooKeeper server: its answer to the connect request begins with "HTTP/1.1 400", which is HTTP: the port may be another one`: {Sent: connectRequest, Err: foreign("HTTP/1.1 400")},
		`zk1:2181 is no ZooKeeper server: its answer to the connect request begins with "220 smtp"`:                                                 {Sent: connectRequest, Err: foreign("220 smtp")},
	} {
		a.Server, a.After = "zk1:2181", 3*ms
		require.EqualError(t, a, want)
		require.Equal(t, a.Err, errors.Unwrap(a))
	}
}

func TestAServerThatDoesNotAnswerTheConnectRequestIsToldOfByWhatItDid(t *testing.T) {
	for name, tc := range map[string]struct {
		left  time.Duration // a lease goes on
		tls   bool
		does  func(l *line)
		after time.Duration
		ends  error
	}{
		"it hangs up":                       {does: func(l *line) { l.server.Close() }, after: 3 * ms, ends: io.EOF},
		"it hangs up behind half an answer": {does: func(l *line) { l.says(hello(1)[:10]); l.server.Close() }, after: 3 * ms, ends: io.EOF},
		"it hangs":                          {does: func(*line) {}, after: 1000 * ms, ends: os.ErrDeadlineExceeded},
		"it speaks another protocol":        {does: func(l *line) { l.says([]byte("220 smtp")) }, after: 3 * ms, ends: foreign("220 smtp")},
		"it hangs up over TLS":              {tls: true, does: func(l *line) { l.server.Close() }, after: 3 * ms, ends: io.EOF},
		"it hangs up on the length":         {left: 8000 * ms, does: func(l *line) { l.server.Close() }, after: 3 * ms, ends: io.EOF},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			a := &audience{pressed: pressed{id: 1, timeout: 8000 * ms, left: tc.left}}
			l := plugged(t, a).dialed()
			sent := connectRequest
			if tc.tls {
				sent, l.dialer.TLS = requestOverTLS, always(new(tls.Config))
			}
			time.AfterFunc(3*ms, func() {
				l.dialer.Clock.Step(time.Hour) // the machine sleeps, which is no time of the server's
				tc.does(l)
			})
			if _, err := l.Write(ask); err == nil {
				_, err := l.Read(make([]byte, 4))
				require.Error(t, err)
			}
			told := a.cause.(Attempt)
			require.Equal(t, Attempt{"a:2181", sent, tc.after, told.Err}, told)
			require.ErrorIs(t, told, tc.ends)
		})
	}
}
