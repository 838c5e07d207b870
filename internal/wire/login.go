package wire

import (
	"bytes"
	"encoding/binary"
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
	body := c.body()
	frame := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(xid))
	frame = binary.BigEndian.AppendUint32(frame, uint32(OpSetAuth))
	return append(frame, body...)
}

func (c Credential) body() []byte {
	body := make([]byte, 4) // a type, which is always 0
	body = binary.BigEndian.AppendUint32(body, uint32(len(c.Scheme)))
	body = append(body, c.Scheme...)
	body = binary.BigEndian.AppendUint32(body, uint32(len(c.Secret)))
	return append(body, c.Secret...)
}

// renewed returns what is written instead of a login: go-zookeeper repeats over each connection what
// the first has carried. It has the credential that stands in that one's place now, or the last if
// they are fewer; behind the last go those that have been added. A login of the user's own stays.
func (l *Link) renewed(frame []byte) []byte {
	const xidAt, bodyAt = 4, 12
	first, now := l.dialer.Logins, l.logIn
	at := slices.IndexFunc(first, func(c Credential) bool { return bytes.Equal(c.body(), frame[bodyAt:]) })
	if at < 0 || len(now) == 0 {
		return frame
	}
	renewed := now[min(at, len(now)-1)].login(int32(binary.BigEndian.Uint32(frame[xidAt:])))
	if at == len(first)-1 {
		for _, added := range now[min(at+1, len(now)):] {
			renewed = append(renewed, added.login(xidLogin)...)
		}
	}
	return renewed
}
