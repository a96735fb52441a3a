// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
	"unsafe"
)

// Page is a page of a list, a snapshot:
//
//	page, err := store.Outbox().DeadLetters(ctx, waypost.DeadFilter{}, 100)
//	for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
//		...
//	}
type Page[T any] struct {
	Items []T
	h     handle
	after func(list unsafe.Pointer) (*Page[T], error)
}

// Next reads the page after this one, and closes this one. A page without items is the end. ErrState:
// this one is closed.
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.Items) == 0 {
		return p, nil
	}
	next, err := p.next()
	if err == nil {
		p.Close()
	}
	return next, err
}

// Close frees what Next needs. The garbage collector does that too, at some time.
func (p *Page[T]) Close() { p.h.close() }

// DeadFilter says which dead letters; all that is set must be so.
type DeadFilter struct {
	Topic  string    // "": any
	Reason string    // a text that the reason holds; "": whatever it is
	From   time.Time // when it died, both included; zero: at any time
	Until  time.Time
	IDs    []ID // up to 10,000; nil: any; empty, but not nil: none
}

// remains is what is left in a queue, or in all of them: dead letters, and what was finished.
type remains struct {
	store *Store
	kind  Kind // 0: all
}

// AllQueues has the dead letters of all queues in one list, and the cleanup of all. Of ReplayDead and
// PurgeDead the limit and the rate are those of all queues together; one queue comes after the other.
type AllQueues struct{ remains }

// AllQueues is for what is done to all queues at once.
func (s *Store) AllQueues() AllQueues { return AllQueues{remains{s, 0}} }

// DeadLetters lists dead letters in pages of 1 to 1,000, those that died first first.
func (q remains) DeadLetters(ctx context.Context, filter DeadFilter, limit int) (*Page[Info], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.deadAfter(filter, nil, limit)
}

// ReplayDead makes at most limit dead letters ready again, with no attempts, in the order in which they
// died, and returns how many, also if a later one failed. Each is recorded and logged. perSecond 0: all
// at once; else at most so many are due in a second. by may be "": who asked for it. One whose unique
// key another unfinished message has stays dead.
func (q remains) ReplayDead(ctx context.Context, filter DeadFilter, limit, perSecond int,
	by string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return q.replay(&filter, int64(limit), int64(perSecond), by)
}

// PurgeDead deletes at most limit dead letters for ever, and returns how many. The inbox forgets that
// they ever arrived. by may be "": who asked for it, for the audit.
func (q remains) PurgeDead(ctx context.Context, filter DeadFilter, limit int, by string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return q.purge(&filter, int64(limit), by)
}

// EditDead gives a dead letter another payload, to replay it with. It stays dead, and all else stays as it
// is; the old payload is not kept. by may be "": who asked for it, for the audit. False: there is no such
// dead letter, or another transaction is at it.
func (q Queue) EditDead(ctx context.Context, id ID, payload []byte, by string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return q.editDead(id, payload, by)
}

// Cleanup deletes what was finished with success (or cancelled) at least so long ago, in batches with a
// transaction each, and returns how many. What is unfinished, only seen or dead stays. A message of the
// inbox goes only if it has not arrived for that time either; then it is new when it arrives again.
func (q remains) Cleanup(ctx context.Context, olderThan time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return q.cleanup(olderThan)
}
