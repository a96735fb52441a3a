// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"waypost"
)

func (b *bed) leases() waypost.Leases         { return b.store.Leases() }
func (b *bed) semaphores() waypost.Semaphores { return b.store.Semaphores() }

func (b *bed) acquire(on waypost.Execer, owner string) *waypost.LeaseInfo {
	return must(b.leases().Acquire(ctx, on, "l", owner, 10*time.Second))
}

// ahead is a store whose clock is so far ahead of the bed's.
func (b *bed) ahead(d time.Duration) *waypost.Store {
	clock := must(waypost.NewManualClock(now.Add(d)))
	b.t.Cleanup(clock.Close)
	return b.open(waypost.WithClock(clock))
}

// scenario: LEA-001
// proves: LSE-001
func TestLeaseIsGrantedWhenFreeExpiredOrOurs(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		info := b.acquire(on, "me")
		until := b.clock.Now().Add(10 * time.Second)
		equal(t, []any{info.Granted, info.Owner, info.Until, info.Now, info.Limit, info.Holders},
			[]any{true, "me", until, b.clock.Now(), 1, 1})
		refused := b.acquire(on, "you")
		equal(t, []any{refused.Granted, refused.Owner, refused.Until}, []any{false, "me", until})
		equal(t, b.acquire(on, "me").Granted, true)
		b.advance(10 * time.Second)
		equal(t, b.acquire(on, "you").Granted, true)
		equal(t, must(b.leases().Get(ctx, on, "l")).Owner, "you")
		b.advance(10 * time.Second)
	}
	_, err := b.leases().Get(ctx, nil, "unknown")
	fails(t, err, waypost.ErrNotFound)
}

// scenario: LEA-002
// proves: LSE-002..004
func TestLeaseIsRenewedWhileHeldAndItsFenceRises(t *testing.T) {
	b := newBed(t)
	last := int64(0)
	for _, on := range []waypost.Execer{nil, b.db} {
		info := b.acquire(on, "me")
		equal(t, info.Fence > last, true)
		b.advance(5 * time.Second)
		renewed := must(b.leases().Renew(ctx, on, "l", "me", info.Fence, 10*time.Second))
		equal(t, renewed.Until, b.clock.Now().Add(10*time.Second))
		equal(t, renewed.Fence, info.Fence)
		_, err := b.leases().Renew(ctx, on, "l", "you", 0, time.Second)
		fails(t, err, waypost.ErrLeaseLost)
		again := b.acquire(on, "me")
		equal(t, again.Fence > info.Fence, true)
		_, err = b.leases().Renew(ctx, on, "l", "me", info.Fence, time.Second)
		fails(t, err, waypost.ErrLeaseLost)
		equal(t, must(b.leases().Release(ctx, on, "l", "me", info.Fence)), false)
		equal(t, must(b.leases().Release(ctx, on, "l", "me", 0)), true)
		equal(t, must(b.leases().Release(ctx, on, "l", "me", 0)), false)
		last = again.Fence
		next := b.acquire(on, "you")
		equal(t, []bool{next.Granted, next.Fence > last}, []bool{true, true})
		last = next.Fence
		must(b.leases().Release(ctx, on, "l", "you", 0))
		must(b.leases().Cleanup(ctx, 0))
	}
}

// scenario: LEA-003
// proves: LSE-001, BND-002
func TestLeaseInTheAppsTransaction(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	equal(t, b.acquire(tx, "me").Granted, true)
	tx.Rollback()
	equal(t, b.acquire(nil, "you").Granted, true)
	must(b.leases().Release(ctx, nil, "l", "you", 0))
	tx = b.begin()
	b.order(tx)
	equal(t, b.acquire(tx, "me").Granted, true)
	must(0, tx.Commit())
	equal(t, must(b.leases().Get(ctx, nil, "l")).Owner, "me")
	tx = b.begin()
	equal(t, must(b.leases().Release(ctx, tx, "l", "me", 0)), true)
	tx.Rollback()
	equal(t, b.acquire(nil, "you").Granted, false)
	tx = b.begin()
	must(0, b.semaphores().SetLimit(ctx, tx, "s", 1))
	tx.Rollback()
	_, err := b.semaphores().Get(ctx, b.db, "s")
	fails(t, err, waypost.ErrNotFound)
}

