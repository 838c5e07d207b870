package cli

import (
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// lossFlags say what becomes of the command when the lock is lost.
type lossFlags struct {
	onLost    *choice
	killAfter duration
	exitCode  int
}

// killPart is how much of the session timeout the command has to end by itself,
// unless --kill-after says otherwise: less than what is usually left until ZooKeeper
// ends the session, which is 0.4.
const killPart = 0.25

func (l *lossFlags) flags(cmd *cobra.Command) {
	l.onLost = oneOf("term", "kill", "ignore")
	l.onLost.add(cmd, "on-lost", "what to do with the command when the lock is lost")
	cmd.Flags().Var(&l.killAfter, "kill-after", "after --on-lost=term, kill what is left of the command after this (default a quarter of the session timeout)")
	cmd.Flags().IntVar(&l.exitCode, "lost-exit-code", exitLost, "exit `code` when the lock was lost before the command had ended")
}

// ending is the signal that ends the command: 0 if nothing does.
func (l *lossFlags) ending() syscall.Signal {
	switch l.onLost.value {
	case "kill":
		return syscall.SIGKILL
	case "term":
		return syscall.SIGTERM
	}
	return 0
}

// patience is how long the command has to end by itself.
func (l *lossFlags) patience(session time.Duration) time.Duration {
	if l.killAfter.set {
		return l.killAfter.Duration
	}
	return time.Duration(killPart * float64(session))
}
