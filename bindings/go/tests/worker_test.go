// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waypost"
)

type delivery = *waypost.Delivery

func nothing(context.Context, delivery) error { return nil }

// scenario: WRK-101
// proves: BND-003
func TestHandlerGetsTheWholeMessageAndNilAcksIt(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithName("w1"))
	made := b.enqueue(waypost.Message{Topic: "a", Payload: []byte("\U0001f600"), CorrelationID: "c",
		OrderingKey: "k", Headers: map[string]string{"traceparent": "00"}, Expires: now.Add(time.Minute)})
	var got waypost.Received
	b.handle(w, "a", func(ctx context.Context, d delivery) error { got = d.Received; return ctx.Err() })
	equal(t, b.drain(w), 1)
	equal(t, got, waypost.Received{ID: made.ID, Topic: "a", Payload: []byte("\U0001f600"),
		CorrelationID: "c", OrderingKey: "k", Headers: map[string]string{"traceparent": "00"},
		ClaimNumber: 1, Created: now, Due: now, Expires: now.Add(time.Minute)})
	equal(t, b.get(made.ID).State, waypost.Done)
	equal(t, b.get(made.ID).FinishedBy, "w1")
	equal(t, w.Counters().Acked, 1)
}

// scenario: WRK-102
func TestRetryWithDelayAndReason(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "a", func(_ context.Context, d delivery) error {
		if d.Attempt == 0 {
			return fmt.Errorf("wrapped: %w", waypost.Retry(errors.New("not yet"), 5*time.Second))
		}
		return nil
	})
	made := b.enqueue(message("a", "1"))
	b.drain(w)
	equal(t, b.get(made.ID).LastError, "wrapped: not yet")
	equal(t, b.get(made.ID).NextAttempt, now.Add(5*time.Second))
	equal(t, b.drain(w), 0)
	b.advance(5 * time.Second)
	equal(t, b.drain(w), 1)
	equal(t, b.get(made.ID).State, waypost.Done)
}

type odd struct{}

func (*odd) Error() string { panic("no text") }
func (*odd) Is(error) bool { panic("no kind") }

// scenario: WRK-103
// proves: BND-003
func TestHandlerThatFailsPanicsOrExitsIsRetriedWithItsText(t *testing.T) {
	cases := []struct {
		handler waypost.Handler
		reason  string
	}{
		{func(context.Context, delivery) error { return errors.New("boom") }, "boom"},
		{func(context.Context, delivery) error { panic("boom") }, "panic: boom"},
		{func(context.Context, delivery) error { panic(nil) }, "panic: panic called with nil argument"},
		{func(context.Context, delivery) error { var m map[string]int; m["x"] = 1; return nil }, "panic: assignment to entry in nil map"},
		{func(context.Context, delivery) error { runtime.Goexit(); return nil }, "the handler ended its goroutine"},
		{func(context.Context, delivery) error { return &odd{} }, "*tests.odd"},
		{func(context.Context, delivery) error { return errors.New("nul \x00 \xff") }, "nul \\0 \uFFFD"},
	}
	for _, c := range cases {
		for _, running := range []bool{false, true} {
			b := newBed(t)
			store := b.store
			if running {
				store = b.live()
			}
			w := b.worker(store, waypost.WithBackoff(time.Hour, time.Hour))
			b.handle(w, "a", c.handler)
			made := must(store.Outbox().Enqueue(ctx, nil, message("a", "secret")))
			if running {
				b.start(w)
				until(t, func() bool { return b.get(made.ID).LastError != "" })
			} else {
				b.drain(w)
			}
			if got := b.get(made.ID).LastError; !strings.HasPrefix(got, c.reason) {
				t.Fatalf("got %q, want %q", got, c.reason)
			}
			equal(t, b.get(made.ID).Message.Attempt, 1)
		}
	}
}

// scenario: WRK-104
func TestRejectMakesADeadLetterAtOnce(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "a", func(context.Context, delivery) error { return waypost.Reject(errors.New("never")) })
	made := b.enqueue(message("a", "1"))
	b.drain(w)
	equal(t, b.get(made.ID).State, waypost.Failed)
	equal(t, b.get(made.ID).LastError, "never")
}

