// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// leases is what leases and semaphores have in common.
type leases struct {
	store *Store
	kind  leaseKind
}

// Leases say who may do what only one may do at a time. Most programs need Hold, or Run: a lease that
// renews itself. The database's clock decides what has expired.
//
// Where a method takes a connection, it belongs to the app's transaction there: the lease is held, and
// its fence final, when that is committed; until then others who want the name wait. nil: a connection
// of the store's own. Names and owners are compared byte for byte, and are not empty.
type Leases struct{ leases }

// Semaphores say who may do what only so many may do at a time. Each holder is known by the owner: the
// id of the request for a slot. The names have nothing to do with those of Leases.
type Semaphores struct{ leases }

// Leases are the store's leases.
func (s *Store) Leases() Leases { return Leases{leases{s, exclusive}} }

// Semaphores are the store's semaphores.
func (s *Store) Semaphores() Semaphores { return Semaphores{leases{s, shared}} }

// LeaseInfo is what a call found or did.
type LeaseInfo struct {
	Granted bool      // the call acquired or renewed it; else it was refused, or only asked
	Fence   int64     // greater than that of every earlier acquisition of the name, for ever
	Until   time.Time // when it ends unless renewed; refused: when the (first) holder's does
	Now     time.Time // the database's time of the call
	Owner   string    // who holds it, or held it last; "": nobody, or a semaphore's holders
	Limit   int       // how many may hold it; 0 after a renewal of a slot
	Holders int       // how many do; likewise
}

// ListedLease is a lease or a semaphore in a list, also one that nobody holds.
type ListedLease struct {
	Name    string
	Owner   string    // who holds the lease, or held it last; "": nobody, or it is a semaphore
	Until   time.Time // until when it is held, or was; of a semaphore the first of its holders; zero: it has none
	Limit   int       // how many may hold it
	Holders int       // how many do
}

// LeaseCounters are what a store counts of the leases and slots that it keeps.
type LeaseCounters struct {
	Held    int64 // now
	Renewed int64
	Lost    int64
	Errors  int64 // renewals that failed, to be tried again
	Batches int64 // statements sent to renew
}

// HeldError says that another one has it: errors.Is(err, ErrTimeout).
type HeldError struct {
	Name   string
	Holder LeaseInfo
	cause  error // what ended the wait, if something did
}

func (e *HeldError) Error() string {
	if e.Holder.Owner == "" {
		return fmt.Sprintf("waypost: %q has %d holders of %d", e.Name, e.Holder.Holders, e.Holder.Limit)
	}
	return fmt.Sprintf("waypost: %q is held by %q until %s", e.Name, e.Holder.Owner,
		e.Holder.Until.Format(time.RFC3339Nano))
}

// Unwrap gives ErrTimeout, and what ended the context of the wait.
func (e *HeldError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrTimeout}
	}
	return []error{ErrTimeout, e.cause}
}

// ---- calls: one statement each, as a rule ---------------------------------------------------

// do makes a call, on the app's connection if on is not nil.
func (l leases) do(ctx context.Context, on Execer, call *leaseCall) (info *LeaseInfo, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if on == nil {
		return l.direct(call)
	}
	begin := func() (*operation, error) { return l.begin(call) }
	err = execute(ctx, on, begin, func(op *operation) (err error) {
		switch call.how {
		case leaseRelease:
			ok = op.count() > 0
		case leaseLimit:
		default:
			info, err = op.lease()
		}
		return err
	})
	return info, ok, err
}

// Acquire acquires a name, or a slot of a semaphore, if it is free, expired, or the owner's already. Each
// success gives a new, greater fence: who acquires again ends his earlier acquisition, and never holds a
// second slot. Refused, it is no error: see LeaseInfo.Granted. ErrNotFound: no such semaphore.
func (l leases) Acquire(ctx context.Context, on Execer, name, owner string,
	duration time.Duration) (*LeaseInfo, error) {
	info, _, err := l.do(ctx, on, &leaseCall{how: leaseAcquire, name: name, owner: owner, ms: toMS(duration)})
	return info, err
}

// Renew makes it last from now, if it is still held. fence is that of the acquisition; 0: whichever one
// the owner has. ErrLeaseLost: expired, released, or another's; nothing was changed.
func (l leases) Renew(ctx context.Context, on Execer, name, owner string, fence int64,
	duration time.Duration) (*LeaseInfo, error) {
	info, _, err := l.do(ctx, on, &leaseCall{leaseRenew, name, owner, fence, toMS(duration)})
	return info, err
}

// Release frees it at once, and tells whether it was still held.
func (l leases) Release(ctx context.Context, on Execer, name, owner string, fence int64) (bool, error) {
	_, released, err := l.do(ctx, on, &leaseCall{how: leaseRelease, name: name, owner: owner, fence: fence})
	return released, err
}

