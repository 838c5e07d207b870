// Package zklockkrb logs sessions of zklock in by Kerberos, by the mechanism GSSAPI that ZooKeeper's
// own clients use:
//
//	conf, err := config.Load("/etc/krb5.conf")
//	keys, err := keytab.Load("/etc/ledger.keytab")
//	who := client.NewWithKeytab("ledger", "EXAMPLE.COM", keys, conf)
//	defer who.Destroy()
//	session, err := zklock.Connect(ctx, servers, 10*time.Second, zklock.WithSASL(zklockkrb.GSSAPI(who)))
//
// client, config and keytab are packages of [github.com/jcmturner/gokrb5/v8]. A client with a keytab or
// a password renews its tickets; one from a credential cache does not: give a new one by
// [zklock.WithSASLProvider]. Each server is asked by the name that the session was given for it, whose
// principal the KDC has to know: see [WithPrincipal].
//
// Servers and client show each other who they are. What follows is neither signed nor encrypted: use TLS
// where somebody may read along or change it.
package zklockkrb
