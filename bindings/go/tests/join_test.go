// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"waypost"
)

func (b *bed) joins() waypost.Joins { return b.store.Joins() }

// join starts a join whose messages are of the topics "ok" and "bad".
func (b *bed) join(expected int, options ...waypost.JoinOption) waypost.ID {
	b.t.Helper()
	options = append([]waypost.JoinOption{waypost.OnSuccess(message("ok", "it went well")),
		waypost.OnFailure(message("bad", "it did not"))}, options...)
	return must(b.joins().Start(ctx, nil, waypost.NewJoin(expected, options...)))
}

func step(joins ...waypost.ID) waypost.Message {
	m := message("step", "x")
	m.Joins = joins
	return m
}

// steps enqueues messages that are members, and gives their ids.
func (b *bed) steps(count int, joins ...waypost.ID) []waypost.ID {
	all := make([]waypost.ID, count)
	for i := range all {
		all[i] = b.enqueue(step(joins...)).ID
	}
	return all
}

var finisher = waypost.NewID()

func (b *bed) take(count int) []waypost.Received {
	b.t.Helper()
	claim := b.claimAs(finisher, "step")
	equal(b.t, len(claim), count)
	return claim
}

func (b *bed) ack(messages ...waypost.Received) {
	b.t.Helper()
	equal(b.t, must(b.outbox.Ack(ctx, nil, finisher, messages, "w")), len(messages))
}

func (b *bed) fail(messages ...waypost.Received) {
	b.t.Helper()
	equal(b.t, must(b.outbox.Fail(ctx, finisher, messages, "no")), len(messages))
}

func (b *bed) joinIs(id waypost.ID, status waypost.JoinStatus, completed, failed int64) {
	b.t.Helper()
	info := must(b.joins().Get(ctx, id))
	equal(b.t, info.Status.String(), status.String())
	equal(b.t, []int64{info.Completed, info.Failed}, []int64{completed, failed})
	equal(b.t, info.Ended.IsZero(), status == waypost.JoinOpen)
}

// next gives the topics of the messages that were enqueued for joins.
func (b *bed) next() string { return strings.Join(topicsOf(b.claim("ok", "bad")), " ") }

// scenario: JNN-001
// proves: JOIN-001..006, BND-002
func TestJoinIsFoundWithAllThatItHas(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		id := must(b.joins().Start(ctx, on, waypost.NewJoin(3, waypost.GroupingKey("batch 7"),
			waypost.Metadata(`{"from":"'test'"}`), waypost.FailIfAny(), waypost.JoinTimeout(5*time.Second))))
		equal(t, *must(b.joins().Get(ctx, id)), waypost.JoinInfo{ID: id, Expected: 3, FailIfAny: true,
			GroupingKey: "batch 7", Metadata: `{"from":"'test'"}`, Created: now,
			Deadline: now.Add(5 * time.Second)})
		id = must(b.joins().Start(ctx, on, waypost.NewJoin(1)))
		equal(t, *must(b.joins().Get(ctx, id)), waypost.JoinInfo{ID: id, Expected: 1, Created: now})
	}
	_, err := b.joins().Get(ctx, waypost.NewID())
	fails(t, err, waypost.ErrNotFound)
}

