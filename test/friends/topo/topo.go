// Package topo has the method set of vitess.io/vitess/go/vt/topo, v0.24.4, that a participation in an
// election of vitess' needs.
package topo

import (
	"context"
	"fmt"
)

// LeaderParticipation is one process's part in an election.
type LeaderParticipation interface {
	WaitForLeadership() (context.Context, error)
	Stop()
	GetCurrentLeaderID(ctx context.Context) (string, error)
	WaitForNewLeader(ctx context.Context) (<-chan string, error)
}

// ErrorCode says what an error is.
type ErrorCode int

// Interrupted is the code of a call that Stop has ended.
const Interrupted ErrorCode = iota

// Error is an error of a topology server.
type Error struct {
	Code ErrorCode
	Node string
}

// NewError returns the error of that code at a node.
func NewError(code ErrorCode, node string) error { return Error{code, node} }

func (e Error) Error() string { return fmt.Sprintf("code %d: %s", e.Code, e.Node) }
