// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"waypost"
)

// each runs a test for every queue of a store of its own. send gives the id of a message of a topic.
func each(t *testing.T, test func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID)) {
	queues := map[string]func(*bed) (waypost.Queue, func(name, topic string) waypost.ID){
		"outbox": func(b *bed) (waypost.Queue, func(name, topic string) waypost.ID) {
			return b.outbox.Queue, func(name, topic string) waypost.ID {
				return b.enqueue(message(topic, name)).ID
			}
		},
		"inbox": func(b *bed) (waypost.Queue, func(name, topic string) waypost.ID) {
			return b.inbox().Queue, func(name, topic string) waypost.ID {
				return b.arrive(key(name), topic, name).ID
			}
		},
		"timers": func(b *bed) (waypost.Queue, func(name, topic string) waypost.ID) {
			return b.store.Timers().Queue, func(name, topic string) waypost.ID {
				return must(b.store.Timers().Schedule(ctx, nil, message(topic, name))).ID
			}
		},
		"job runs": func(b *bed) (waypost.Queue, func(name, topic string) waypost.ID) {
			return b.store.Runs().Queue, func(name, topic string) waypost.ID {
				must(0, b.store.Jobs().Put(ctx, waypost.NewJob(topic, waypost.Every(1000*time.Hour),
					waypost.WhenOverlapping(waypost.OverlapAllow))))
				return must(b.store.Jobs().Trigger(ctx, topic))
			}
		},
	}
	for name, make := range queues {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			q, send := make(b)
			equal(t, q.Kind().String(), name)
			test(b, q, send)
		})
	}
}

// bury makes a dead letter of what is claimable.
func bury(b *bed, q waypost.Queue, reason string) {
	owner := waypost.NewID()
	claim := must(q.Claim(ctx, owner, nil, 100, time.Minute))
	equal(b.t, must(q.Fail(ctx, owner, claim, reason)), len(claim))
	b.advance(time.Millisecond)
}

func dead(q waypost.Queue, filter waypost.DeadFilter) int {
	page := must(q.DeadLetters(ctx, filter, 100))
	defer page.Close()
	return len(page.Items)
}

// scenario: DED-001
// proves: DLQ-001
func TestDeadLettersAreListedInPagesAndByFilter(t *testing.T) {
	each(t, func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID) {
		var ids []waypost.ID
		for i := range 5 {
			ids = append(ids, send(fmt.Sprint(i), []string{"even", "odd"}[i%2]))
			bury(b, q, []string{"broken pipe", "no such order"}[i/2%2])
		}
		var listed []waypost.ID
		page, err := q.DeadLetters(ctx, waypost.DeadFilter{}, 2)
		for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
			for i, info := range page.Items {
				equal(b.t, info.State, waypost.Failed)
				equal(b.t, info.Finished, now.Add(time.Duration(len(listed))*time.Millisecond))
				listed = append(listed, page.Items[i].Message.ID)
			}
		}
		must(0, err)
		page.Close()
		equal(b.t, listed, ids)
		for want, filter := range map[int]waypost.DeadFilter{
			2: {Topic: "odd"}, 3: {Reason: "pipe"}, 1: {Topic: "odd", Reason: "order"},
			4: {From: now.Add(time.Millisecond)}, 0: {Until: now.Add(-time.Second)}} {
			equal(b.t, dead(q, filter), want)
		}
		equal(b.t, dead(q, waypost.DeadFilter{IDs: ids[1:4]}), 3)
		for _, none := range []waypost.DeadFilter{{IDs: ids[:0]}, {IDs: []waypost.ID{}}} {
			equal(b.t, dead(q, none), 0)
			equal(b.t, must(q.ReplayDead(ctx, none, 10, 0, "")), 0)
			equal(b.t, must(q.PurgeDead(ctx, none, 10, "")), 0)
		}
		equal(b.t, dead(q, waypost.DeadFilter{}), 5)
		_, err = q.DeadLetters(ctx, waypost.DeadFilter{}, 0)
		fails(b.t, err, waypost.ErrRange)
		_, err = q.DeadLetters(ctx, waypost.DeadFilter{From: now, Until: now.Add(-1)}, 1)
		fails(b.t, err, waypost.ErrRange)
		_, err = q.DeadLetters(ctx, waypost.DeadFilter{Topic: "a\x00b"}, 1)
		fails(b.t, err, waypost.ErrArgument)
	})
}

// scenario: DED-002
// proves: DLQ-001
func TestDeadLettersAreReplayed(t *testing.T) {
	each(t, func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID) {
		for i := range 3 {
			send(fmt.Sprint(i), "a")
			bury(b, q, "x")
		}
		equal(b.t, must(q.ReplayDead(ctx, waypost.DeadFilter{Topic: "b"}, 10, 0, "me")), 0)
		equal(b.t, must(q.ReplayDead(ctx, waypost.DeadFilter{}, 10, 1, "me")), 3)
		equal(b.t, dead(q, waypost.DeadFilter{}), 0)
		w := b.worker(b.store)
		var attempts []int64
		note := func(_ context.Context, d delivery) error {
			attempts = append(attempts, d.Attempt)
			return nil
		}
		must(0, map[waypost.Kind]func(string, waypost.Handler, ...waypost.Option) error{
			waypost.OutboxKind: w.Handle, waypost.InboxKind: w.HandleInbox,
			waypost.TimerKind: w.HandleTimer, waypost.JobKind: w.HandleRuns}[q.Kind()]("a", note))
		for i := range 3 {
			b.drain(w)
			equal(b.t, len(attempts), i+1) // one a second
			b.advance(time.Second)
		}
		equal(b.t, attempts, []int64{0, 0, 0})
		_, err := q.ReplayDead(ctx, waypost.DeadFilter{}, 0, 0, "")
		fails(b.t, err, waypost.ErrRange)
		_, err = q.ReplayDead(ctx, waypost.DeadFilter{}, 1, 0, "\x00")
		fails(b.t, err, waypost.ErrArgument)
	})
}