// scenario: JNN-002
// proves: JOIN-001..006, BND-004
func TestBadJoinIsRefused(t *testing.T) {
	b := newBed(t)
	nothing := waypost.Message{Topic: "a"}
	late, unique, brief := message("a", "x"), message("a", "x"), message("a", "x")
	late.Delay, unique.UniqueKey, brief.Expires = time.Second, "k", now
	for _, on := range []waypost.Execer{nil, b.db} {
		for _, join := range []waypost.Join{
			waypost.NewJoin(0), waypost.NewJoin(-1),
			waypost.NewJoin(1, waypost.GroupingKey(strings.Repeat("k", 256))),
			waypost.NewJoin(1, waypost.GroupingKey("\x00")),
			waypost.NewJoin(1, waypost.Metadata("\x00")),
			waypost.NewJoin(1, waypost.Metadata("\xff")),
			waypost.NewJoin(1, waypost.Metadata(strings.Repeat("m", 65537))),
			waypost.NewJoin(1, waypost.Deadline(now), waypost.JoinTimeout(time.Second)),
			waypost.NewJoin(1, waypost.OnSuccess(nothing)), waypost.NewJoin(1, waypost.OnFailure(nothing)),
			waypost.NewJoin(1, waypost.OnSuccess(late)), waypost.NewJoin(1, waypost.OnFailure(unique)),
			waypost.NewJoin(1, waypost.OnFailure(brief)), waypost.NewJoin(1, waypost.OnSuccess(step(waypost.NewID()))),
		} {
			_, err := b.joins().Start(ctx, on, join)
			fails(t, err, waypost.ErrArgument)
		}
		for _, join := range []waypost.Join{
			waypost.NewJoin(1_000_000_001), waypost.NewJoin(1, waypost.JoinTimeout(-time.Second)),
			waypost.NewJoin(1, waypost.Deadline(time.UnixMicro(-1)))} {
			_, err := b.joins().Start(ctx, on, join)
			fails(t, err, waypost.ErrRange)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := b.joins().Start(ended, nil, waypost.NewJoin(1))
	fails(t, err, context.Canceled)
	_, err = b.joins().Attach(ended, nil, waypost.NewID())
	fails(t, err, context.Canceled)
	_, err = b.joins().List(ctx, "\x00", 1)
	fails(t, err, waypost.ErrArgument)
	_, err = b.joins().List(ctx, "", 0)
	fails(t, err, waypost.ErrRange)
	_, err = b.joins().Members(ctx, waypost.NewID(), 0)
	fails(t, err, waypost.ErrRange)
	_, err = b.joins().Cleanup(ctx, -time.Second)
	fails(t, err, waypost.ErrRange)
	equal(t, len(must(b.joins().List(ctx, "", 10)).Items), 0)
}

// scenario: JNN-003
// proves: JOIN-001..006, JOIN-060..092, BND-002
func TestJoinGoesWithItsTransaction(t *testing.T) {
	b := newBed(t)
	for _, commit := range []bool{false, true} {
		tx := b.begin()
		b.order(tx)
		join := must(b.joins().Start(ctx, tx, waypost.NewJoin(2)))
		first := must(b.outbox.Enqueue(ctx, tx, step(join))).ID
		second := must(b.outbox.Enqueue(ctx, tx, message("step", "x"))).ID
		equal(t, must(b.joins().Attach(ctx, tx, join, first, second)), 1)
		if !commit {
			must(0, tx.Rollback())
			_, err := b.joins().Get(ctx, join)
			fails(t, err, waypost.ErrNotFound)
			equal(t, b.count(), 0)
			continue
		}
		must(0, tx.Commit())
		tx = b.begin()
		equal(t, must(b.outbox.Ack(ctx, tx, finisher, b.take(2), "w")), 2)
		must(0, tx.Commit())
		b.joinIs(join, waypost.JoinCompleted, 2, 0)
	}
}

// scenario: JNN-004
// proves: JOIN-010..014
func TestAttachAgainUnknownOrOverChangesNothing(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		attach := func(join waypost.ID, messages ...waypost.ID) (int, error) {
			return b.joins().Attach(ctx, on, join, messages...)
		}
		join, unknown := b.join(2), waypost.NewID()
		ids := b.steps(2)
		equal(t, must(attach(join)), 0)
		equal(t, must(attach(join, ids[0])), 1)
		equal(t, must(attach(join, ids[0], ids[1], ids[0])), 1)
		equal(t, must(attach(join, ids...)), 0)
		_, err := attach(join, ids[0], unknown)
		fails(t, err, waypost.ErrNotFound)
		_, err = attach(unknown, ids...)
		fails(t, err, waypost.ErrNotFound)
		_, err = b.outbox.Enqueue(ctx, on, step(join, unknown))
		fails(t, err, waypost.ErrNotFound)
		_, err = b.timers().Schedule(ctx, on, step(join))
		fails(t, err, waypost.ErrArgument)
		_, err = b.inbox().Enqueue(ctx, on, key("x"), step(join))
		fails(t, err, waypost.ErrArgument)
		_, err = b.outbox.Enqueue(ctx, on, step(make([]waypost.ID, 17)...))
		if err == nil {
			t.Fatal("17 joins were taken")
		}
		b.joinIs(join, waypost.JoinOpen, 0, 0)
		b.ack(b.take(2)...) // and nothing else was enqueued
		b.joinIs(join, waypost.JoinCompleted, 2, 0)
		equal(t, must(attach(join, ids...)), 0)
		_, err = attach(join, append(ids, b.steps(1)...)...)
		fails(t, err, waypost.ErrState)
		_, err = b.outbox.Enqueue(ctx, on, step(join))
		fails(t, err, waypost.ErrState)
		b.ack(b.take(1)...)
		equal(t, b.next(), "ok")
	}
}

// scenario: JNN-005
// proves: JOIN-010..014, JOIN-020..034
func TestAttachedWhenFinishedItCountsAtOnce(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		join := b.join(2, waypost.FailIfAny())
		ids := b.steps(2)
		claim := b.take(2)
		b.ack(claim[0])
		b.fail(claim[1])
		equal(t, must(b.joins().Attach(ctx, on, join, ids[0])), 1)
		equal(t, must(b.joins().Attach(ctx, on, join, ids[0])), 0)
		b.joinIs(join, waypost.JoinOpen, 1, 0)
		equal(t, must(b.joins().Attach(ctx, on, join, ids[1])), 1)
		b.joinIs(join, waypost.JoinFailed, 1, 1)
		equal(t, b.next(), "bad")
	}
}

