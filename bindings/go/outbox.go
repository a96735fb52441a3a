// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// Outbox is the outbox of a store. Enqueue is what most programs need of it; the rest is what a
// worker is made of.
type Outbox struct{ store *Store }

// Enqueue enqueues a message in the app's transaction: it becomes visible with its commit and
// leaves no trace after its rollback. If on is nil, it is committed when Enqueue returns.
func (o Outbox) Enqueue(ctx context.Context, on Execer, message Message) (Enqueued, error) {
	made, err := o.EnqueueMany(ctx, on, []Message{message})
	if err != nil {
		return Enqueued{}, err
	}
	return made[0], nil
}

// EnqueueMany enqueues up to 10,000 messages in order, in one transaction.
func (o Outbox) EnqueueMany(ctx context.Context, on Execer, messages []Message) ([]Enqueued, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if on == nil {
		return o.store.enqueue(messages)
	}
	var made []Enqueued
	begin := func() (*operation, error) { return o.store.enqueueOp(messages) }
	err := execute(ctx, on, begin, func(op *operation) (err error) {
		made, err = op.enqueued()
		return err
	})
	return made, err
}

// Claim claims up to batch due messages under a lease, ordered by next attempt, then enqueue. The
// owner is the claimer's token, fresh for each process that claims. topics nil: all of them.
func (o Outbox) Claim(ctx context.Context, owner ID, topics []string, batch int,
	lease time.Duration) ([]Received, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.store.claim(owner, topics, int64(batch), toMS(lease))
}

// claimsOf gives ids and claim numbers, so that a late call for an earlier claim changes nothing.
func claimsOf(messages []Received) *claims {
	c := &claims{make([]ID, len(messages)), make([]int64, len(messages))}
	for i := range messages {
		c.ids[i], c.numbers[i] = messages[i].ID, messages[i].ClaimNumber
	}
	return c
}

func (o Outbox) finish(ctx context.Context, how finish, owner ID, messages []Received, text string,
	ms int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return o.store.finish(how, owner, claimsOf(messages), text, ms)
}

// Ack finishes messages as done, in the app's transaction if on is not nil, and returns how many
// of them changed. worker is the name to record, or "". Like all that finish messages, it changes
// only those that the owner still holds.
func (o Outbox) Ack(ctx context.Context, on Execer, owner ID, messages []Received,
	worker string) (int, error) {
	if on == nil {
		return o.finish(ctx, finishAck, owner, messages, worker, 0)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	changed := 0
	begin := func() (*operation, error) {
		return o.store.ackOp(owner, claimsOf(messages), worker)
	}
	err := execute(ctx, on, begin, func(op *operation) error {
		changed = op.count()
		return nil
	})
	return changed, err
}

// Abandon gives messages back after a failed attempt, to be tried again after a delay; 0 is the
// backoff. reason may be "".
func (o Outbox) Abandon(ctx context.Context, owner ID, messages []Received, delay time.Duration,
	reason string) (int, error) {
	return o.finish(ctx, finishAbandon, owner, messages, reason, toMS(delay))
}

// Fail finishes messages as failed, for ever. reason may be "".
func (o Outbox) Fail(ctx context.Context, owner ID, messages []Received, reason string) (int, error) {
	return o.finish(ctx, finishFail, owner, messages, reason, 0)
}

// Release gives messages back that were never started: at once, and without an attempt.
func (o Outbox) Release(ctx context.Context, owner ID, messages []Received) (int, error) {
	return o.finish(ctx, finishRelease, owner, messages, "", 0)
}

// Renew makes leases last from now.
func (o Outbox) Renew(ctx context.Context, owner ID, messages []Received,
	lease time.Duration) (int, error) {
	return o.finish(ctx, finishRenew, owner, messages, "", toMS(lease))
}

// Reap recovers every expired lease and fails messages past their expiry.
func (o Outbox) Reap(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return o.store.reap()
}

// Get looks one message up. ErrNotFound: there is none.
func (o Outbox) Get(ctx context.Context, id ID) (*Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.store.get(id)
}

// Stats counts the outbox by topic; without finished, done and failed are left out, which are
// counted row by row.
func (o Outbox) Stats(ctx context.Context, finished bool) (*OutboxStats, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.store.stats(finished)
}
