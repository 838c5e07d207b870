package friends

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/zklock/zklock/election"
)

func schedule(ctx context.Context, e *election.Election, redis asynq.RedisConnOpt) error {
	return e.Run(ctx, func(ctx context.Context, _ *election.Term) error {
		scheduler := asynq.NewScheduler(redis, nil) // of this term: it cannot be started again
		if _, err := scheduler.Register("@every 1s", asynq.NewTask("digest", nil)); err != nil {
			return err
		}
		if err := scheduler.Start(); err != nil {
			return err
		}
		defer scheduler.Shutdown()
		<-ctx.Done()
		return context.Cause(ctx)
	})
}
