package queue

import (
	"context"

	"github.com/zklock/zklock/internal/client"
)

// Downgrade takes the lock for reading while it is held for writing by w, whose release then
// lets in other readers, and no writer. As with Curator the read node has the sequence of the writer's.
func (q *Queue) Downgrade(ctx context.Context, w *Hold, call Call) (*Hold, error) {
	ctx, dog := q.session.client.LogStalls(ctx, q.path)
	defer dog.End()
	var h *Hold
	err := q.session.client.Retry(ctx, func() (err error) {
		if err := w.Err(); err != nil {
			return client.Permanent(err)
		}
		if err := q.session.client.MakeRoom(ctx); err != nil {
			return err
		}
		h, err = q.convert(ctx, w, entry{nodes: 1, above: *q.parents(), beside: w.contender})
		return err // after zk.ErrNoNode the writer's loss is about to be known
	})
	if err == nil {
		acquired(call, h)
	}
	return h, err
}