// scenario: WRK-105
func TestPastMaxAttemptsTheMessageIsADeadLetter(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithMaxAttempts(3))
	calls := 0
	b.handle(w, "a", func(context.Context, delivery) error { calls++; return errors.New("again") })
	made := b.enqueue(message("a", "1"))
	for i := 0; i < 5; i++ {
		b.drain(w)
		b.advance(time.Minute)
	}
	equal(t, calls, 3)
	equal(t, b.get(made.ID).State, waypost.Failed)
}

// scenario: WRK-106
func TestDeferredDeliveryIsFinishedLater(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	kept := make(chan delivery, 3)
	b.handle(w, "a", func(_ context.Context, d delivery) error { kept <- d; return waypost.ErrDeferred })
	var ids []waypost.ID
	for _, payload := range []string{"done", "retry", "reject"} {
		ids = append(ids, must(store.Outbox().Enqueue(ctx, nil, message("a", payload))).ID)
	}
	b.start(w)
	var group sync.WaitGroup
	for range ids {
		d := <-kept
		group.Add(1)
		go func() {
			defer group.Done()
			fails(t, d.Settle(ctx), waypost.ErrState)
			switch string(d.Payload) {
			case "done":
				must(0, d.Done())
				fails(t, d.Done(), waypost.ErrState)
			case "retry":
				must(0, d.Retry("later", time.Hour))
			default:
				must(0, d.Reject("never"))
			}
			must(0, d.Settle(ctx))
		}()
	}
	group.Wait()
	for i, state := range []waypost.State{waypost.Done, waypost.Ready, waypost.Failed} {
		equal(t, b.get(ids[i]).State, state)
	}
	made := must(store.Outbox().Enqueue(ctx, nil, message("a", "dropped")))
	(<-kept).Close()
	until(t, func() bool { return b.get(made.ID).LastError != "" })
}

// scenario: WRK-107
func TestPullDeliveriesOneByOne(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	must(0, w.Subscribe(waypost.OutboxKind, "a"))
	fails(t, w.Start(ctx), waypost.ErrState)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := w.Next(short)
	fails(t, err, context.DeadlineExceeded)
	for i := 0; i < 3; i++ {
		made := must(store.Outbox().Enqueue(ctx, nil, message("a", "1")))
		d := must(w.Next(ctx))
		equal(t, d.ID, made.ID)
		must(0, d.Done())
		must(0, d.Settle(ctx))
		equal(t, b.get(made.ID).State, waypost.Done)
	}
	must(0, w.Stop(ctx))
}

// A further Close has no effect on a delivery that came to lie where the closed one was.
func TestSecondCloseOnlyConcernsItsDelivery(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store, waypost.WithConcurrency(64))
	must(0, w.Subscribe(waypost.OutboxKind, "a"))
	take := func() (all []*waypost.Delivery) {
		for range 64 {
			must(store.Outbox().Enqueue(ctx, nil, message("a", "1")))
			all = append(all, must(w.Next(ctx)))
		}
		return all
	}
	first := take()
	for _, d := range first {
		must(0, d.Done())
		must(0, d.Settle(ctx))
	}
	second := take()
	for _, d := range first {
		d.Close()
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	fails(t, w.Stop(short), waypost.ErrTimeout)
	for _, d := range second {
		wait(t, d.Context().Done())
		equal(t, context.Cause(d.Context()), waypost.ErrStopped)
		d.Close()
	}
}

// scenario: WRK-108
func TestTopicWithoutAHandlerIsLeftAlone(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "a", nothing)
	b.enqueue(message("a", "1"))
	b.enqueue(message("nobody", "1"))
	equal(t, b.drain(w), 1)
	equal(t, must(b.outbox.Stats(ctx, true)).Topics["nobody"].Ready, 1)
}