// scenario: JNN-006
// proves: JOIN-020..034, JOIN-040..043
func TestAckAndFailCountOnceAndRetriesAndLostLeasesNever(t *testing.T) {
	b := newBed(t)
	join := b.join(3)
	b.steps(3, join)
	claim := b.take(3)
	equal(t, must(b.outbox.Ack(ctx, nil, waypost.NewID(), claim, "w")), 0)
	equal(t, must(b.outbox.Abandon(ctx, finisher, claim[1:2], time.Millisecond, "later")), 1)
	b.joinIs(join, waypost.JoinOpen, 0, 0)
	b.ack(claim[0])
	equal(t, must(b.outbox.Ack(ctx, nil, finisher, claim[:2], "w")), 0)
	b.joinIs(join, waypost.JoinOpen, 1, 0)
	b.advance(time.Minute)
	equal(t, must(b.outbox.Reap(ctx)), 1) // the lease of the third is lost
	equal(t, must(b.outbox.Ack(ctx, nil, finisher, claim, "w")), 0)
	b.joinIs(join, waypost.JoinOpen, 1, 0)
	b.advance(10 * time.Minute)
	claim = b.take(2)
	b.fail(claim[0])
	b.joinIs(join, waypost.JoinOpen, 1, 1)
	b.ack(claim[1])
	b.joinIs(join, waypost.JoinCompleted, 2, 1) // it does not fail if any fails
	equal(t, b.next(), "ok")
}

// scenario: JNN-007
// proves: JOIN-020..034, JOIN-060..092
func TestOneBatchCountsManyMembersOfManyJoins(t *testing.T) {
	b := newBed(t)
	var joins [3]waypost.ID
	for i := range joins {
		joins[i] = b.join(6, waypost.FailIfAny())
	}
	many := make([]waypost.Message, 9)
	for i := range many {
		many[i] = step(joins[i%3], joins[(i+1)%3])
	}
	must(b.outbox.EnqueueMany(ctx, b.db, many))
	claim := b.take(9)
	b.ack(claim[:7]...)
	for i, join := range joins {
		b.joinIs(join, waypost.JoinOpen, []int64{5, 5, 4}[i], 0)
	}
	b.fail(claim[7:]...)
	for i, join := range joins {
		b.joinIs(join, waypost.JoinFailed, []int64{5, 5, 4}[i], []int64{1, 1, 2}[i])
	}
	equal(t, b.next(), "bad bad bad")
}

