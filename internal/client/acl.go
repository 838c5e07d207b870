package client

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ErrShutOut says that a call has not let itself in.
var ErrShutOut = errors.New("nothing was created")

// ExplainACL adds to a refusal what may be wrong with the access list that was sent.
func ExplainACL(err error, acl []zk.ACL) error {
	switch {
	case Answers(err, ErrShutOut):
		return fmt.Errorf("the call's own ACL keeps its session out: %s; zk.AuthACL lets in whoever the session has logged in as: %w",
			flaws(acl, whyShutOut), err)
	case Answers(err, zk.ErrInvalidACL):
		return fmt.Errorf("the servers refuse the ACL: %s: %w", flaws(acl, whyInvalid), err)
	}
	return err
}

// flaws says of the entries of a list, once each, why they may be wrong.
func flaws(acl []zk.ACL, why func(scheme, id string, perms int32) string) string {
	var all []string
	for _, entry := range acl {
		if flaw := why(entry.Scheme, entry.ID, entry.Perms); flaw != "" && !slices.Contains(all, flaw) {
			all = append(all, flaw)
		}
	}
	return strings.Join(all, ", and ")
}

// whyShutOut says why an entry does not let its own session create a node, or read its parent. An id of scheme digest
// may be a password in the wrong place, and is not shown.
func whyShutOut(scheme, id string, perms int32) string {
	user, hash, _ := strings.Cut(id, ":")
	switch sum, err := base64.StdEncoding.DecodeString(hash); {
	case perms&zk.PermCreate == 0:
		return fmt.Sprintf("an entry of scheme %q lets nobody create", scheme)
	case perms&zk.PermRead == 0:
		return fmt.Sprintf("an entry of scheme %q lets nobody read", scheme)
	case scheme != "digest":
		return fmt.Sprintf("the session is not who an entry of scheme %q names", scheme)
	case err != nil || len(sum) != sha1.Size:
		return fmt.Sprintf("what is given for user %q is no SHA-1 hash (a plain password?)", user)
	default:
		return fmt.Sprintf("the session has not logged in as user %q with that password, or the servers' digestAlg is not SHA-1, which zk.DigestACL uses", user)
	}
}

// whyInvalid says why servers may refuse an entry, and nothing of one that all take.
func whyInvalid(scheme, id string, _ int32) string {
	switch scheme {
	case "auth":
		return `scheme "auth" needs credentials on the session`
	case "world":
		if id != "anyone" {
			return `scheme "world" has the id "anyone" only`
		}
		return ""
	case "digest":
		if strings.Count(id, ":") != 1 {
			return `an id of scheme "digest" is user:hash`
		}
		return ""
	case "ip":
		return `an id of scheme "ip" is an IPv4 address, which may have /bits behind it`
	}
	return fmt.Sprintf("they do not know scheme %q, or not this form of its ids", scheme)
}
