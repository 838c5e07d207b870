package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// The network is back while the session lives, and the command has its --kill-after yet.
func TestNobodyElseRunsWhileACommandThatHasLostTheLockIsEnded(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*site, ...string) *process{"run": (*site).run, "elect": (*site).elect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			link := faultproxy.Run(t, at.addr)
			p := start(at, "--servers", link.Addr(), "--session-timeout", "6s", "--", "sh", "-c",
				`trap "echo SIGTERM" TERM; echo $$; while :; do sleep 0.1; done`)
			pid := p.line()
			next := start(at, "--", "sh", "-c", "kill -0 "+pid+" 2>/dev/null && echo beside it || echo alone")
			at.awaitQueue(2)
			link.Freeze(faultproxy.Both) // as TCP is, whose packets are sent again
			require.Equal(t, "SIGTERM", p.line(), "it has 1.5 s to end, and is killed then")
			link.Thaw(faultproxy.Both)
			require.Equal(t, "alone", next.line())
			require.Equal(t, 0, next.exit())
			if name == "run" {
				require.Equal(t, 76, p.exit())
			}
		})
	}
}