// scenario: LEA-004
// proves: LSE-005
func TestKeptLeaseRenewsItselfAndIsLostOnce(t *testing.T) {
	b := newBed(t)
	type named struct{}
	lease := must(b.leases().TryHold(context.WithValue(ctx, named{}, "value"), "l", 10*time.Second,
		waypost.Owner("me")))
	defer lease.Release(ctx)
	equal(t, []any{lease.Name(), lease.Owner(), lease.Context().Value(named{})}, []any{"l", "me", "value"})
	for renewed := int64(1); renewed <= 3; renewed++ {
		b.advance(6 * time.Second)
		until(t, func() bool { return b.leases().Counters().Renewed >= renewed })
	}
	must(0, lease.Check())
	equal(t, lease.Context().Err(), nil)
	equal(t, lease.Remaining() > 0, true)
	taken := must(b.ahead(time.Hour).Leases().Acquire(ctx, nil, "l", "you", 24*time.Hour))
	equal(t, []bool{taken.Granted, taken.Fence > lease.Fence()}, []bool{true, true})
	b.advance(6 * time.Second)
	wait(t, lease.Context().Done())
	equal(t, context.Cause(lease.Context()), waypost.ErrLeaseLost)
	fails(t, lease.Check(), waypost.ErrLeaseLost)
	fails(t, lease.Renew(ctx), waypost.ErrLeaseLost)
	equal(t, lease.Remaining(), 0)
	equal(t, b.leases().Counters().Lost, 1)
	must(0, lease.Release(ctx))
	equal(t, must(b.leases().Get(ctx, nil, "l")).Owner, "you")
}

// No thread waits for a lease that is lost while it is taken, and for a store's second one.
func TestLossesOfManyLeasesAreToldToEachHolder(t *testing.T) {
	b := newBed(t)
	var all []*waypost.Lease
	for _, name := range []string{"a", "b", "c", "d"} {
		lease := must(b.leases().TryHold(ctx, name, 10*time.Second))
		defer lease.Release(ctx)
		all = append(all, lease)
	}
	must(0, all[3].Release(ctx))
	equal(t, context.Cause(all[3].Context()), context.Canceled)
	ahead := b.ahead(time.Hour)
	for _, name := range []string{"a", "b"} {
		must(ahead.Leases().Acquire(ctx, nil, name, "you", 24*time.Hour))
	}
	b.advance(6 * time.Second)
	for _, lease := range all[:2] {
		wait(t, lease.Context().Done())
		equal(t, context.Cause(lease.Context()), waypost.ErrLeaseLost)
	}
	must(0, all[2].Check())
	equal(t, all[2].Context().Err(), nil)
	for range 20 { // the goroutine that waits for losses comes and goes
		must(0, must(b.leases().TryHold(ctx, "short", time.Second)).Release(ctx))
	}
}

// A further release has no effect on a lease that came to lie where the released one was.
func TestSecondReleaseOnlyConcernsItsLease(t *testing.T) {
	b := newBed(t)
	hold := func() (all []*waypost.Lease) {
		for _, name := range strings.Fields("a b c d e f g h") {
			lease := must(b.leases().TryHold(ctx, name, 10*time.Second))
			t.Cleanup(func() { lease.Release(ctx) })
			all = append(all, lease)
		}
		return all
	}
	release := func(all []*waypost.Lease) {
		for _, lease := range all {
			must(0, lease.Release(ctx))
		}
	}
	first := hold()
	release(first)
	second := hold()
	release(first)
	ahead := b.ahead(time.Hour)
	for _, lease := range second {
		must(ahead.Leases().Acquire(ctx, nil, lease.Name(), "you", 24*time.Hour))
	}
	b.advance(6 * time.Second)
	for _, lease := range second {
		wait(t, lease.Context().Done())
		equal(t, context.Cause(lease.Context()), waypost.ErrLeaseLost)
	}
}