// scenario: JNN-008
// proves: JOIN-020..034
func TestReportedMembersCountAsIfTheyWereFinished(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		join := b.join(3)
		ids := b.steps(3, join)
		ids = append(ids, b.steps(1)...) // no member
		equal(t, must(b.joins().ReportCompleted(ctx, on, join, ids[2], ids[3])), 1)
		equal(t, must(b.joins().ReportFailed(ctx, on, join, ids[2])), 0)
		equal(t, must(b.joins().ReportFailed(ctx, on, join)), 0)
		tx := b.begin()
		equal(t, must(b.joins().ReportFailed(ctx, tx, join, ids...)), 2)
		must(0, tx.Rollback())
		b.joinIs(join, waypost.JoinOpen, 1, 0)
		claim := b.take(4)
		b.ack(claim[2]) // counted before
		b.joinIs(join, waypost.JoinOpen, 1, 0)
		equal(t, must(b.joins().ReportFailed(ctx, on, join, ids[0])), 1)
		b.ack(claim[1])
		b.joinIs(join, waypost.JoinCompleted, 2, 1)
		equal(t, b.next(), "ok")
		equal(t, must(b.joins().ReportCompleted(ctx, on, join, ids...)), 0)
		_, err := b.joins().ReportCompleted(ctx, on, ids[0], ids...)
		fails(t, err, waypost.ErrNotFound)
	}
}

// scenario: JNN-009
// proves: JOIN-020..034
func TestExpiredAndReplayedMembersCountOnceAsFailed(t *testing.T) {
	b := newBed(t)
	join := b.join(2, waypost.FailIfAny())
	brief := step(join)
	brief.Expires = now.Add(time.Second)
	b.enqueue(brief)
	b.steps(1, join)
	b.advance(2 * time.Second)
	equal(t, must(b.outbox.Reap(ctx)), 1)
	b.joinIs(join, waypost.JoinOpen, 0, 1)
	w := b.worker(b.store, waypost.WithMaxAttempts(1))
	b.handle(w, "step", func(context.Context, delivery) error { return errors.New("again") })
	equal(t, b.drain(w), 1)
	b.joinIs(join, waypost.JoinFailed, 0, 2)
	equal(t, must(b.outbox.ReplayDead(ctx, waypost.DeadFilter{}, 10, 0, "")), 2)
	b.ack(b.take(2)...)
	b.joinIs(join, waypost.JoinFailed, 0, 2)
	equal(t, b.next(), "bad")
}

// scenario: JNN-010
// proves: JOIN-040..043, JOIN-050..057
func TestMessageOfACompletedJoinComesWholeAndOnce(t *testing.T) {
	b := newBed(t)
	b.needEscapes()
	for _, on := range []waypost.Execer{nil, b.db} {
		ok := waypost.Message{Topic: "ok", Payload: []byte("it went \U0001f600"), CorrelationID: "order 7",
			OrderingKey: "o", Headers: map[string]string{"kind": "news"}}
		join := must(b.joins().Start(ctx, on, waypost.NewJoin(1, waypost.FailIfAny(), waypost.OnSuccess(ok),
			waypost.OnFailure(message("bad", "")))))
		b.steps(3, join) // more than expected
		claim := b.take(3)
		equal(t, b.next(), "")
		b.advance(time.Second)
		b.ack(claim[:2]...)
		b.fail(claim[2])
		over := b.clock.Now()
		all := b.claimAs(finisher, "ok", "bad")
		equal(t, len(all), 1)
		m := all[0]
		equal(t, []string{string(m.Payload), m.CorrelationID, m.OrderingKey, m.Headers["kind"]},
			[]string{string(ok.Payload), "order 7", "o", "news"})
		equal(t, m.Due, over)
		info := must(b.joins().Get(ctx, join))
		equal(t, []waypost.ID{info.Continuation}, []waypost.ID{m.ID})
		equal(t, info.Ended, over)
		b.ack(all...)
		b.joinIs(join, waypost.JoinCompleted, 1, 0)
		equal(t, b.next(), "")
	}
}

