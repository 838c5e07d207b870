package recipe

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A key is any string, and its lock stands below a prefix in a node that is called so. The name is the
// key with what may not stand in one as %XX, byte by byte; what no key gives begins with a % and no
// hexadecimal digit behind it.
const (
	// LongestKeyName bounds the names: a longer one has the key's hash, and the node says the key.
	LongestKeyName = 200

	// LongestKey bounds the keys that are said by a node.
	LongestKey = 1 << 16

	emptyKey  = "%"
	hashedKey = "%sha256-"
)

// KeyName returns the name of key's node, and what the node has to say for that to be a KeyOf it: nil
// if the name is enough.
func KeyName(key string) (name string, says []byte) {
	if name = escapeKey(key); len(name) <= LongestKeyName {
		return name, nil
	}
	return hashedName(key), []byte(key)
}

// hashedName ends so that it is no lock node's name.
func hashedName(key string) string {
	return fmt.Sprintf("%s%x-", hashedKey, sha256.Sum256([]byte(key)))
}

func escapeKey(key string) string {
	var b strings.Builder
	for rest := key; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == '/' || r == '%' || refused(r) { // as utf8.RuneError is
			for i := range size {
				escapeByte(&b, rest[i])
			}
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	name := b.String()
	switch {
	case name == "":
		return emptyKey
	case name == ".", name == "..", isOfLock(name):
		last := len(name) - 1
		b.Reset()
		b.WriteString(name[:last])
		escapeByte(&b, name[last])
		return b.String()
	}
	return name
}

// isOfLock reports whether a child of that name may be taken for a part of a lock or a semaphore on the
// path above it.
func isOfLock(name string) bool {
	_, contends := Parse(name)
	return contends || IsPermit(name) || name == Turns || name == Permits
}

func escapeByte(b *strings.Builder, c byte) { fmt.Fprintf(b, "%%%02X", c) }

// KeyIsSaid reports whether a node of that name says its key.
func KeyIsSaid(name string) bool { return strings.HasPrefix(name, hashedKey) }

// KeyOf returns the key of the node of that name, which says that; false if it is no key's.
func KeyOf(name string, says []byte) (key string, ok bool) {
	key = unescapeKey(name)
	if KeyIsSaid(name) {
		key = string(says)
	}
	made, _ := KeyName(key)
	return key, made == name
}

// unescapeKey returns the key that escapeKey has made name of, or one that has another name.
func unescapeKey(name string) (key string) {
	var b strings.Builder
	for {
		plain, rest, escaped := strings.Cut(name, "%")
		b.WriteString(plain)
		if !escaped {
			return b.String()
		}
		if len(rest) < 2 {
			return ""
		}
		c, _ := strconv.ParseUint(rest[:2], 16, 8)
		b.WriteByte(byte(c))
		name = rest[2:]
	}
}

// MostStripes bounds how many locks the keys of a prefix share.
const MostStripes = 1 << 16

// StripeOf returns which of n stripes is key's: the first eight bytes of its SHA-256 as a number, modulo
// n. All processes have to agree on that, so that it stays as it is.
func StripeOf(key string, n int) int {
	sum := sha256.Sum256([]byte(key))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(n))
}

const stripeForm = "%%stripe-%d-of-%d"

// StripeName returns the name of the node of a stripe, which no key's node has.
func StripeName(stripe, n int) string { return fmt.Sprintf(stripeForm, stripe, n) }
