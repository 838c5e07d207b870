package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/pflag"

	"github.com/zklock/zklock"
)

// accessList is a flag's value: who may use the nodes that are made.
type accessList struct {
	text string
	list []zk.ACL // nil for everybody
}

// The lists that have a word.
const (
	openToAll   = "open"
	creatorOnly = "creator"
)

func (a *accessList) flag(flags *pflag.FlagSet) {
	flags.Var(a, "acl", "who may use the lock's nodes: open (the default), creator (who has the credentials of --auth-file, or --sasl-user), or a list as scheme:id:cdrwa,...")
}

func (a *accessList) Set(text string) error {
	list := []zk.ACL(nil)
	switch text {
	case openToAll:
	case creatorOnly:
		list = zk.AuthACL(zk.PermAll)
	default:
		for entry := range strings.SplitSeq(text, ",") {
			one, err := access(entry)
			if err != nil {
				return err
			}
			list = append(list, one)
		}
	}
	a.text, a.list = text, list
	return nil
}

// permissions are their letters, as zkCli.sh writes them.
var permissions = map[rune]int32{'c': zk.PermCreate, 'd': zk.PermDelete, 'r': zk.PermRead, 'w': zk.PermWrite, 'a': zk.PermAdmin}

// access reads one entry of a list. An id may have colons.
func access(entry string) (zk.ACL, error) {
	wrong := func(what string) error {
		return fmt.Errorf("%q: %s: write open, creator, or scheme:id:permissions such as digest:user:hash:cdrwa", entry, what)
	}
	scheme, rest, _ := strings.Cut(entry, ":")
	at := strings.LastIndexByte(rest, ':')
	switch {
	case at < 0:
		return zk.ACL{}, wrong("it has no three parts")
	case scheme == "":
		return zk.ACL{}, wrong("it has no scheme")
	case at == len(rest)-1:
		return zk.ACL{}, wrong("it has no permissions")
	}
	var perms int32
	for _, letter := range rest[at+1:] {
		perm, known := permissions[letter]
		if !known {
			return zk.ACL{}, wrong(fmt.Sprintf("%q is none of the permissions c, d, r, w, a", letter))
		}
		perms |= perm
	}
	return zk.ACL{Scheme: scheme, ID: rest[:at], Perms: perms}, nil
}

func (a *accessList) Type() string   { return "list" }
func (a *accessList) String() string { return a.text }

// isList reports whether the list is one that the user has written, which may keep ourselves out.
func (a *accessList) isList() bool { return a.list != nil && a.text != creatorOnly }

// needsCredentials reports whether the list names whoever is logged in.
func (a *accessList) needsCredentials() bool {
	return slices.ContainsFunc(a.list, func(entry zk.ACL) bool { return entry.Scheme == "auth" })
}

func (a *accessList) options() []zklock.Option {
	if a.list == nil {
		return nil
	}
	return []zklock.Option{zklock.WithACL(a.list)}
}