// scenario: JNN-011
// proves: JOIN-040..043, JOIN-100
func TestPastItsDeadlineAJoinFails(t *testing.T) {
	b := newBed(t)
	join := b.join(2, waypost.Deadline(now.Add(time.Second)))
	b.steps(2, join)
	claim := b.take(2)
	b.ack(claim[0])
	equal(t, must(b.joins().Reap(ctx)), 0)
	b.advance(time.Second)
	equal(t, must(b.joins().Reap(ctx)), 1)
	equal(t, must(b.joins().Get(ctx, join)).Reason, "timeout")
	b.ack(claim[1])
	equal(t, must(b.joins().Reap(ctx)), 0)
	b.joinIs(join, waypost.JoinFailed, 1, 0)
	equal(t, b.next(), "bad")
	equal(t, b.next(), "")
}

// scenario: JNN-012
// proves: JOIN-100
func TestCancelledJoinEnqueuesNothing(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		join := b.join(1)
		b.steps(1, join)
		equal(t, must(b.joins().Cancel(ctx, on, waypost.NewID())), false)
		tx := b.begin()
		equal(t, must(b.joins().Cancel(ctx, tx, join)), true)
		must(0, tx.Rollback())
		b.joinIs(join, waypost.JoinOpen, 0, 0)
		equal(t, must(b.joins().Cancel(ctx, on, join)), true)
		equal(t, must(b.joins().Cancel(ctx, on, join)), false)
		b.ack(b.take(1)...)
		b.joinIs(join, waypost.JoinCancelled, 0, 0)
		equal(t, b.next(), "")
	}
}

// scenario: JNN-013
// proves: JOIN-001..006, JOIN-100
func TestJoinsAndMembersAreListedAndCleanedUp(t *testing.T) {
	b := newBed(t)
	var joins []waypost.ID
	for i, key := range []string{"even", "odd", "even", "odd", "even"} {
		joins = append(joins, b.join([]int{1, 1, 3, 3, 3}[i], waypost.GroupingKey(key)))
	}
	listed := func(key string) (all []waypost.ID) {
		page, err := b.joins().List(ctx, key, 2)
		for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
			for _, info := range page.Items {
				all = append(all, info.ID)
			}
		}
		must(0, err)
		page.Close()
		return all
	}
	equal(t, listed(""), joins)
	equal(t, listed("even"), []waypost.ID{joins[0], joins[2], joins[4]})
	equal(t, len(listed("none")), 0)

	ids := b.steps(3, joins[4])
	equal(t, must(b.joins().ReportFailed(ctx, nil, joins[4], ids[1])), 1)
	equal(t, must(b.joins().ReportCompleted(ctx, nil, joins[4], ids[2])), 1)
	var members []waypost.JoinMember
	page, err := b.joins().Members(ctx, joins[4], 2)
	for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
		members = append(members, page.Items...)
	}
	must(0, err)
	page.Close()
	equal(t, members, []waypost.JoinMember{{Message: ids[0], Status: waypost.MemberWaiting},
		{Message: ids[1], Status: waypost.MemberFailed}, {Message: ids[2], Status: waypost.MemberCompleted}})
	equal(t, len(must(b.joins().Members(ctx, waypost.NewID(), 2)).Items), 0)

	equal(t, must(b.joins().ReportCompleted(ctx, nil, joins[0], b.steps(1, joins[0])...)), 1)
	b.advance(time.Second)
	equal(t, must(b.joins().Cancel(ctx, nil, joins[1])), true)
	equal(t, must(b.joins().Cleanup(ctx, time.Second)), 1)
	equal(t, must(b.joins().Cleanup(ctx, 0)), 1)
	equal(t, listed(""), joins[2:])
	equal(t, len(must(b.joins().Members(ctx, joins[0], 2)).Items), 0)
}