// Get asks who holds it. ErrNotFound: nobody has held the name lately; no such semaphore.
func (l leases) Get(ctx context.Context, on Execer, name string) (*LeaseInfo, error) {
	info, _, err := l.do(ctx, on, &leaseCall{how: leaseGet, name: name})
	return info, err
}

// List lists all that there are by name, in pages of 1 to 10,000, also those that nobody holds.
func (l leases) List(ctx context.Context, limit int) (*Page[ListedLease], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.listAfter("", limit)
}

// Cleanup deletes what expired or was released so long ago, and returns how many. Programs that hold
// leases do it by themselves now and then.
func (l leases) Cleanup(ctx context.Context, keep time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return l.cleanup(keep)
}

// Counters is what the store counts of all that it keeps, leases and slots.
func (l leases) Counters() LeaseCounters { return l.counters() }

// SetLimit makes a semaphore, or changes its limit. A lower one ends nobody's hold: there are no new
// holders until there are fewer than it. limit is from 0 (nobody) to 1,000,000.
func (s Semaphores) SetLimit(ctx context.Context, on Execer, name string, limit int) error {
	_, _, err := s.do(ctx, on, &leaseCall{how: leaseLimit, name: name, ms: int64(limit)})
	return err
}

// ---- kept ones ------------------------------------------------------------------------------

// Lease is a lease, or a slot of a semaphore, that renews itself. It may be used by many goroutines.
//
// It is renewed when 60 % of its duration have passed (lease.renew_percent); errors are retried while
// there is time. If another one has it, or shortly before its last renewal runs out
// (lease.guard_percent), it is lost, once and for all: work that heeds Context or Check stops before
// anyone else can begin. Against a process that was suspended in the middle of its work only the fence
// helps: give it along with every write, and have the receiver refuse a smaller one than it has seen.
type Lease struct {
	*held
	name, owner string
	fence       int64
	ctx         context.Context // it keeps held, too
}

// held is what the garbage collector ends when nobody has the lease or its context any more. It must
// not lead to itself, or else it is never collected.
type held struct {
	h      handle
	key    unsafe.Pointer
	what   waitedFor
	cancel context.CancelCauseFunc
	ended  sync.Once
}

type heldKey struct{}

// HoldOption is an option of Hold, TryHold, Run and Lead.
type HoldOption func(*holding)

type holding struct {
	owner string
	named bool // by the app
}

// Owner names who holds it. By default it is a name of its own, that nobody else has. A further hold by
// the same owner ends the one before. An empty one is ErrArgument.
func Owner(name string) HoldOption {
	return func(h *holding) { h.owner, h.named = name, true }
}

// TryHold acquires and keeps it, if nobody else has it; *HeldError says who has.
func (l leases) TryHold(ctx context.Context, name string, duration time.Duration,
	options ...HoldOption) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	owner, err := ownerOf(options)
	if err != nil {
		return nil, err
	}
	lease, refused, _, err := l.tryHold(ctx, name, owner, duration, 0)
	if refused != nil {
		err = &HeldError{Name: name, Holder: *refused}
	}
	return lease, err
}

// Hold acquires and keeps it, waiting for whoever has it until ctx is done; then *HeldError says who
// has, and wraps the context's error. The end of ctx later on does not end the lease. The duration is
// at least 100 ms.
func (l leases) Hold(ctx context.Context, name string, duration time.Duration,
	options ...HoldOption) (*Lease, error) {
	return l.hold(ctx, name, duration, false, options)
}

// hold tries again when one of this process is released, and after longer and longer pauses. With
// patience it also waits out errors that may pass.
func (l leases) hold(ctx context.Context, name string, duration time.Duration, patient bool,
	options []HoldOption) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	owner, err := ownerOf(options)
	if err != nil {
		return nil, err
	}
	turn := newTurn(l.waitedFor(name))
	defer turn.leave()
	for attempt := 0; ; attempt++ {
		turn.take()
		lease, refused, pause, err := l.tryHold(ctx, name, owner, duration, attempt)
		var failed *Error
		switch {
		case refused != nil:
			err = &HeldError{Name: name, Holder: *refused}
		case patient && errors.As(err, &failed) && failed.Retriable:
			pause = pauseAfterError(attempt)
			l.store.log.slog().Warn("leader could not be elected, will try again",
				"StoreId", l.store.id, "Lease", name, "Exception", failed.Message)
		default:
			return lease, err
		}
		select {
		case <-ctx.Done():
			if refused != nil {
				return nil, &HeldError{name, *refused, ctx.Err()}
			}
			return nil, errors.Join(ctx.Err(), err)
		case <-turn.woken:
		case <-time.After(pause):
		}
	}
}

