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

// Attempt is what has become of an attempt to connect to a server that took the connection. All that
// goes wrong then looks alike from here, an EOF or nothing: the text names what is likely.
type Attempt struct {
	Server string
	Sent   sent          // last
	After  time.Duration // that it has ended
	Err    error         // how it ended; nil if the server may answer yet
}

// sent is what a server has to answer.
type sent string

const (
	nothing        sent = "the connection was made" // some systems tell the dial of its end
	connectRequest sent = "the connect request"
	helloOfTLS     sent = "the TLS hello"
	requestOverTLS sent = "the connect request over TLS"
)

func (a Attempt) Error() string { return a.Server + " " + a.What() }

func (a Attempt) Unwrap() error { return a.Err }

// What says what the server has done.
func (a Attempt) What() string {
	var late net.Error
	var op *net.OpError
	var answer foreign
	switch {
	case a.Err == nil:
		return fmt.Sprintf("has not answered %s", a.Sent)
	case errors.As(a.Err, &answer):
		return fmt.Sprintf("is no ZooKeeper server: its answer to %s begins with %q%s", a.Sent, string(answer), answer.speaks())
	case errors.As(a.Err, new(tls.RecordHeaderError)):
		return fmt.Sprintf("has answered %s without TLS: that may be its port for plain connections", a.Sent)
	case errors.As(a.Err, &op) && op.Op == "remote error": // an alert: in TLS 1.3 the server judges our certificate last
		return fmt.Sprintf("has refused %s: %v", a.Sent, a.Err)
	case errors.As(a.Err, &late) && late.Timeout():
		return fmt.Sprintf("has not answered %s for %d ms: it may hang, or be overloaded,%s or be no ZooKeeper server", a.Sent, a.After.Milliseconds(), a.Sent.expects())
	}
	because := ""
	if !hungUp(a.Err) {
		because = fmt.Sprintf(" (%v)", a.Err)
	}
	return fmt.Sprintf("hung up %d ms after %s, without an answer%s: it may have no majority, or as many connections from here as maxClientCnxns allows,%s or be a proxy without a server behind it",
		a.After.Milliseconds(), a.Sent, because, a.Sent.expects())
}

// expects says what the server may expect instead.
func (s sent) expects() string {
	switch s {
	case helloOfTLS:
		return " or expect no TLS, or lack what its own TLS needs (see its log),"
	case nothing, connectRequest:
		return " or expect TLS,"
	}
	return "" // they have agreed on TLS
}

// foreign is the beginning of an answer to the connect request that is no ZooKeeper server's.
type foreign string

func (f foreign) Error() string { return fmt.Sprintf("the answer begins with %q", string(f)) }

// speaks says what protocol the answer is of.
func (f foreign) speaks() string {
	switch {
	case strings.HasPrefix(string(f), "\x15\x03"): // an alert
		return ", which is TLS: it may expect that"
	case strings.HasPrefix(string(f), "HTTP/"):
		return ", which is HTTP: the port may be another one"
	}
	return ""
}

// request is how a server is asked for a session.
func (d *Dialer) request() sent {
	if d.TLS != nil {
		return requestOverTLS
	}
	return connectRequest
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

// saysLittle reports whether an error of a TLS handshake does not say what is wrong.
func saysLittle(err error) bool {
	return hungUp(err) || errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, context.DeadlineExceeded)
}