// scenario: LEA-005
// proves: LSE-007
func TestHoldWaitsAndSaysWhoHasIt(t *testing.T) {
	b := newBed(t)
	store := b.live()
	first := must(store.Leases().TryHold(ctx, "l", time.Minute, waypost.Owner("me")))
	defer first.Release(ctx)
	_, err := store.Leases().TryHold(ctx, "l", time.Minute)
	fails(t, err, waypost.ErrTimeout)
	var held *waypost.HeldError
	if !errors.As(err, &held) || held.Holder.Owner != "me" || !strings.Contains(err.Error(), `"me"`) {
		t.Fatalf("%v does not say who has it", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = store.Leases().Hold(short, "l", time.Minute)
	fails(t, err, waypost.ErrTimeout)
	fails(t, err, context.DeadlineExceeded)
	_, err = store.Leases().Hold(short, "l", time.Minute)
	fails(t, err, context.DeadlineExceeded)
	got := make(chan *waypost.Lease)
	go func() { got <- must(store.Leases().Hold(ctx, "l", time.Minute)) }()
	must(0, first.Release(ctx))
	second := <-got
	equal(t, second.Fence() > first.Fence(), true)
	must(0, second.Release(ctx))
	must(0, second.Release(ctx))
}

// proves: LSE-001, SEM-001
func TestLeaseErrorsSayWhatIsWrong(t *testing.T) {
	b := newBed(t)
	fails(t, b.leases().Run(ctx, "l", time.Second, nil), waypost.ErrArgument)
	fails(t, b.leases().Lead(ctx, "l", time.Second, nil), waypost.ErrArgument)
	_, err := b.leases().TryHold(ctx, "l", time.Second, waypost.Owner(""))
	fails(t, err, waypost.ErrArgument)
	_, err = b.leases().Hold(ctx, "l", time.Second, waypost.Owner(""))
	fails(t, err, waypost.ErrArgument)
	must(0, b.store.Semaphores().SetLimit(ctx, nil, "s", 0))
	_, err = b.store.Semaphores().TryHold(ctx, "s", time.Second)
	fails(t, err, waypost.ErrTimeout)
	equal(t, err.Error(), `waypost: "s" has 0 holders of 0`)
}

// scenario: LEA-006
// proves: LSE-006, LSE-003
func TestLeaseIsRenewedByHandAndReleasedAfterRun(t *testing.T) {
	b := newBed(t)
	lease := must(b.leases().TryHold(ctx, "l", 10*time.Second))
	b.advance(3 * time.Second)
	must(0, lease.Renew(ctx))
	equal(t, must(b.leases().Get(ctx, nil, "l")).Until, now.Add(13*time.Second))
	must(0, lease.Release(ctx))
	fails(t, lease.Check(), waypost.ErrState)
	fails(t, lease.Renew(ctx), waypost.ErrState)
	boom := errors.New("boom")
	var inside context.Context
	err := b.leases().Run(ctx, "l", 10*time.Second, func(ctx context.Context, lease *waypost.Lease) error {
		inside = ctx
		equal(t, b.acquire(nil, "you").Granted, false)
		return boom
	})
	equal(t, err, boom)
	must(0, b.leases().Run(ctx, "l", 10*time.Second, func(ctx context.Context, lease *waypost.Lease) error {
		return lease.Release(ctx)
	}))
	fails(t, inside.Err(), context.Canceled)
	equal(t, b.acquire(nil, "you").Granted, true)
	must(b.leases().Release(ctx, nil, "l", "you", 0))
	gone, cancel := context.WithCancel(ctx)
	err = b.leases().Run(gone, "l", 10*time.Second, func(ctx context.Context, _ *waypost.Lease) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	fails(t, err, context.Canceled)
	err = b.leases().Run(ctx, "l", 10*time.Second, func(ctx context.Context, _ *waypost.Lease) error {
		must(b.ahead(time.Hour).Leases().Acquire(ctx, nil, "l", "you", 24*time.Hour))
		b.advance(6 * time.Second)
		<-ctx.Done()
		equal(t, context.Cause(ctx), waypost.ErrLeaseLost)
		return nil
	})
	fails(t, err, waypost.ErrLeaseLost)
	func() {
		defer func() { _ = recover() }()
		_ = b.leases().Run(ctx, "panics", time.Minute, func(context.Context, *waypost.Lease) error { panic("boom") })
	}()
	equal(t, must(b.leases().Acquire(ctx, nil, "panics", "you", time.Second)).Granted, true)
}

func idle(context.Context, *waypost.Lease) error { return nil }

// So what a try acquired whose answer was lost is the next one's.
// proves: LSE-001, LSE-007
func TestAllTriesOfAHoldAreOfOneOwner(t *testing.T) {
	b := newBed(t)
	if b.store.Engine() != "sqlite" {
		return // the trigger is SQLite's
	}
	must(0, must(b.leases().TryHold(ctx, "l", time.Second)).Release(ctx))
	b.exec(b.db, `CREATE TABLE tried (owner TEXT)`)
	b.exec(b.db, `CREATE TRIGGER trouble BEFORE INSERT ON infra_lease WHEN (SELECT count(*) FROM tried) < 50
		BEGIN INSERT INTO tried VALUES (NEW.owner); SELECT RAISE(IGNORE); END`) // a try asks up to 20 times
	lease := must(b.leases().Hold(ctx, "l", time.Minute))
	defer lease.Release(ctx)
	var tries, owners int
	must(0, b.db.QueryRowContext(ctx, `SELECT count(*), count(DISTINCT owner) FROM tried`).Scan(&tries, &owners))
	equal(t, []int{tries, owners}, []int{50, 1})
}

// scenario: LEA-009
// proves: LSE-004, LSE-005
func TestLeaderBeginsAnewAfterALossAndEndsAsItsWork(t *testing.T) {
	b := newBed(t)
	lead := func(ctx context.Context, work func(context.Context, *waypost.Lease) error) error {
		return b.leases().Lead(ctx, "l", 10*time.Second, work)
	}
	var fences []int64
	ends := []error{nil, waypost.ErrLeaseLost, context.Canceled}
	must(0, lead(ctx, func(ctx context.Context, lease *waypost.Lease) error {
		fences = append(fences, lease.Fence())
		if len(fences) > len(ends) {
			return nil
		}
		must(b.leases().Release(ctx, nil, "l", lease.Owner(), 0))
		b.advance(6 * time.Second)
		wait(t, ctx.Done())
		equal(t, context.Cause(ctx), waypost.ErrLeaseLost)
		return ends[len(fences)-1]
	}))
	equal(t, len(fences), 4)
	for i := range ends {
		equal(t, fences[i+1] > fences[i], true)
	}

	boom := errors.New("boom")
	equal(t, lead(ctx, func(ctx context.Context, lease *waypost.Lease) error {
		must(b.leases().Release(ctx, nil, "l", lease.Owner(), 0))
		b.advance(6 * time.Second)
		wait(t, ctx.Done())
		return boom // its own, though the lease was lost
	}), boom)
	equal(t, lead(ctx, func(context.Context, *waypost.Lease) error { return waypost.ErrLeaseLost }),
		waypost.ErrLeaseLost) // another one's
	gone, cancel := context.WithCancel(ctx)
	fails(t, lead(gone, func(ctx context.Context, _ *waypost.Lease) error {
		cancel()
		wait(t, ctx.Done())
		return ctx.Err()
	}), context.Canceled)
	equal(t, b.acquire(nil, "you").Granted, true)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	fails(t, lead(short, idle), waypost.ErrTimeout)
}

// scenario: LEA-009
// proves: LSE-005, LSE-007
func TestLeaderWaitsOutErrorsThatMayPass(t *testing.T) {
	b := newBed(t)
	lock := map[string][]string{
		"sqlite":     {"BEGIN IMMEDIATE"},
		"postgresql": {"BEGIN; LOCK TABLE " + strings.TrimSuffix(b.orders, "_orders") + ".lease"},
		"mariadb":    {"BEGIN", "SELECT name FROM infra_lease FOR UPDATE"}, // also where rows would come
		"sqlserver":  {"BEGIN TRANSACTION"},
	}
	failing := &flag{text: "leader could not be elected", seen: make(chan struct{})}
	store := b.open(waypost.WithOption("store.busy_timeout_ms", "0"),
		waypost.WithOption("store.response_timeout_ms", "100"), waypost.WithLogger(slog.New(failing)))
	conn := must(b.db.Conn(ctx))
	defer conn.Close()
	for _, statement := range lock[b.store.Engine()] {
		b.exec(conn, statement)
	}
	if onSqlserver() { // whose hints not each server that speaks TDS heeds
		must(b.leases().Acquire(ctx, conn, "l", "somebody", time.Minute))
	}
	short, cancel := context.WithCancel(ctx)
	go func() { <-failing.seen; cancel() }()
	err := store.Leases().Lead(short, "l", time.Minute, idle)
	fails(t, err, waypost.ErrUnavailable)
	fails(t, err, context.Canceled)
	_, err = store.Leases().Hold(ctx, "l", time.Minute)
	fails(t, err, waypost.ErrUnavailable)
	b.exec(conn, "ROLLBACK")
	// Not "l": a server may have acquired that for a client that had given up.
	must(0, b.leases().Lead(ctx, "m", time.Minute, func(context.Context, *waypost.Lease) error { return nil }))
}

// flag is a slog.Handler that notes whether a message came.
type flag struct {
	text string
	once sync.Once
	seen chan struct{}
}

func (f *flag) Enabled(context.Context, slog.Level) bool { return true }
func (f *flag) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f *flag) WithGroup(string) slog.Handler            { return f }
func (f *flag) Handle(_ context.Context, record slog.Record) error {
	if strings.Contains(record.Message, f.text) {
		f.once.Do(func() { close(f.seen) })
	}
	return nil
}

// scenario: LEA-007
// proves: SEM-001
func TestSemaphoreHasNeverMoreHoldersThanItsLimit(t *testing.T) {
	b := newBed(t)
	_, err := b.semaphores().Acquire(ctx, nil, "s", "r1", time.Minute)
	fails(t, err, waypost.ErrNotFound)
	_, err = b.semaphores().TryHold(ctx, "s", time.Minute)
	fails(t, err, waypost.ErrNotFound)
	for _, on := range []waypost.Execer{nil, b.db} {
		must(0, b.semaphores().SetLimit(ctx, on, "s", 2))
		acquire := func(request string) bool {
			return must(b.semaphores().Acquire(ctx, on, "s", request, time.Minute)).Granted
		}
		equal(t, []bool{acquire("r1"), acquire("r1"), acquire("r2"), acquire("r3")},
			[]bool{true, true, true, false})
		info := must(b.semaphores().Get(ctx, on, "s"))
		equal(t, []int{info.Limit, info.Holders}, []int{2, 2})
		must(0, b.semaphores().SetLimit(ctx, on, "s", 1))
		equal(t, must(b.semaphores().Release(ctx, on, "s", "r1", 0)), true)
		equal(t, acquire("r3"), false)
		must(b.semaphores().Renew(ctx, on, "s", "r2", 0, time.Minute))
		equal(t, must(b.semaphores().Release(ctx, on, "s", "r2", 0)), true)
		equal(t, acquire("r3"), true)
		must(b.semaphores().Release(ctx, on, "s", "r3", 0))
	}
	must(0, b.semaphores().SetLimit(ctx, nil, "s", 3))
	store := b.live()
	var mu sync.Mutex
	var all sync.WaitGroup
	now, most := 0, 0
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			must(0, store.Semaphores().Run(ctx, "s", time.Minute, func(context.Context, *waypost.Lease) error {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				now--
				mu.Unlock()
				return nil
			}))
		}()
	}
	all.Wait()
	equal(t, most <= 3, true)
}