// ownerOf is one of its own unless it is named, the same in all tries of a call: what one acquired whose
// answer was lost is the next one's.
func ownerOf(options []HoldOption) (string, error) {
	var h holding
	for _, option := range options {
		option(&h)
	}
	switch {
	case !h.named:
		return NewID().String(), nil
	case h.owner == "":
		return "", failure(ErrArgument, "owner is empty")
	}
	return h.owner, nil
}

// Run holds it while work runs, once, and releases it then. It waits for whoever has it until ctx is
// done. The context of work is done when the lease is lost (its cause is ErrLeaseLost) or ctx is done (its
// cause is that of ctx): context.Cause tells, ctx.Err is context.Canceled in either case. Run returns what work returned, joined with ErrLeaseLost if the lease was lost before it returned.
func (l leases) Run(ctx context.Context, name string, duration time.Duration,
	work func(ctx context.Context, lease *Lease) error, options ...HoldOption) error {
	if work == nil {
		return failure(ErrArgument, "work is nil")
	}
	lease, err := l.Hold(ctx, name, duration, options...)
	if err != nil {
		return err
	}
	err, lost := lease.run(ctx, work)
	if lost != nil && !errors.Is(err, ErrLeaseLost) {
		err = errors.Join(err, lost)
	}
	return err
}

// Lead does work while nobody else does it: it holds the name, does the work, and releases the name. If
// the lease was lost by the time work returned nil, ErrLeaseLost or context.Canceled, it holds it anew
// and begins again, until ctx is done. Errors of the database that may pass are waited out like a holder.
//
// The context of work is done when the lease is lost (its cause is ErrLeaseLost) or ctx is done; work
// returns then, within the guard interval (lease.guard_percent of the duration), before anyone else can
// lead. Lead waits for it, and returns what it returned.
func (l Leases) Lead(ctx context.Context, name string, duration time.Duration,
	work func(ctx context.Context, lease *Lease) error, options ...HoldOption) error {
	if work == nil {
		return failure(ErrArgument, "work is nil")
	}
	for {
		lease, err := l.hold(ctx, name, duration, true, options)
		if err != nil {
			return err
		}
		err, lost := lease.run(ctx, work)
		stopped := err == nil || errors.Is(err, ErrLeaseLost) || errors.Is(err, context.Canceled)
		if lost == nil || !stopped || ctx.Err() != nil {
			return err
		}
	}
}

// run does work and releases the lease; lost: before work returned.
func (l *Lease) run(ctx context.Context, work func(context.Context, *Lease) error) (err, lost error) {
	defer l.Release(context.WithoutCancel(ctx)) //nolint:errcheck // it expires
	inside, cancel := context.WithCancelCause(l.Context())
	defer cancel(context.Canceled)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	err = work(inside, l)
	if e := l.Check(); errors.Is(e, ErrLeaseLost) { // it may have been released
		lost = e
	}
	return err, lost
}

// Context is cancelled when the lease is lost: context.Cause says ErrLeaseLost; and when it is released:
// context.Canceled. It has the values of the context that Hold was given, and keeps the lease from the
// garbage collector.
func (l *Lease) Context() context.Context { return l.ctx }

// Name is the name of the lease or semaphore.
func (l *Lease) Name() string { return l.name }

// Owner is who holds it.
func (l *Lease) Owner() string { return l.owner }

// Fence is the number of this acquisition.
func (l *Lease) Fence() int64 { return l.fence }

// Check tells whether work may go on: cheap enough to ask before every step. ErrLeaseLost; ErrState: it
// was released.
func (l *Lease) Check() error {
	err := l.check()
	if errors.Is(err, ErrLeaseLost) {
		l.cancel(ErrLeaseLost)
	}
	return err
}

// Renew renews it now. ErrLeaseLost; ErrState: it was released; ErrUnavailable, ErrDatabase: it was not
// renewed, but is not lost yet either.
func (l *Lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.renew()
	if errors.Is(err, ErrLeaseLost) {
		l.cancel(ErrLeaseLost)
	}
	return err
}

// Release frees it for others, and ends its context; only the first call does anything. nil, also if it
// was lost; ErrUnavailable, ErrDatabase: it could not be freed, and expires. The garbage collector
// releases leases that were dropped, at some time.
func (l *Lease) Release(ctx context.Context) error {
	runtime.SetFinalizer(l.held, nil)
	err := l.end()
	l.close()
	if errors.Is(err, ErrState) { // it was released
		return nil
	}
	return err
}

// close may be called again: by then the key may be another lease's.
func (h *held) close() {
	h.ended.Do(func() {
		losses.forget(h.key)
		h.cancel(context.Canceled)
		h.h.close()
		releases.next(h.what)
	})
}

// collected ends a lease that was dropped. It waits for the database, which a finalizer must not.
func (h *held) collected() { go h.close() }
