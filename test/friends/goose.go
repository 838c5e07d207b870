package friends

import (
	"context"
	"database/sql"

	"github.com/zklock/zklock"
)

// migrations is a lock.Locker of goose. Its lock is made WithoutOwner: any goroutine may give it back.
type migrations struct{ mu *zklock.Locker }

func (m migrations) Lock(ctx context.Context, _ *sql.DB) error   { return m.mu.LockContext(ctx) }
func (m migrations) Unlock(ctx context.Context, _ *sql.DB) error { return m.mu.UnlockContext(ctx) }