// scenario: WRK-109
func TestHandlerPastItsTimeoutIsToldAndTheOthersGoOn(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store, waypost.WithBackoff(time.Hour, time.Hour))
	causes := make(chan error, 1)
	b.handle(w, "slow", func(ctx context.Context, d delivery) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}, waypost.WithTimeout(50*time.Millisecond))
	b.handle(w, "fast", nothing)
	made := must(store.Outbox().Enqueue(ctx, nil, message("slow", "1")))
	fast := must(store.Outbox().Enqueue(ctx, nil, message("fast", "1")))
	b.start(w)
	until(t, func() bool { return b.get(fast.ID).State == waypost.Done })
	equal(t, <-causes, waypost.ErrTimeout)
	until(t, func() bool { return b.get(made.ID).Message.Attempt == 1 })
}

// scenario: WRK-110
func TestStopLetsARunningHandlerFinish(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store, waypost.WithConcurrency(1))
	started := make(chan struct{}, 10)
	b.handle(w, "a", func(ctx context.Context, d delivery) error {
		started <- struct{}{}
		<-d.Stopping()
		return ctx.Err()
	})
	many := make([]waypost.Message, 10)
	for i := range many {
		many[i] = message("a", "1")
	}
	made := must(store.Outbox().EnqueueMany(ctx, nil, many))
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	wait(t, started)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	equal(t, b.get(made[0].ID).State, waypost.Done)
	for _, one := range made[1:] {
		equal(t, b.get(one.ID).State, waypost.Ready)
		equal(t, b.get(one.ID).Message.Attempt, 0)
	}
	equal(t, len(started), 0)
}

// scenario: WRK-110
func TestStopFromAHandler(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	b.handle(w, "a", func(ctx context.Context, d delivery) error { return w.Stop(ctx) })
	made := must(store.Outbox().Enqueue(ctx, nil, message("a", "1")))
	must(0, w.Run(ctx))
	equal(t, b.get(made.ID).State, waypost.Done)
}

// scenario: WRK-111
func TestStopReturnsByItsDeadline(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	b.handle(w, "a", func(ctx context.Context, d delivery) error {
		close(started)
		<-release
		ended <- context.Cause(ctx)
		return nil
	})
	must(store.Outbox().Enqueue(ctx, nil, message("a", "1")))
	b.start(w)
	wait(t, started)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	fails(t, w.Stop(short), waypost.ErrTimeout)
	close(release)
	fails(t, <-ended, waypost.ErrStopped)
}

