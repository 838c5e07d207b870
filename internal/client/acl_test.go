package client

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestARefusalSaysWhatIsWrongWithTheListAtHand(t *testing.T) {
	all := func(scheme, id string) zk.ACL { return zk.ACL{Perms: zk.PermAll, Scheme: scheme, ID: id} }
	anyone, bob := all("world", "anyone"), zk.DigestACL(zk.PermAll, "bob", "secret")[0]
	shutOut := fmt.Errorf("%w: %w", ErrShutOut, zk.ErrNoAuth)
	for _, c := range []struct {
		acl  []zk.ACL
		err  error
		says string
	}{
		{[]zk.ACL{all("digest", "bob:typo"), all("digest", "bob:typo")}, shutOut, `the call's own ACL keeps its session out: what is given for user "bob" is no SHA-1 hash (a plain password?); zk.AuthACL lets in whoever the session has logged in as: nothing was created: zk: not authenticated`},
		{[]zk.ACL{all("digest", bob.ID+"!")}, shutOut, `what is given for user "bob" is no SHA-1 hash`},
		{[]zk.ACL{bob}, shutOut, `the session has not logged in as user "bob" with that password, or the servers' digestAlg is not SHA-1, which zk.DigestACL uses`},
		{[]zk.ACL{all("x509", "CN=bob"), {Perms: zk.PermRead, Scheme: "world", ID: "anyone"}}, shutOut, `the session is not who an entry of scheme "x509" names, and an entry of scheme "world" lets nobody create`},
		{[]zk.ACL{{Perms: zk.PermAll &^ zk.PermRead, Scheme: "world", ID: "anyone"}}, shutOut, `an entry of scheme "world" lets nobody read`},
		{[]zk.ACL{anyone, all("auth", "")}, zk.ErrInvalidACL, `the servers refuse the ACL: scheme "auth" needs credentials on the session: zk: invalid ACL specified`},
		{[]zk.ACL{all("sasl", "alice"), bob}, zk.ErrInvalidACL, `the servers refuse the ACL: they do not know scheme "sasl", or not this form of its ids: zk: invalid ACL specified`},
		{[]zk.ACL{all("world", "all")}, zk.ErrInvalidACL, `scheme "world" has the id "anyone" only`},
		{[]zk.ACL{all("digest", "alice")}, zk.ErrInvalidACL, `an id of scheme "digest" is user:hash`},
		{[]zk.ACL{all("ip", "localhost")}, zk.ErrInvalidACL, `an id of scheme "ip" is an IPv4 address, which may have /bits behind it`},
		{[]zk.ACL{bob}, zk.ErrNoAuth, "zk: not authenticated"},
	} {
		err := ExplainACL(c.err, c.acl)
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "typo", "an id may be a password")
	}
	require.NoError(t, ExplainACL(nil, []zk.ACL{bob}))
}
