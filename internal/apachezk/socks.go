package apachezk

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
)

// socksRequest is a request or a reply of SOCKS version 5 (RFC 1928), in the
// one form that Java uses for an IPv4 address.
type socksRequest struct {
	Version, Command, Reserved, AddressType byte
	Address                                 [4]byte
	Port                                    uint16
}

const (
	socksVersion     = 5
	socksWithoutAuth = 0
	socksConnect     = 1
	socksIPv4        = 1
	socksSucceeded   = 0
	socksRefused     = 5
)

// acceptSocks returns the address to which conn asks to be connected. A reply
// is due.
func acceptSocks(conn io.ReadWriter) (netip.AddrPort, error) {
	var greeting struct{ Version, Methods byte }
	if err := binary.Read(conn, binary.BigEndian, &greeting); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	if _, err := io.CopyN(io.Discard, conn, int64(greeting.Methods)); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	if _, err := conn.Write([]byte{socksVersion, socksWithoutAuth}); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	var request socksRequest
	if err := binary.Read(conn, binary.BigEndian, &request); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks request: %w", err)
	}
	if request.Version != socksVersion || request.Command != socksConnect || request.AddressType != socksIPv4 {
		return netip.AddrPort{}, fmt.Errorf("socks request is not for an IPv4 connection: %+v", request)
	}
	return netip.AddrPortFrom(netip.AddrFrom4(request.Address), request.Port), nil
}

func replySocks(conn io.Writer, status byte) error {
	reply := socksRequest{Version: socksVersion, Command: status, AddressType: socksIPv4}
	return binary.Write(conn, binary.BigEndian, reply)
}