// proves: OBX-116
func TestReleaseGivesTheMessageBackAtOnceWithTheSameAttempt(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	var attempts []int
	b.handle(w, "a", func(_ context.Context, d delivery) error {
		attempts = append(attempts, int(d.Attempt))
		switch len(attempts) {
		case 1:
			return fmt.Errorf("wrapped: %w", waypost.ErrRelease)
		case 2:
			if err := d.Release(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	made := b.enqueue(message("a", "1"))
	equal(t, b.drain(w), 3)
	equal(t, attempts, []int{0, 0, 0})
	equal(t, b.get(made.ID).State, waypost.Done)
	equal(t, w.Counters().Released, 2)
	equal(t, w.Counters().Abandoned, 0)
}

// proves: OBX-116
func TestHandlerThatAStopCancelsGivesItsMessageBack(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	started := make(chan struct{})
	b.handle(w, "a", func(ctx context.Context, _ delivery) error {
		close(started)
		<-ctx.Done()
		return fmt.Errorf("query: %w", ctx.Err())
	})
	made := must(store.Outbox().Enqueue(ctx, nil, message("a", "1")))
	b.start(w)
	wait(t, started)
	soon, cancel := context.WithTimeout(ctx, 4*time.Second) // it cancels half way
	defer cancel()
	equal(t, w.Stop(soon), nil)
	info := b.get(made.ID)
	equal(t, info.State, waypost.Ready)
	equal(t, info.Message.Attempt, 0)
	equal(t, info.LastError, "")
}

// proves: LOG-001
func TestLogTellsARetryThatWasAskedForFromAFailure(t *testing.T) {
	for text, handler := range map[string]waypost.Handler{
		"level=INFO msg=\"handler asked for a retry\"": func(context.Context, delivery) error {
			return waypost.Retry(errors.New("later"), time.Hour)
		},
		"level=ERROR msg=\"handler failed, will retry\"": func(context.Context, delivery) error {
			return errors.New("boom")
		},
	} {
		b := newBed(t)
		var log strings.Builder
		store := b.open(waypost.WithClock(b.clock), waypost.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		w := b.worker(store)
		b.handle(w, "a", handler)
		b.enqueue(message("a", "1"))
		b.drain(w)
		store.Close()
		if !strings.Contains(log.String(), text) {
			t.Fatalf("no %q in %s", text, log.String())
		}
	}
}

// scenario: WRK-112
func TestLeaseThatIsTakenAwayIsTold(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithLease(30*time.Second))
	started, told := make(chan struct{}), make(chan error, 2)
	b.handle(w, "a", func(ctx context.Context, d delivery) error {
		close(started)
		<-ctx.Done()
		told <- context.Cause(ctx)
		told <- d.Done()
		return nil
	})
	b.enqueue(message("a", "1"))
	ahead := must(waypost.NewManualClock(now.Add(time.Hour)))
	defer ahead.Close()
	other := b.open(waypost.WithClock(ahead))
	b.start(w)
	wait(t, started)
	equal(t, must(other.Outbox().Reap(ctx)), 1)
	ahead.Advance(time.Hour)
	equal(t, len(must(other.Outbox().Claim(ctx, waypost.NewID(), nil, 1, time.Hour))), 1)
	b.advance(20 * time.Second)
	equal(t, <-told, waypost.ErrLeaseLost)
	fails(t, <-told, waypost.ErrLeaseLost)
	equal(t, w.Counters().LeasesLost, 1)
}

// scenario: WRK-113
func TestPoisonMessageEndsAsADeadLetter(t *testing.T) {
	b := newBed(t)
	made := b.enqueue(message("a", "1"))
	for i := 0; i < 12; i++ { // whoever claims it, dies
		b.claim()
		b.advance(30 * time.Second)
		must(b.outbox.Reap(ctx))
		b.advance(time.Minute)
	}
	equal(t, b.get(made.ID).State, waypost.Failed)
	equal(t, b.get(made.ID).LastError, "lease expired")
}

// scenario: WRK-114
func TestMessagesRunInParallelUpToTheConcurrency(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store, waypost.WithConcurrency(4))
	var running, most, handled atomic.Int64
	gate := make(chan struct{})
	b.handle(w, "a", func(context.Context, delivery) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		if handled.Add(1) == 4 {
			close(gate) // passes only when four are here at once
		}
		<-gate
		running.Add(-1)
		return nil
	})
	many := make([]waypost.Message, 40)
	for i := range many {
		many[i] = message("a", "1")
	}
	must(store.Outbox().EnqueueMany(ctx, nil, many))
	b.start(w)
	until(t, func() bool { return w.Counters().Acked == 40 })
	equal(t, []int64{most.Load(), handled.Load()}, []int64{4, 40})
}

// scenario: WRK-115
// proves: BND-002
func TestHandlerCompletesInTheAppsOwnTransaction(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithName("w1"))
	b.handle(w, "a", func(ctx context.Context, d delivery) error {
		tx := must(b.db.BeginTx(ctx, nil))
		defer tx.Rollback()
		b.order(tx)
		if err := d.Complete(ctx, tx); err != nil || d.Attempt == 0 {
			return err
		}
		return tx.Commit()
	})
	made := b.enqueue(message("a", "1"))
	b.drain(w)
	equal(t, b.orderCount(), 0)
	equal(t, b.get(made.ID).Message.Attempt, 1)
	b.advance(time.Minute)
	b.drain(w)
	equal(t, b.orderCount(), 1)
	equal(t, b.get(made.ID).FinishedBy, "w1")
}

// scenario: WRK-116
func TestDrainAndStep(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "a", nothing)
	equal(t, must(w.Step(ctx)), 0)
	for i := 0; i < 3; i++ {
		b.enqueue(message("a", "1"))
	}
	b.enqueue(waypost.Message{Topic: "a", Payload: []byte("later"), Delay: time.Minute})
	equal(t, must(w.Step(ctx)), 1)
	equal(t, b.drain(w), 2)
	b.advance(time.Minute)
	equal(t, b.drain(w), 1)
	b.start(w)
	_, err := w.Step(ctx)
	fails(t, err, waypost.ErrState)
	fails(t, w.Handle("b", nothing), waypost.ErrState)
	must(0, w.Stop(ctx))
	equal(t, must(w.Step(ctx)), 0)
	equal(t, w.Counters().Acked, 4)
}

