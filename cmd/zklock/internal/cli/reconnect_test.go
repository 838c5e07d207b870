package cli

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestAConnectionThatIsLostOnTheWayIsNoFailureOfACommand(t *testing.T) {
	for name, c := range map[string]struct {
		op      zktest.Op
		command func(t *testing.T, session *zklock.Session) error
	}{
		"ls": {zktest.OpGetChildren2, func(t *testing.T, session *zklock.Session) error {
			_, err := list(t.Context(), session, "/")
			return err
		}},
		"break": {zktest.OpExists, func(t *testing.T, session *zklock.Session) error {
			b := breaking{session: session, out: io.Discard, path: "/lock", node: "_c_", yes: true}
			return b.run(t.Context())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			session := connect(t, server)
			l, err := zklock.New(session, "/lock")
			require.NoError(t, err)
			l.Lock()
			lost := server.DropRequest(c.op, zktest.OnSession(session.ID()))
			err = c.command(t, session)
			<-lost.Struck()
			require.NoError(t, err, "exit code %d", codeOf(err))
		})
	}
}