// scenario: LEA-008
// proves: LSE-008, BND-004
func TestBadArgumentsOfLeasesAreNamed(t *testing.T) {
	b := newBed(t)
	long := strings.Repeat("\U0001f600", 128)
	for _, on := range []waypost.Execer{nil, b.db} {
		for _, bad := range []struct {
			name, owner string
			d           time.Duration
			kind        error
			text        string
		}{{"", "o", 1000, waypost.ErrArgument, "name"}, {"n", "", 1000, waypost.ErrArgument, "owner"},
			{long, "o", 1000, waypost.ErrArgument, "name"}, {"n", long, 1000, waypost.ErrArgument, "owner"},
			{"a\x00", "o", 1000, waypost.ErrArgument, "name"}, {"n", "\x00", 1000, waypost.ErrArgument, "owner"},
			{"n", "o", 0, waypost.ErrRange, "duration"}, {"n", "o", 86400001, waypost.ErrRange, "duration"}} {
			_, err := b.leases().Acquire(ctx, on, bad.name, bad.owner, bad.d*time.Millisecond)
			if !errors.Is(err, bad.kind) || !strings.Contains(err.Error(), bad.text) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		for _, limit := range []int{-1, 1000001} {
			fails(t, b.semaphores().SetLimit(ctx, on, "s", limit), waypost.ErrRange)
		}
		_, err := b.leases().Renew(ctx, on, "n", "o", -1, time.Second)
		fails(t, err, waypost.ErrRange)
	}
	_, err := b.leases().TryHold(ctx, "n", 99*time.Millisecond)
	fails(t, err, waypost.ErrRange)
	_, err = b.leases().Hold(ctx, "", time.Minute)
	fails(t, err, waypost.ErrArgument)
	for _, name := range []string{"n", "N", "n "} {
		equal(t, must(b.leases().Acquire(ctx, nil, name, "o"+name, time.Minute)).Granted, true)
	}
	_, err = b.leases().Get(ctx, (*nilTx)(nil), "n")
	fails(t, err, waypost.ErrArgument)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.leases().Acquire(gone, nil, "n", "o", time.Second)
	fails(t, err, context.Canceled)
	_, err = b.leases().Hold(gone, "free", time.Second)
	fails(t, err, context.Canceled)
}

type nilTx struct{ waypost.Execer }

// proves: BND-003
func TestLeasesOfAClosedStoreAndDroppedOnes(t *testing.T) {
	b := newBed(t)
	store := b.open(waypost.WithClock(b.clock))
	kept := must(store.Leases().TryHold(ctx, "kept", 10*time.Second))
	store.Close()
	_, err := store.Leases().TryHold(ctx, "l", time.Minute)
	fails(t, err, waypost.ErrState)
	equal(t, store.Leases().Counters(), waypost.LeaseCounters{})
	must(0, kept.Check())
	must(0, kept.Renew(ctx))
	work := must(b.leases().TryHold(ctx, "work", 10*time.Second)).Context()
	must(b.leases().TryHold(ctx, "dropped", 10*time.Second))
	until(t, func() bool {
		runtime.GC()
		return must(b.leases().Acquire(ctx, nil, "dropped", "you", time.Second)).Granted
	})
	equal(t, work.Err(), nil) // who has the context, has the lease
	equal(t, must(b.leases().Acquire(ctx, nil, "work", "you", time.Second)).Granted, false)
	runtime.KeepAlive(work)
	must(0, kept.Release(ctx))
	equal(t, must(b.leases().Acquire(ctx, nil, "kept", "you", time.Second)).Granted, true)
}
