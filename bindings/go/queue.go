// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// Kind says of which queue something is.
type Kind int

// The queues of a store.
const (
	OutboxKind = kindOutbox
	InboxKind  = kindInbox
	TimerKind  = kindTimer
	JobKind    = kindJob // runs of jobs
)

func (k Kind) String() string {
	names := [...]string{"", "outbox", "inbox", "timers", "job runs"}
	if k < OutboxKind || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Queue is what the outbox, the inbox, timers and runs of jobs have in common: claim and finish by
// hand, which is what a worker is made of; looking; dead letters; cleanup.
type Queue struct{ remains }

func queueOf(s *Store, kind Kind) Queue { return Queue{remains{s, kind}} }

// Kind says which queue it is.
func (q Queue) Kind() Kind { return q.kind }

// Claim claims up to batch due messages under a lease, ordered by next attempt, then enqueue. The
// owner is the claimer's token, fresh for each process that claims. topics nil: all of them.
func (q Queue) Claim(ctx context.Context, owner ID, topics []string, batch int,
	lease time.Duration) ([]Received, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.claim(owner, topics, int64(batch), toMS(lease))
}

// claimsOf gives ids and claim numbers, so that a late call for an earlier claim changes nothing.
func claimsOf(messages []Received) *claims {
	c := &claims{make([]ID, len(messages)), make([]int64, len(messages))}
	for i := range messages {
		c.ids[i], c.numbers[i] = messages[i].ID, messages[i].ClaimNumber
	}
	return c
}

// end ends or renews claims, on the app's connection if on is not nil.
func (q Queue) end(ctx context.Context, on Execer, e *ending) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if on == nil {
		return q.finish(e)
	}
	return changed(ctx, on, func() (*operation, error) { return q.finishOp(e) })
}

// Ack finishes messages as done, in the app's transaction if on is not nil, and returns how many
// of them changed. worker is the name to record, or "". Like all that finish messages, it changes
// only those that the owner still holds.
func (q Queue) Ack(ctx context.Context, on Execer, owner ID, messages []Received,
	worker string) (int, error) {
	return q.end(ctx, on, &ending{how: toAck, owner: owner, messages: messages, text: worker})
}

// Abandon gives messages back after a failed attempt, to be tried again after a delay; 0 is the
// backoff. reason may be "".
func (q Queue) Abandon(ctx context.Context, owner ID, messages []Received, delay time.Duration,
	reason string) (int, error) {
	return q.end(ctx, nil, &ending{toAbandon, owner, messages, reason, toMS(delay)})
}

// Fail finishes messages as failed, for ever. reason may be "", but not in the inbox.
func (q Queue) Fail(ctx context.Context, owner ID, messages []Received, reason string) (int, error) {
	return q.end(ctx, nil, &ending{how: toFail, owner: owner, messages: messages, text: reason})
}

// Release gives messages back that were never started: at once, and without an attempt.
func (q Queue) Release(ctx context.Context, owner ID, messages []Received) (int, error) {
	return q.end(ctx, nil, &ending{how: toRelease, owner: owner, messages: messages})
}

// Renew makes leases last from now.
func (q Queue) Renew(ctx context.Context, owner ID, messages []Received,
	lease time.Duration) (int, error) {
	return q.end(ctx, nil, &ending{how: toRenew, owner: owner, messages: messages, ms: toMS(lease)})
}

// Reap recovers every expired lease and fails messages past their expiry.
func (q Queue) Reap(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return q.reap()
}

// Stats counts the messages by topic; without finished, done and failed are left out, which are
// counted row by row.
func (q Queue) Stats(ctx context.Context, finished bool) (*QueueStats, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.stats(finished)
}

// lookUp looks one message up by its id.
func (q Queue) lookUp(ctx context.Context, id ID) (*Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.get(id)
}

// send enqueues messages, on the app's connection if on is not nil.
func (q Queue) send(ctx context.Context, on Execer, messages []Message) (made []Enqueued, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if on == nil {
		return q.enqueue(messages, q.store.trace(ctx))
	}
	begin := func() (*operation, error) { return q.enqueueOp(messages, q.store.trace(ctx)) }
	err = execute(ctx, on, begin, func(op *operation) (err error) {
		made, err = op.enqueued()
		return err
	})
	return made, err
}

// sendOne is send for one message.
func (q Queue) sendOne(ctx context.Context, on Execer, message Message) (Enqueued, error) {
	made, err := q.send(ctx, on, []Message{message})
	if err != nil {
		return Enqueued{}, err
	}
	return made[0], nil
}