// scenario: WRK-117
func TestJumpOfTheWallClockLosesNoLease(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		b := newBed(t)
		w := b.worker(b.store, waypost.WithLease(30*time.Second))
		started, release := make(chan struct{}, 2), make(chan struct{})
		b.handle(w, "a", func(context.Context, delivery) error { started <- struct{}{}; <-release; return nil })
		made := b.enqueue(message("a", "1"))
		b.start(w)
		wait(t, started)
		for i, seconds := range []time.Duration{20, 1, 20, 20} {
			b.advance(seconds * time.Second)
			until(t, func() bool { return w.Counters().Renewed >= int64(i+1) })
			if i == 0 {
				must(0, b.clock.Jump(jump))
			}
		}
		close(release)
		until(t, func() bool { return b.get(made.ID).State == waypost.Done })
		equal(t, w.Counters().LeasesLost, 0)
		equal(t, len(started), 0)
	}
}

// scenario: WRK-118
func TestTwoWorkersOnTwoStoresDoNotMix(t *testing.T) {
	var handled [2]atomic.Int64
	var workers [2]*waypost.Worker
	for i := range workers {
		b := newBed(t)
		store := b.live()
		want := fmt.Sprint(i)
		workers[i] = b.worker(store)
		b.handle(workers[i], "a", func(_ context.Context, d delivery) error {
			if string(d.Payload) == want {
				handled[i].Add(1)
			}
			return nil
		})
		for n := 0; n < 50; n++ {
			must(store.Outbox().Enqueue(ctx, nil, message("a", want)))
		}
		b.start(workers[i])
	}
	for i, w := range workers {
		until(t, func() bool { return w.Counters().Acked == 50 })
		equal(t, handled[i].Load(), 50)
	}
}

// scenario: WRK-119
func TestOptionsOfOneTopicDifferFromTheWorkers(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithBackoff(10*time.Second, 10*time.Second),
		waypost.WithOption("worker.backoff_jitter", "0"))
	fail := func(context.Context, delivery) error { return errors.New("again") }
	b.handle(w, "once", fail, waypost.WithMaxAttempts(1))
	b.handle(w, "slow", fail, waypost.WithBackoff(100*time.Second, 100*time.Second))
	once, slow := b.enqueue(message("once", "1")), b.enqueue(message("slow", "1"))
	b.drain(w)
	equal(t, b.get(once.ID).State, waypost.Failed)
	equal(t, b.get(slow.ID).NextAttempt, now.Add(100*time.Second))
	fresh := b.worker(b.store)
	b.handle(fresh, "once", fail)
	fails(t, fresh.Handle("once", fail), waypost.ErrState)
	fails(t, fresh.Handle("x", fail, waypost.WithOption("worker.name", "y")), waypost.ErrConfig)
}

// proves: BND-003
func TestHandlesSurviveGarbageCollection(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	var kept []delivery
	var mu sync.Mutex
	b.handle(w, "a", func(_ context.Context, d delivery) error {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, d)
		return nil
	})
	many := make([]waypost.Message, 1000)
	for i := range many {
		many[i] = message("a", fmt.Sprint(i))
	}
	must(store.Outbox().EnqueueMany(ctx, nil, many))
	b.start(w)
	for w.Counters().Acked < 1000 {
		runtime.GC()
	}
	seen := map[string]bool{}
	for _, d := range kept {
		seen[string(d.Payload)] = true
		fails(t, d.Done(), waypost.ErrState)
	}
	equal(t, len(seen), 1000)
}
