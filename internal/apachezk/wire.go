package apachezk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Operation codes of ZooKeeper's protocol.
const (
	opSync         = 9
	opCloseSession = -11
)

// errNoSession is the server's refusal of a session, for it is over or the
// password is wrong.
var errNoSession = errors.New("session unknown to the server")

// session is the client's end of a connection with a ZooKeeper session: just
// enough of the protocol for a probe.
type session struct {
	conn   net.Conn
	detach func() bool // from the context of openSession
	xid    int32
}

type connectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeOut         int32
	SessionID       int64
	PasswordLength  int32
	Password        [16]byte
	ReadOnly        bool
}

type connectResponse struct {
	ProtocolVersion int32
	TimeOut         int32
	SessionID       int64
}

// openSession connects to addr and opens a session there, or resumes the
// session id if that is not zero. The end of ctx breaks the connection.
func openSession(ctx context.Context, addr string, timeout time.Duration, id int64) (*session, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, detach: context.AfterFunc(ctx, func() { conn.Close() })}
	if err := s.handshake(timeout, id); err != nil {
		s.disconnect()
		return nil, orCause(ctx, err)
	}
	return s, nil
}

func (s *session) disconnect() {
	s.detach()
	s.conn.Close()
}

// close ends the session, and with it the connection.
func (s *session) close() error {
	defer s.disconnect()
	return s.request(opCloseSession)
}

// sync waits until the server has caught up with its leader.
func (s *session) sync() error {
	const path = "/"
	return s.request(opSync, int32(len(path)), []byte(path))
}

func (s *session) handshake(timeout time.Duration, id int64) error {
	request := connectRequest{TimeOut: int32(timeout.Milliseconds()), SessionID: id, PasswordLength: 16}
	if id != 0 {
		request.Password = sessionPassword(id)
	}
	if err := s.send(request); err != nil {
		return err
	}
	reply, err := s.receive()
	if err != nil {
		return err
	}
	var response connectResponse
	if err := binary.Read(bytes.NewReader(reply), binary.BigEndian, &response); err != nil {
		return fmt.Errorf("connect response: %w", err)
	}
	if response.TimeOut <= 0 {
		return errNoSession
	}
	return nil
}

// request sends one operation and waits for its reply.
func (s *session) request(op int32, body ...any) error {
	s.xid++
	if err := s.send(append([]any{s.xid, op}, body...)...); err != nil {
		return err
	}
	for {
		reply, err := s.receive()
		if err != nil {
			return err
		}
		var header struct {
			Xid  int32
			Zxid int64
			Err  int32
		}
		if err := binary.Read(bytes.NewReader(reply), binary.BigEndian, &header); err != nil {
			return fmt.Errorf("reply header: %w", err)
		}
		if header.Xid != s.xid {
			continue
		}
		if header.Err != 0 {
			return fmt.Errorf("operation %d: ZooKeeper error %d", op, header.Err)
		}
		return nil
	}
}

// send writes the fields, each of a fixed size or bytes, as one frame.
func (s *session) send(fields ...any) error {
	frame := bytes.NewBuffer(make([]byte, 4))
	for _, field := range fields {
		if err := binary.Write(frame, binary.BigEndian, field); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	binary.BigEndian.PutUint32(frame.Bytes(), uint32(frame.Len()-4))
	_, err := s.conn.Write(frame.Bytes())
	return err
}

func (s *session) receive() ([]byte, error) {
	var size uint32
	if err := binary.Read(s.conn, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size > 1<<20 {
		return nil, fmt.Errorf("reply of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(s.conn, frame)
	return frame, err
}
