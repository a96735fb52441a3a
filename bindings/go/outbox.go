// SPDX-License-Identifier: Apache-2.0

package waypost

import "context"

// Outbox is the outbox of a store. Enqueue is what most programs need of it.
type Outbox struct{ Queue }

// Outbox is the store's outbox.
func (s *Store) Outbox() Outbox { return Outbox{queueOf(s, OutboxKind)} }

// Enqueue enqueues a message in the app's transaction: it becomes visible with its commit and
// leaves no trace after its rollback. If on is nil, it is committed when Enqueue returns.
func (o Outbox) Enqueue(ctx context.Context, on Execer, message Message) (Enqueued, error) {
	return o.sendOne(ctx, on, message)
}

// EnqueueMany enqueues up to 10,000 messages in order, in one transaction.
func (o Outbox) EnqueueMany(ctx context.Context, on Execer, messages []Message) ([]Enqueued, error) {
	return o.send(ctx, on, messages)
}

// Get looks one message up. ErrNotFound: there is none.
func (o Outbox) Get(ctx context.Context, id ID) (*Info, error) { return o.lookUp(ctx, id) }
