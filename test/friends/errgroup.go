package friends

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
)

func rebuild(ctx context.Context, mu *zklock.Locker, parts []string, build func(context.Context, string) error) error {
	return mu.Do(ctx, func(ctx context.Context) error {
		builds, ctx := errgroup.WithContext(ctx) // ends with the lock, and with the first error
		for _, part := range parts {
			builds.Go(func() error { return build(ctx, part) })
		}
		return builds.Wait() // before the lock is given back
	})
}
