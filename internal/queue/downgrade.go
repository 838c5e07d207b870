package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// downgradeRequest is the entry of a read node with the sequence of a writer's node, as
// Curator's downgrade has it: not sequential, and in the queue where the writer is. The check
// makes sure that the writer's node is still there.
func (q *Queue) downgradeRequest(writer *contender) func(string, wire.Op) entry {
	return func(id string, check wire.Op) entry {
		return entry{
			// Writers that queue already have nodes older than this one, and are to have the
			// larger tokens.
			token: writer.token,
			above: q.parents(),
			nodes: 1,
			ops:   []wire.Op{q.node(recipe.Downgraded(id, writer.sequence), zk.FlagEphemeral), check},
		}
	}
}

// Downgrade takes the lock for reading while it is held for writing by w, whose release then
// lets in other readers, and no writer.
func (q *Queue) Downgrade(ctx context.Context, w *Hold, call Call) (*Hold, error) {
	ctx, dog := q.session.client.WatchOver(ctx, q.path)
	defer dog.End()
	var h *Hold
	err := q.session.client.Retry(ctx, func() (err error) {
		if err := w.Err(); err != nil {
			return client.Permanent(err)
		}
		if err := q.session.client.MakeRoom(ctx); err != nil {
			return err
		}
		h, err = q.convert(ctx, w, q.downgradeRequest(w.contender))
		return err // after zk.ErrNoNode the writer's loss is about to be known
	})
	if err == nil {
		acquired(call, h)
	}
	return h, err
}
