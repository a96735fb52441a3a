// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"time"
)

// Timers are messages that are due at an instant, in a queue of their own: by the database's clock and
// never before, a worker that handles their topic (Worker.HandleTimer) gets them. Until it is claimed
// for the first time, a timer can be cancelled and rescheduled.
type Timers struct{ Queue }

// Timers are the store's timers.
func (s *Store) Timers() Timers { return Timers{queueOf(s, TimerKind)} }

// Schedule schedules a timer, for the message's Due or Delay, in the app's transaction if on is not nil.
// Without either it is due at once.
func (t Timers) Schedule(ctx context.Context, on Execer, message Message) (Enqueued, error) {
	return t.sendOne(ctx, on, message)
}

// ScheduleMany schedules up to 10,000 timers in order, in one transaction.
func (t Timers) ScheduleMany(ctx context.Context, on Execer, messages []Message) ([]Enqueued, error) {
	return t.send(ctx, on, messages)
}

// Cancel cancels a timer that was never claimed: it will not fire. It returns false if there is no such
// timer, it was cancelled before, or a worker has or had it; then nothing is changed. On PostgreSQL it
// waits for a claim that is under way.
func (t Timers) Cancel(ctx context.Context, on Execer, id ID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if on == nil {
		return t.cancel(id)
	}
	count, err := changed(ctx, on, func() (*operation, error) { return t.cancelOp(id) })
	return count > 0, err
}

// Reschedule gives a timer that was never claimed another due time; the past means now. Otherwise as
// Cancel.
func (t Timers) Reschedule(ctx context.Context, on Execer, id ID, due time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if on == nil {
		return t.reschedule(id, due)
	}
	count, err := changed(ctx, on, func() (*operation, error) { return t.rescheduleOp(id, due) })
	return count > 0, err
}

// RescheduleIn is Reschedule with a time from the database's now on.
func (t Timers) RescheduleIn(ctx context.Context, on Execer, id ID, delay time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if on == nil {
		return t.rescheduleIn(id, delay)
	}
	count, err := changed(ctx, on, func() (*operation, error) { return t.rescheduleInOp(id, delay) })
	return count > 0, err
}

// Get looks one timer up. ErrNotFound: there is none.
func (t Timers) Get(ctx context.Context, id ID) (*Info, error) { return t.lookUp(ctx, id) }

// List lists timers in the order in which they were scheduled, in pages of 1 to 10,000: those that have
// a correlation id, finished ones too; or, if it is "", all that are unfinished.
func (t Timers) List(ctx context.Context, correlationID string, limit int) (*Page[Info], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.listAfter(correlationID, nil, limit)
}
