package zklockkrb_test

import (
	"context"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockkrb"
)

// The client lives as long as the session.
func ExampleGSSAPI() {
	run := func(ctx context.Context) error {
		conf, err := config.Load("/etc/krb5.conf")
		if err != nil {
			return err
		}
		keys, err := keytab.Load("/etc/ledger.keytab")
		if err != nil {
			return err
		}
		who := client.NewWithKeytab("ledger", "EXAMPLE.COM", keys, conf)
		defer who.Destroy()
		session, err := zklock.Connect(ctx, []string{"zk1.example.com:2181"}, 10*time.Second,
			zklock.WithSASL(zklockkrb.GSSAPI(who)))
		if err != nil {
			return err
		}
		return session.Close()
	}
	_ = run
}
