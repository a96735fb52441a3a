// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"waypost"
)

func (b *bed) inbox() waypost.Inbox { return b.store.Inbox() }

func key(id string) waypost.InboxKey { return waypost.InboxKey{Source: "src", MessageID: id} }

// found is in which state a check finds a message.
func (b *bed) found(on waypost.Execer, k waypost.InboxKey) waypost.InboxState {
	return must(b.inbox().Check(ctx, on, k)).Found
}

func (b *bed) arrive(k waypost.InboxKey, topic, payload string) waypost.Arrival {
	return must(b.inbox().Enqueue(ctx, nil, k, message(topic, payload)))
}

func (b *bed) inboxState(k waypost.InboxKey) waypost.State {
	return must(b.inbox().Get(ctx, k)).State
}

// scenario: INB-001
// proves: IBX-002..005, BND-002
func TestInboxCheckIsNewThenSeenAndDoneOnceProcessed(t *testing.T) {
	b := newBed(t)
	equal(t, b.found(nil, key("1")), waypost.FoundNew)
	equal(t, b.found(nil, key("1")), waypost.FoundSeen)
	must(0, b.inbox().MarkProcessed(ctx, nil, key("1")))
	equal(t, b.found(nil, key("1")), waypost.FoundDone)
	tx := b.begin()
	equal(t, b.found(tx, key("2")), waypost.FoundNew)
	must(0, b.inbox().MarkProcessed(ctx, tx, key("2")))
	equal(t, b.found(tx, key("2")), waypost.FoundDone)
	tx.Rollback()
	_, err := b.inbox().Get(ctx, key("2"))
	fails(t, err, waypost.ErrNotFound)
	equal(t, b.found(b.db, key("2")), waypost.FoundNew)
	equal(t, b.inbox().Counters().Checked >= 3, true)
	equal(t, b.inbox().Counters().Duplicates >= 1, true)
}

// scenario: INB-002
// proves: IBX-001, IBX-010, IBX-021
func TestInboxKeysThatNearlyLookAlikeAreDifferent(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{"order", "Order", "order ", " order", "ord\u00e9r", "orde\u0301r", "a|b"} {
		for _, k := range []waypost.InboxKey{{Source: name, MessageID: "1"},
			{Source: "src", MessageID: name}, {Source: "src", MessageID: "1", Consumer: name}} {
			equal(t, b.found(nil, k), waypost.FoundNew)
			equal(t, b.found(nil, k), waypost.FoundSeen)
		}
	}
}

// scenario: INB-003
// proves: IBX-009..012, IBX-015..018, IBX-020
func TestInboxNamesOf255UnitsPassAndOf256DoNot(t *testing.T) {
	b := newBed(t)
	for _, fits := range []string{strings.Repeat("a", 255), strings.Repeat("\U0001f600", 127) + "a"} {
		over := fits + "a"
		k := waypost.InboxKey{Source: fits, MessageID: fits, Consumer: fits}
		b.arrive(k, fits, "1")
		m := must(b.inbox().Get(ctx, k)).Message
		equal(t, []string{m.Key.Source, m.Key.MessageID, m.Key.Consumer, m.Topic},
			[]string{fits, fits, fits, fits})
		_, err := b.inbox().Enqueue(ctx, nil, key("1"), message(over, "1"))
		fails(t, err, waypost.ErrArgument)
		for _, bad := range []waypost.InboxKey{{Source: over, MessageID: "1"}, {Source: "s", MessageID: over},
			{Source: "s", MessageID: "1", Consumer: over}} {
			_, err := b.inbox().Check(ctx, b.db, bad)
			fails(t, err, waypost.ErrArgument)
		}
	}
	for _, bad := range []waypost.InboxKey{{}, {Source: "s"}, {MessageID: "1"}, key("a\x00b"),
		{Source: "\xff", MessageID: "1"}, {Source: "s", MessageID: "1", Consumer: "\x00"},
		{Source: "s", MessageID: "1", Hash: make([]byte, 1025)}} {
		_, err := b.inbox().Check(ctx, nil, bad)
		fails(t, err, waypost.ErrArgument)
	}
	for _, bad := range []waypost.Message{message("", "x"), {Topic: "a"}, unique("x", "u")} {
		_, err := b.inbox().Enqueue(ctx, nil, key("1"), bad)
		fails(t, err, waypost.ErrArgument)
	}
}

