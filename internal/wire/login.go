package wire

import (
	"bytes"
	"slices"
)

// Credential logs a session in, on every connection.
type Credential struct {
	Scheme string
	Secret []byte
}

// xidLogin is that of a login which go-zookeeper does not know of.
const xidLogin = -4

// login is a frame that logs in.
func (c Credential) login(xid int32) []byte {
	frame := appendInt(appendInt(make([]byte, xidAt), xid), OpSetAuth)
	return sized(append(frame, c.body()...))
}

// body is what go-zookeeper writes of a login, too: one without a secret is not one whose secret is
// empty.
func (c Credential) body() []byte {
	const kind = 0 // of all
	return appendBuffer(appendString(appendInt(nil, kind), c.Scheme), c.Secret)
}

// renewed returns what is written instead of a login: go-zookeeper repeats over each connection what
// the first has carried. It has the credential that stands in that one's place now, or the last if
// they are fewer; behind the last go those that have been added. A login of the user's own stays.
func (l *Link) renewed(frame []byte) []byte {
	first, now := l.dialer.Logins, l.logIn
	at := slices.IndexFunc(first, func(c Credential) bool { return bytes.Equal(c.body(), frame[opcodeAt+4:]) })
	if at < 0 || len(now) == 0 {
		return frame
	}
	renewed := now[min(at, len(now)-1)].login(xidOf(frame))
	if at == len(first)-1 {
		for _, added := range now[min(at+1, len(now)):] {
			renewed = append(renewed, added.login(xidLogin)...)
		}
	}
	return renewed
}