// scenario: DED-003
// proves: DLQ-001
func TestDeadLettersArePurged(t *testing.T) {
	each(t, func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID) {
		first := send("1", "a")
		bury(b, q, "x")
		send("2", "b")
		bury(b, q, "x")
		send("3", "c")
		equal(b.t, must(q.PurgeDead(ctx, waypost.DeadFilter{IDs: []waypost.ID{first}}, 10, "")), 1)
		equal(b.t, dead(q, waypost.DeadFilter{}), 1)
		equal(b.t, must(q.PurgeDead(ctx, waypost.DeadFilter{}, 10, "")), 1)
		equal(b.t, dead(q, waypost.DeadFilter{}), 0)
		equal(b.t, topicsOf(must(q.Claim(ctx, waypost.NewID(), nil, 10, time.Minute))), []string{"c"})
		if q.Kind() == waypost.InboxKind {
			equal(b.t, b.found(nil, key("1")), waypost.FoundNew)
		}
	})
}

// scenario: DED-005
// proves: DLQ-001
func TestDeadLettersOfAllQueuesAreOneList(t *testing.T) {
	b := newBed(t)
	queues := []waypost.Queue{b.outbox.Queue, b.inbox().Queue, b.store.Timers().Queue}
	var kinds []waypost.Kind
	for _, topic := range []string{"early", "late"} {
		b.enqueue(message(topic, topic))
		bury(b, queues[0], "x")
		b.arrive(key(topic), topic, topic)
		bury(b, queues[1], "x")
		must(b.store.Timers().Schedule(ctx, nil, message(topic, topic)))
		bury(b, queues[2], "x")
		kinds = append(kinds, waypost.OutboxKind, waypost.InboxKind, waypost.TimerKind)
	}
	all := b.store.AllQueues()
	var listed []waypost.Kind
	page, err := all.DeadLetters(ctx, waypost.DeadFilter{}, 4)
	for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
		for _, info := range page.Items {
			listed = append(listed, info.Kind)
		}
	}
	must(0, err)
	page.Close()
	equal(t, listed, kinds)
	equal(t, must(all.PurgeDead(ctx, waypost.DeadFilter{Topic: "other"}, 9, "")), 0)
	equal(t, must(all.ReplayDead(ctx, waypost.DeadFilter{Topic: "early"}, 9, 1, "me")), 3)
	owner := waypost.NewID()
	for _, q := range queues { // one a second, whichever queue it is of
		claim := must(q.Claim(ctx, owner, nil, 9, time.Minute))
		equal(t, len(claim), 1)
		equal(t, must(q.Ack(ctx, nil, owner, claim, "")), 1)
		b.advance(time.Second)
	}
	equal(t, must(all.PurgeDead(ctx, waypost.DeadFilter{}, 2, "")), 2)
	equal(t, must(all.PurgeDead(ctx, waypost.DeadFilter{}, 9, "")), 1)
	equal(t, must(all.Cleanup(ctx, 0)), 3)
}

// scenario: DED-004
// proves: IBX-098..101
func TestCleanupRemovesWhatWasFinishedLongAgo(t *testing.T) {
	each(t, func(b *bed, q waypost.Queue, send func(name, topic string) waypost.ID) {
		owner := waypost.NewID()
		finish := func() {
			claim := must(q.Claim(ctx, owner, nil, 10, time.Minute))
			equal(b.t, must(q.Ack(ctx, nil, owner, claim, "")), len(claim))
		}
		send("old", "a")
		finish()
		send("dead", "a")
		bury(b, q, "x")
		b.advance(10 * time.Second)
		send("young", "a")
		finish()
		send("ready", "a")
		equal(b.t, must(q.Cleanup(ctx, time.Minute)), 0)
		equal(b.t, must(q.Cleanup(ctx, 10*time.Second)), 1)
		equal(b.t, must(q.Cleanup(ctx, 0)), 1)
		equal(b.t, dead(q, waypost.DeadFilter{}), 1)
		equal(b.t, len(must(q.Claim(ctx, owner, nil, 10, time.Minute))), 1)
		_, err := q.Cleanup(ctx, -time.Second)
		fails(b.t, err, waypost.ErrRange)
	})
}

// A page that is dropped is freed by the collector: TestMain counts.
func TestPagesMayBeClosedDroppedAndUsedOnce(t *testing.T) {
	b := newBed(t)
	b.enqueue(message("a", "1"))
	bury(b, b.outbox.Queue, "x")
	must(b.outbox.DeadLetters(ctx, waypost.DeadFilter{}, 1))
	runtime.GC()
	page := must(b.outbox.DeadLetters(ctx, waypost.DeadFilter{}, 1))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := page.Next(gone)
	fails(t, err, context.Canceled)
	must(page.Next(ctx)).Close()
	_, err = page.Next(ctx)
	fails(t, err, waypost.ErrState)
	page.Close()
}