// scenario: INB-004
// proves: IBX-007, IBX-008, IBX-129
func TestInboxAnotherHashIsToldAndNoError(t *testing.T) {
	b := newBed(t)
	var log strings.Builder
	store := b.open(waypost.WithClock(b.clock), waypost.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	hashed := func(fill byte, algorithm string) waypost.InboxKey {
		return waypost.InboxKey{Source: "src", MessageID: "1", Hash: bytes.Repeat([]byte{fill}, 32),
			Algorithm: algorithm}
	}
	for _, on := range []waypost.Execer{nil, b.db} {
		check := func(k waypost.InboxKey) bool { return must(store.Inbox().Check(ctx, on, k)).Mismatch }
		equal(t, check(hashed(0, "")), false)
		equal(t, check(hashed(1, "")), true)
		equal(t, check(hashed(1, "md5")), false)
		equal(t, check(key("1")), false)
	}
	m := must(b.inbox().Get(ctx, key("1"))).Message
	equal(t, m.Key.Hash, make([]byte, 32))
	equal(t, m.Key.Algorithm, "sha256")
	equal(t, store.Inbox().Counters().Mismatches, 2)
	must(store.Inbox().Enqueue(ctx, nil, hashed(2, ""), message("a", "1")))
	equal(t, must(b.inbox().Get(ctx, key("1"))).Message.Key.Hash[0], byte(2))
	store.Close()
	equal(t, strings.Count(log.String(), "level=WARN"), 3)
}

// scenario: INB-005
// proves: IBX-013, IBX-019, BND-002
func TestInboxEnqueueInTransaction(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	must(b.inbox().Enqueue(ctx, tx, key("gone"), message("a", "1")))
	tx.Rollback()
	_, err := b.inbox().Get(ctx, key("gone"))
	fails(t, err, waypost.ErrNotFound)
	tx = b.begin()
	b.order(tx)
	made := must(b.inbox().Enqueue(ctx, tx, key("kept"), message("a", "")))
	must(0, tx.Commit())
	claim := must(b.inbox().Claim(ctx, waypost.NewID(), nil, 10, time.Minute))
	equal(t, payloadsOf(claim), []string{""})
	equal(t, claim[0].ID, made.ID)
	equal(t, b.orderCount(), 1)
}

// scenario: INB-006
// proves: IBX-014, IBX-028, IBX-029
func TestInboxEnqueueAgain(t *testing.T) {
	b := newBed(t)
	first := b.arrive(key("1"), "a", "old")
	equal(t, first.Found, waypost.FoundNew)
	later := now.Add(time.Hour)
	again := must(b.inbox().Enqueue(ctx, b.db, key("1"),
		waypost.Message{Topic: "b", Payload: []byte("new"), Due: later}))
	if zero := (waypost.Arrival{}); zero.Proceed() || zero.Found.String() != "unknown" {
		t.Error("nothing that arrived is to be processed")
	}
	equal(t, again, waypost.Arrival{ID: first.ID, Found: waypost.FoundProcessing})
	info := must(b.inbox().Get(ctx, key("1")))
	equal(t, []string{info.Message.Topic, string(info.Message.Payload)}, []string{"b", "new"})
	equal(t, info.NextAttempt, later)
	must(0, b.inbox().MarkProcessed(ctx, nil, key("1")))
	equal(t, b.arrive(key("1"), "c", "x").Found, waypost.FoundDone)
	equal(t, string(must(b.inbox().Get(ctx, key("1"))).Message.Payload), "new")
}

// scenario: INB-007
// proves: IBX-014, BND-004
func TestInboxBatch(t *testing.T) {
	b := newBed(t)
	many := []waypost.InboxMessage{}
	for _, id := range []string{"3", "1", "2", "1"} {
		many = append(many, waypost.InboxMessage{Key: key(id), Message: message("a", "x"+id)})
	}
	bad := append(many[:3:3], waypost.InboxMessage{Key: key("4"), Message: message("", "x")})
	for i, on := range []waypost.Execer{nil, b.db} {
		_, err := b.inbox().EnqueueMany(ctx, on, bad)
		fails(t, err, waypost.ErrArgument)
		many[0].Key.Source = []string{"own", "apps"}[i]
		made := must(b.inbox().EnqueueMany(ctx, on, many))
		for n, m := range many[:3] {
			equal(t, must(b.inbox().GetByID(ctx, made[n].ID)).Message.Key.MessageID, m.Key.MessageID)
		}
		equal(t, made[0].Found, waypost.FoundNew)
		equal(t, made[3], waypost.Arrival{ID: made[1].ID, Found: waypost.FoundProcessing})
		equal(t, len(must(b.inbox().EnqueueMany(ctx, on, nil))), 0)
	}
	_, err := b.inbox().Get(ctx, key("4"))
	fails(t, err, waypost.ErrNotFound)
}

// once processes a message in a transaction, and says whether it was to be processed.
func (b *bed) once(tx *sql.Tx, k waypost.InboxKey) bool {
	arrival := must(b.inbox().Once(ctx, tx, k))
	if arrival.Proceed() {
		b.order(tx)
	}
	return arrival.Proceed()
}

// scenario: INB-008
// proves: IBX-002, IBX-006, BND-002
func TestInboxOnce(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	equal(t, b.once(tx, key("1")), true)
	tx.Rollback()
	equal(t, b.found(nil, key("1")), waypost.FoundNew)
	tx = b.begin()
	equal(t, b.once(tx, key("1")), true)
	told := make(chan waypost.InboxState, 1)
	go func() { // SQLite's writers follow each other: it waits
		second := must(b.db.Begin())
		defer second.Rollback()
		told <- must(b.inbox().Once(ctx, second, key("1"))).Found
	}()
	if b.store.Engine() == "postgresql" {
		equal(t, <-told, waypost.FoundProcessing)
	}
	must(0, tx.Commit())
	if b.store.Engine() == "sqlite" {
		equal(t, <-told, waypost.FoundDone)
	}
	tx = b.begin()
	equal(t, must(b.inbox().Once(ctx, tx, key("1"))), waypost.Arrival{
		ID: must(b.inbox().Get(ctx, key("1"))).Message.ID, Found: waypost.FoundDone})
	tx.Rollback()
	equal(t, b.orderCount(), 1)
	for _, on := range []waypost.Execer{nil, b.db, (*sql.Tx)(nil)} {
		_, err := b.inbox().Once(ctx, on, key("2"))
		fails(t, err, waypost.ErrArgument)
	}
	_, err := b.inbox().Get(ctx, key("2"))
	fails(t, err, waypost.ErrNotFound)
}

// scenario: INB-009
// proves: IBX-044, IBX-060
func TestInboxMarksByKey(t *testing.T) {
	b := newBed(t)
	inbox := b.inbox()
	for _, on := range []waypost.Execer{nil, b.db} {
		b.store.Inbox().PurgeDead(ctx, waypost.DeadFilter{}, 10, "")
		k := key("own")
		if on != nil {
			k = key("apps")
		}
		for _, err := range []error{inbox.MarkProcessing(ctx, on, k), inbox.MarkProcessed(ctx, on, k),
			inbox.MarkDead(ctx, on, k, "x"), inbox.Revive(ctx, on, k)} {
			fails(t, err, waypost.ErrNotFound)
		}
		b.found(nil, k)
		must(0, inbox.MarkProcessing(ctx, on, k))
		equal(t, b.found(nil, k), waypost.FoundProcessing)
		equal(t, b.inboxState(k), waypost.InProgress)
		fails(t, inbox.Revive(ctx, on, k), waypost.ErrState)
		must(0, inbox.MarkDead(ctx, on, k, "no such order"))
		equal(t, must(inbox.Get(ctx, k)).LastError, "no such order")
		equal(t, b.found(nil, k), waypost.FoundDead)
		fails(t, inbox.MarkProcessing(ctx, on, k), waypost.ErrState)
		must(0, inbox.Revive(ctx, on, k))
		equal(t, b.inboxState(k), waypost.Seen)
		b.arrive(k, "a", "1")
		must(0, inbox.MarkDead(ctx, on, k, ""))
		must(0, inbox.Revive(ctx, on, k))
		equal(t, b.inboxState(k), waypost.Ready)
		must(0, inbox.MarkProcessed(ctx, on, k))
		fails(t, inbox.MarkDead(ctx, on, k, ""), waypost.ErrState)
	}
}

// scenario: INB-010
// proves: IBX-030..056, IBX-060..071
func TestInboxClaimAndFinish(t *testing.T) {
	b := newBed(t)
	k := waypost.InboxKey{Source: "src", MessageID: "1", Consumer: "billing", Hash: []byte{1, 0, 2}, Algorithm: "crc"}
	b.arrive(k, "a", "1")
	owner := waypost.NewID()
	inbox := b.inbox()
	claim := func() []waypost.Received {
		return must(inbox.Claim(ctx, owner, []string{"a"}, 10, 30*time.Second))
	}
	m := claim()
	equal(t, m[0].Key, k)
	equal(t, m[0].LastSeen, now)
	equal(t, len(claim()), 0)
	equal(t, must(inbox.Renew(ctx, owner, m, time.Minute)), 1)
	equal(t, must(inbox.Release(ctx, owner, m)), 1)
	m = claim()
	equal(t, m[0].Attempt, 0)
	equal(t, must(inbox.Abandon(ctx, owner, m, time.Second, "x")), 1)
	equal(t, must(inbox.Abandon(ctx, owner, m, time.Second, "x")), 0)
	equal(t, len(claim()), 0)
	b.advance(time.Second)
	m = claim()
	equal(t, m[0].Attempt, 1)
	b.advance(30 * time.Second)
	equal(t, must(inbox.Reap(ctx)), 1)
	b.advance(time.Minute)
	m = claim()
	equal(t, m[0].Attempt, 2)
	_, err := inbox.Fail(ctx, owner, m, "")
	fails(t, err, waypost.ErrArgument)
	tx := b.begin()
	equal(t, must(inbox.FailIn(ctx, tx, owner, m, "gone")), 1)
	tx.Rollback()
	tx = b.begin()
	equal(t, must(inbox.AbandonIn(ctx, tx, owner, m, time.Second, "later")), 1)
	tx.Commit()
	b.advance(time.Second)
	m = claim()
	tx = b.begin()
	equal(t, must(inbox.Ack(ctx, tx, owner, m, "me")), 1)
	tx.Rollback()
	equal(t, b.inboxState(k), waypost.InProgress)
	equal(t, must(inbox.Ack(ctx, nil, owner, m, "me")), 1)
	equal(t, must(inbox.Get(ctx, k)).FinishedBy, "me")
	b.arrive(key("2"), "a", "2")
	equal(t, must(inbox.Fail(ctx, owner, claim(), "no")), 1)
	equal(t, must(inbox.Get(ctx, key("2"))).LastError, "no")
}

// scenario: INB-011
// proves: IBX-025, IBX-026
func TestInboxLooking(t *testing.T) {
	b := newBed(t)
	b.found(nil, key("seen"))
	made := b.arrive(key("ready"), "a", "1")
	b.arrive(key("taken"), "b", "1")
	b.arrive(key("done"), "a", "1")
	b.arrive(key("dead"), "a", "1")
	must(b.inbox().Claim(ctx, waypost.NewID(), []string{"b"}, 1, time.Minute))
	must(0, b.inbox().MarkProcessed(ctx, nil, key("done")))
	must(0, b.inbox().MarkDead(ctx, nil, key("dead"), "x"))
	for id, state := range map[string]waypost.State{"seen": waypost.Seen, "ready": waypost.Ready,
		"taken": waypost.InProgress, "done": waypost.Done, "dead": waypost.Failed} {
		equal(t, b.inboxState(key(id)), state)
	}
	equal(t, must(b.inbox().Get(ctx, key("seen"))).Message.Topic, "")
	equal(t, must(b.inbox().GetByID(ctx, made.ID)).Message.Key, key("ready"))
	_, err := b.inbox().GetByID(ctx, waypost.NewID())
	fails(t, err, waypost.ErrNotFound)
	stats := must(b.inbox().Stats(ctx, true))
	equal(t, stats.Topics["a"].Ready, 1)
	equal(t, stats.Topics["b"].InProgress, 1)
	equal(t, []int64{stats.Total.Done, stats.Total.Failed}, []int64{1, 1})
}

// scenario: INB-012
// proves: IBX-073, IBX-076
func TestInboxHandlerAndOutboxHandlerShareATopic(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	var seen []string
	note := func(_ context.Context, d delivery) error {
		seen = append(seen, d.Kind().String()+" "+string(d.Payload)+d.Key.MessageID)
		return nil
	}
	must(0, w.HandleInbox("a", note))
	b.arrive(key("1"), "a", "in")
	b.enqueue(message("a", "out"))
	b.drain(w)
	equal(t, seen, []string{"inbox in1"})
	both := b.worker(b.store)
	b.handle(both, "a", note)
	must(0, both.HandleInbox("a", note))
	fails(t, both.HandleInbox("a", note), waypost.ErrState)
	b.arrive(key("2"), "a", "in")
	b.drain(both)
	slices.Sort(seen)
	equal(t, seen, []string{"inbox in1", "inbox in2", "outbox out"})
	fails(t, w.HandleInbox("b", nil), waypost.ErrArgument)
}

// scenario: INB-013
// proves: IBX-075, IBX-083, IBX-111, BND-003
func TestInboxHandlersThatFailAndThatComplete(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	must(0, w.HandleInbox("panics", func(context.Context, delivery) error { panic("boom") }))
	must(0, w.HandleInbox("rejects", func(context.Context, delivery) error {
		return waypost.Reject(errors.New("never"))
	}))
	must(0, w.HandleInbox("completes", func(ctx context.Context, d delivery) error {
		tx := must(b.db.BeginTx(ctx, nil))
		defer tx.Rollback()
		b.order(tx)
		if err := d.Complete(ctx, tx); err != nil || d.Attempt == 0 {
			return err
		}
		return tx.Commit()
	}))
	for _, topic := range []string{"panics", "rejects", "completes"} {
		b.arrive(key(topic), topic, "1")
	}
	b.drain(w)
	equal(t, b.inboxState(key("panics")), waypost.Ready)
	equal(t, must(b.inbox().Get(ctx, key("panics"))).LastError, "panic: boom")
	equal(t, b.inboxState(key("rejects")), waypost.Failed)
	equal(t, []any{b.inboxState(key("completes")), b.orderCount()}, []any{waypost.Ready, 0})
	b.advance(time.Minute)
	b.drain(w)
	equal(t, []any{b.inboxState(key("completes")), b.orderCount()}, []any{waypost.Done, 1})
}

// A started worker, whose deliveries come by another way than those of Drain.
func TestInboxDeliveriesOfARunningWorker(t *testing.T) {
	b := newBed(t)
	store := b.live()
	w := b.worker(store)
	kinds := make(chan string, 4)
	note := func(_ context.Context, d delivery) error {
		kinds <- d.Kind().String() + " " + d.Key.MessageID
		return nil
	}
	must(0, w.HandleInbox("a", note))
	must(0, w.HandleTimer("a", note))
	b.start(w)
	must(store.Inbox().Enqueue(ctx, nil, key("1"), message("a", "1")))
	equal(t, <-kinds, "inbox 1")
	must(store.Timers().Schedule(ctx, nil, message("a", "1")))
	equal(t, <-kinds, "timers ")
	must(0, w.Stop(ctx))
	pulls := b.worker(store)
	must(0, pulls.Subscribe(waypost.InboxKind, "p"))
	must(store.Inbox().Enqueue(ctx, nil, key("2"), message("p", "1")))
	d := must(pulls.Next(ctx))
	equal(t, d.Key.MessageID, "2")
	must(0, d.Done())
	must(0, d.Settle(ctx))
	must(0, pulls.Stop(ctx))
	equal(t, must(store.Inbox().Get(ctx, key("2"))).State, waypost.Done)
}

// scenario: INB-014
// proves: IBX-091, IBX-092
func TestRouterGivesTheInboxOfAKey(t *testing.T) {
	p := newPair(t)
	must(p.router.Receive(ctx, "app", p.db, key("1"), message("t", "app")))
	must(p.router.Receive(ctx, "side", nil, key("1"), message("t", "side")))
	for _, id := range []string{"app", "side"} {
		equal(t, string(must(p.stores[id].Inbox().Get(ctx, key("1"))).Message.Payload), id)
	}
	_, err := p.router.Receive(ctx, "nowhere", nil, key("1"), message("t", "x"))
	fails(t, err, waypost.ErrNotFound)
}

// scenario: INB-015
// proves: IBX-001
func TestTwoConsumersOfOneMessage(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	var seen []string
	must(0, w.HandleInbox("a", func(_ context.Context, d delivery) error {
		seen = append(seen, d.Key.Consumer)
		return nil
	}))
	for range 2 {
		for _, consumer := range []string{"billing", "mail"} {
			k := key("1")
			k.Consumer = consumer
			b.arrive(k, "a", "1")
		}
		b.drain(w)
	}
	equal(t, seen, []string{"billing", "mail"})
}

func TestInboxOfAClosedStore(t *testing.T) {
	b := newBed(t)
	store := b.live()
	inbox := store.Inbox()
	store.Close()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := inbox.Check(ctx, nil, key("1"))
	fails(t, err, waypost.ErrState)
	_, err = inbox.Enqueue(ctx, b.db, key("1"), message("a", "1"))
	fails(t, err, waypost.ErrState)
	fails(t, inbox.MarkDead(ctx, nil, key("1"), ""), waypost.ErrState)
	equal(t, inbox.Counters(), waypost.InboxCounters{})
	_, err = b.inbox().Once(gone, b.begin(), key("1"))
	fails(t, err, context.Canceled)
	_, err = b.inbox().EnqueueMany(gone, nil, nil)
	fails(t, err, context.Canceled)
	fails(t, b.inbox().MarkProcessed(gone, nil, key("1")), context.Canceled)
	_, err = b.inbox().Get(gone, key("1"))
	fails(t, err, context.Canceled)
}
