package wire

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Mechanism is one of SASL, by which each connection is logged in: see zklock.SASLMechanism.
type Mechanism interface {
	Name() string
	Start(server string) (step func(challenge []byte) (response []byte, done bool, err error), err error)
}

// exchange is the login of one connection.
type exchange struct {
	mechanism string
	step      func(challenge []byte) (response []byte, done bool, err error)
}

// SASLError is why a session could not log in over a connection. It is zk.ErrAuthFailed if the server or
// the mechanism refuses, and not if the connection has ended meanwhile.
type SASLError struct {
	Mechanism, Server string
	Err               error
}

func (e SASLError) Error() string {
	return fmt.Sprintf("%s, SASL login by %s: %v", e.Server, e.Mechanism, e.Err)
}

func (e SASLError) Unwrap() error { return e.Err }

// startLogin starts the login of a connection to that server, which is yet to be made.
func (d *Dialer) startLogin(server string) (*exchange, error) {
	if d.SASL == nil {
		return nil, nil
	}
	m := d.SASL.next(d.Log)
	step, err := m.Start(server)
	if err != nil {
		return nil, SASLError{m.Name(), server, err}
	}
	return &exchange{m.Name(), step}, nil
}

// authenticate logs in, before anybody has the connection. If that fails the connection ends, and the
// session is known all the same: another attempt would make one more on the servers.
func (l *Link) authenticate() (ok bool) {
	if l.sasl == nil {
		return true
	}
	l.loggingIn.Store(true)
	began := l.dialer.Clock.Now()
	l.bearSilence(l.limit) // anew: the server answers, and may be far
	err := l.converse()
	if err == nil {
		l.loggingIn.Store(false)
		return true
	}
	if l.dialer.Clock.Now().Least(began) >= l.limit {
		l.dialer.slow.Add(1)
	}
	l.end(err)
	l.Close()
	return false
}

func (l *Link) converse() error {
	var challenge []byte
	for {
		response, done, err := l.sasl.step(challenge)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", err, zk.ErrAuthFailed)
		case done:
			return nil
		}
		if challenge, err = l.sayToken(response); err != nil {
			return err
		}
	}
}

// errMechanism is what a server says to who has shown no credentials yet.
var errMechanism = fmt.Errorf("the server refuses the mechanism (its log says why): %w", zk.ErrAuthFailed)

// xidSASL is that of a request to log in by SASL, one at a time.
const xidSASL = -5

// sayToken sends the server a token, and returns that of the answer, nil if it has none.
func (l *Link) sayToken(token []byte) ([]byte, error) {
	frame := appendInt(appendInt(make([]byte, 4), xidSASL), OpSASL)
	frame = append(appendInt(frame, int32(len(token))), token...)
	if _, err := l.Conn.Write(sized(frame)); err != nil {
		return nil, err
	}
	answer, err := l.readAnswer()
	if err != nil {
		return nil, err
	}
	in := reader{left: answer[frameHead:]}
	switch code := codeOf(answer); {
	case (code == authFailed || code == demandsSASL) && len(token) == 0:
		return nil, errMechanism
	case code == authFailed, code == demandsSASL:
		return nil, ErrRefused
	case code != 0:
		return nil, fmt.Errorf("%w (%w)", ErrRefused, errorOf(code))
	}
	if token = in.buffer(); in.err != nil || xidOf(answer) != xidSASL {
		return nil, l.malformed("an answer to a SASL login that cannot be read")
	}
	return token, nil
}
