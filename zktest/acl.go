package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ACL grants permissions to an identity of a scheme.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

const (
	permRead   int32 = 1
	permWrite  int32 = 2
	permCreate int32 = 4
	permDelete int32 = 8
	permAdmin  int32 = 16
	permAll    int32 = 31
)

var (
	openACL = []ACL{{Perms: permAll, Scheme: "world", ID: "anyone"}}
	readACL = []ACL{{Perms: permRead, Scheme: "world", ID: "anyone"}}
)

// identity is what a connection has proved to be.
type identity struct{ scheme, id string }

// digestIdentity turns "user:password" into what ACLs name: user, colon, base64 of the SHA-1 of the whole.
func digestIdentity(credentials []byte) identity {
	user, _, _ := strings.Cut(string(credentials), ":")
	sum := sha1.Sum(credentials)
	return identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// fixACL validates the ACL of a request and replaces "auth" by the identities of the requester, as
// PrepRequestProcessor.fixupACL does.
func (s *settings) fixACL(list []ACL, who []identity) ([]ACL, code) {
	var fixed []ACL
	for i, a := range list {
		if slices.Contains(list[:i], a) {
			continue
		}
		switch {
		case a.Scheme == "world" && a.ID == "anyone":
			fixed = append(fixed, a)
		case a.Scheme == "auth":
			// The address a client comes from is an identity too, but not one that it authenticated.
			before := len(fixed)
			for _, id := range who {
				if id.scheme != "ip" {
					fixed = append(fixed, ACL{a.Perms, id.scheme, id.id})
				}
			}
			if len(fixed) == before {
				return nil, invalidACL
			}
		case s.validID(a):
			fixed = append(fixed, a)
		default:
			return nil, invalidACL
		}
	}
	if len(fixed) == 0 {
		return nil, invalidACL
	}
	return fixed, ok
}

func (s *settings) validID(a ACL) bool {
	switch a.Scheme {
	case "digest":
		return strings.Count(strings.TrimRight(a.ID, ":"), ":") == 1
	case "ip":
		p := ipPrefix(a.ID)
		return p.IsValid() && (p.Addr().Is4() || s.since(9))
	}
	return false
}

// ipPrefix reads the ID of scheme ip. IPAuthenticationProvider takes numbers as Integer.parseInt does: 01 and +8 are some. It
// knows IPv6 since 3.9.
func ipPrefix(id string) netip.Prefix {
	addr, length, cut := strings.Cut(id, "/")
	v6, _ := netip.ParseAddr(addr)
	isV6 := v6.Is6() && !v6.Is4In6() && v6.Zone() == ""
	switch {
	case !cut && isV6:
		length = "128"
	case !cut:
		length = "32"
	}
	bits, err := strconv.Atoi(length)
	if isV6 && err == nil {
		return netip.PrefixFrom(v6, bits)
	}
	parts := strings.Split(addr, ".")
	if err != nil || len(parts) != 4 {
		return netip.Prefix{}
	}
	var v4 [4]byte
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return netip.Prefix{}
		}
		v4[i] = byte(n)
	}
	return netip.PrefixFrom(netip.AddrFrom4(v4), bits)
}

// permitted reports whether any of perms is granted to one of who.
func permitted(list []ACL, perms int32, who []identity) bool {
	for _, a := range list {
		if a.Perms&perms == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID == "anyone" {
			return true
		}
		if slices.ContainsFunc(who, func(id identity) bool { return matches(id, a) }) {
			return true
		}
	}
	return false
}

func matches(id identity, a ACL) bool {
	if id.scheme != a.Scheme {
		return false
	}
	if id.scheme == "ip" {
		addr, err := netip.ParseAddr(id.id)
		return err == nil && ipPrefix(a.ID).Contains(addr)
	}
	return id.id == a.ID
}

// masked hides the password hashes from those who may read an ACL but not change it.
func masked(list []ACL) []ACL {
	list = slices.Clone(list)
	for i, a := range list {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			list[i].ID = user + ":x"
		}
	}
	return list
}