// scenario: JNN-014
// proves: JOIN-050..057
func TestMessageWaitsForAJoin(t *testing.T) {
	b := newBed(t)
	join, cancelled := b.join(1), b.join(1)
	waits := []waypost.ID{b.enqueue(waypost.JoinWait(join)).ID, b.enqueue(waypost.JoinWait(cancelled)).ID}
	waiting := func() []waypost.Received { return b.claimAs(finisher, waypost.JoinWaitTopic) }
	for i := 0; i < 5; i++ {
		equal(t, len(waiting()), 0)
		b.advance(time.Hour)
	}
	for _, id := range waits {
		equal(t, b.get(id).State, waypost.Ready)
		equal(t, b.get(id).Message.Attempt, 0)
	}
	b.steps(1, join)
	b.ack(b.take(1)...)
	b.advance(time.Minute)
	claim := waiting()
	equal(t, payloadsOf(claim), []string{`{"join":"` + join.String() + `"}`})
	equal(t, []any{claim[0].ID, claim[0].Topic, claim[0].Attempt}, []any{waits[0], "join.wait", int64(0)})
	b.ack(claim...)
	equal(t, must(b.joins().Cancel(ctx, nil, cancelled)), true)
	b.advance(time.Minute)
	b.ack(waiting()...)
	equal(t, b.get(waits[1]).State, waypost.Done)
}

// scenario: JNN-015
// proves: JOIN-050..057
func TestMessageThatWaitsForNoJoinIsADeadLetter(t *testing.T) {
	b := newBed(t)
	for _, m := range []waypost.Message{waypost.JoinWait(waypost.NewID()),
		message(waypost.JoinWaitTopic, ""), message(waypost.JoinWaitTopic, "{}")} {
		id := b.enqueue(m).ID
		equal(t, len(b.claim(waypost.JoinWaitTopic)), 0)
		equal(t, b.get(id).State, waypost.Failed)
	}
}

// scenario: JNN-016
// proves: JOIN-020..034, JOIN-050..057, BND-003
func TestWorkerHandlesMembersAndWhatComesOfThem(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithBackoff(time.Second, time.Second))
	lenient, strict := b.join(3), b.join(3, waypost.FailIfAny())
	calls := 0
	b.handle(w, "step", func(_ context.Context, d delivery) error {
		switch calls++; calls {
		case 1:
			return errors.New("later")
		case 2:
			return waypost.Reject(errors.New("never"))
		}
		tx := b.begin()
		must(0, d.Complete(ctx, tx))
		return tx.Commit()
	})
	heard := map[string]int{}
	for _, topic := range []string{"ok", "bad", waypost.JoinWaitTopic} {
		b.handle(w, topic, func(_ context.Context, d delivery) error {
			heard[d.Topic]++
			return nil
		})
	}
	b.enqueue(waypost.JoinWait(strict))
	b.steps(3, lenient, strict)
	equal(t, b.drain(w), 3)
	b.joinIs(lenient, waypost.JoinOpen, 1, 1)
	b.joinIs(strict, waypost.JoinOpen, 1, 1)
	b.advance(2 * time.Second)
	must(w.Drain(ctx))
	b.joinIs(lenient, waypost.JoinCompleted, 2, 1)
	b.joinIs(strict, waypost.JoinFailed, 2, 1)
	b.advance(time.Minute)
	must(w.Drain(ctx))
	equal(t, heard, map[string]int{"ok": 1, "bad": 1, "join.wait": 1})
}

// joinOn does all that joins can do on a connection: one is completed, one cancelled.
func (b *bed) joinOn(on waypost.Execer) {
	start := func() waypost.ID {
		return must(b.joins().Start(ctx, on, waypost.NewJoin(2, waypost.GroupingKey("all"), waypost.Metadata("m"),
			waypost.OnSuccess(message("ok", "1")), waypost.JoinTimeout(time.Hour))))
	}
	done, gone := start(), start()
	first := must(b.outbox.Enqueue(ctx, on, step(done, gone))).ID
	second := must(b.outbox.Enqueue(ctx, on, message("step", "x"))).ID
	equal(b.t, must(b.joins().Attach(ctx, on, done, first, second)), 1)
	equal(b.t, must(b.joins().ReportCompleted(ctx, on, done, first, second)), 2)
	equal(b.t, must(b.joins().ReportFailed(ctx, on, gone, first)), 1)
	equal(b.t, must(b.joins().Cancel(ctx, on, gone)), true)
	equal(b.t, must(b.joins().Cancel(ctx, on, done)), false)
}
