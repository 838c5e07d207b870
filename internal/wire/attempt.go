package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// Attempt is what has become of an attempt to connect to a server that took the connection: what it
// was sent, and what came. All that goes wrong in between looks alike from here, an EOF or nothing:
// the text names what is likely.
type Attempt struct {
	Server string
	Sent   sent          // last
	After  time.Duration // that it has ended
	Answer string        // the beginning of one that is no ZooKeeper server's
	Err    error         // how it ended; nil if the server may answer yet
}

// sent is what a server has to answer.
type sent string

const (
	nothing        sent = "the connection was made" // the dial itself has the end of it
	connectRequest sent = "the connect request"
	helloOfTLS     sent = "the TLS hello"
	requestOverTLS sent = "the connect request over TLS"
)

func (a Attempt) Error() string { return a.Server + " " + a.What() }

func (a Attempt) Unwrap() error { return a.Err }

// Waits reports whether the server may answer yet.
func (a Attempt) Waits() bool { return a.Err == nil && a.Answer == "" }

// What says what the server has done.
func (a Attempt) What() string {
	var late net.Error
	var op *net.OpError
	switch {
	case a.Answer != "":
		return fmt.Sprintf("is no ZooKeeper server: its answer to %s begins with %q%s", a.Sent, a.Answer, a.speaks())
	case a.Err == nil:
		return fmt.Sprintf("has not answered %s", a.Sent)
	case errors.As(a.Err, new(tls.RecordHeaderError)):
		return fmt.Sprintf("has answered %s without TLS: that may be its port for plain connections", a.Sent)
	case errors.As(a.Err, &op) && op.Op == "remote error": // an alert: in TLS 1.3 the server judges our certificate last
		return fmt.Sprintf("has refused %s: %v", a.Sent, a.Err)
	case errors.As(a.Err, &late) && late.Timeout():
		return fmt.Sprintf("has not answered %s for %s: it may hang, or be overloaded,%s or be no ZooKeeper server", a.Sent, a.after(), a.expects())
	}
	return fmt.Sprintf("hung up %s after %s, without an answer%s: it may have no majority, or as many connections from here as maxClientCnxns allows,%s or be a proxy without a server behind it",
		a.after(), a.Sent, a.because(), a.expects())
}

func (a Attempt) after() string { return fmt.Sprintf("%d ms", a.After.Milliseconds()) }

// because says how the connection ended, if that is not how a server usually hangs up.
func (a Attempt) because() string {
	if hungUp(a.Err) {
		return ""
	}
	return fmt.Sprintf(" (%v)", a.Err)
}

// expects says what the server may expect instead.
func (a Attempt) expects() string {
	switch a.Sent {
	case helloOfTLS:
		return " or expect no TLS, or lack what its own TLS needs (see its log),"
	case requestOverTLS: // they have agreed on it
		return ""
	}
	return " or expect TLS,"
}

// speaks says what protocol the answer is of.
func (a Attempt) speaks() string {
	switch {
	case strings.HasPrefix(a.Answer, "\x15\x03"): // an alert
		return ", which is TLS: it may expect that"
	case strings.HasPrefix(a.Answer, "HTTP/"):
		return ", which is HTTP: the port may be another one"
	}
	return ""
}

// foreign is the beginning of an answer to the connect request that is no ZooKeeper server's.
type foreign string

func (f foreign) Error() string { return fmt.Sprintf("the answer begins with %q", string(f)) }

// request is how a server is asked for a session.
func (d *Dialer) request() sent {
	if d.TLS != nil {
		return requestOverTLS
	}
	return connectRequest
}

// attempted returns what has become of the attempt that l was, if cause has ended it.
func (l *Link) attempted(cause error) (a Attempt, is bool) {
	if l.greeted.Load() || cause == net.ErrClosed { // by ourselves
		return a, false
	}
	a = Attempt{Server: l.Server, Sent: l.dialer.request(), After: l.dialer.Clock.Now().Least(l.begun), Err: cause}
	if answer, is := cause.(foreign); is {
		a.Answer = string(answer)
	}
	return a, true
}

// attemptedTLS returns what has become of an attempt to agree on TLS; err itself if that says it.
func attemptedTLS(address string, after time.Duration, err error) error {
	if hungUp(err) || errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, context.DeadlineExceeded) {
		return Attempt{Server: address, Sent: helloOfTLS, After: after, Err: err}
	}
	return err
}

// attemptedDial returns what has become of a dial: some systems find a connection already ended.
func attemptedDial(address string, err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return Attempt{Server: address, Sent: nothing, Err: err}
	}
	return err
}

// hungUp reports whether a connection has ended as it does when the other end closes it.
func hungUp(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
