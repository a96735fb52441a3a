// SPDX-License-Identifier: Apache-2.0
//go:build pgx

// Debian's pgx names modules that Debian does not have, so tools/go.sh builds this with the tag pgx and a
// GOPATH instead.

package tests

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v4"
	_ "github.com/jackc/pgx/v4/stdlib"

	"waypost"
)

// pgxWays are the ways to one transaction: each enqueues, acks, and ends as asked.
var pgxWays = map[string]func(*testing.T, string, func(waypost.Execer), bool){
	"pgx": func(t *testing.T, url string, in func(waypost.Execer), commit bool) {
		conn := must(pgx.Connect(ctx, url))
		defer conn.Close(ctx)
		tx := must(conn.Begin(ctx))
		in(waypost.Pgx[pgx.Rows](tx))
		if commit {
			_ = must(0, tx.Commit(ctx))
		} else {
			_ = must(0, tx.Rollback(ctx))
		}
	},
	"database/sql by pgx": func(t *testing.T, url string, in func(waypost.Execer), commit bool) {
		db := must(sql.Open("pgx", url))
		defer db.Close()
		tx := must(db.Begin())
		in(tx)
		if commit {
			_ = must(0, tx.Commit())
		} else {
			_ = must(0, tx.Rollback())
		}
	},
}

// proves: BND-002, OBX-001, OBX-003, OBX-111, OBX-113
func TestPgxTransactionIsJoined(t *testing.T) {
	url := os.Getenv("WAYPOST_TEST_POSTGRESQL") + "?sslmode=disable"
	for name, within := range pgxWays {
		b := newBed(t)
		t.Run(name, func(t *testing.T) {
			for _, commit := range []bool{false, true} {
				full := waypost.Message{Topic: "a", Payload: []byte("\U0001f600"), CorrelationID: "c",
					OrderingKey: "k", UniqueKey: "u", Headers: map[string]string{"h": "1"}, Due: now}
				within(t, url, func(on waypost.Execer) {
					made := must(b.outbox.Enqueue(ctx, on, full))
					again := must(b.outbox.Enqueue(ctx, on, full))
					equal(t, again, waypost.Enqueued{ID: made.ID, Duplicate: true})
					must(b.outbox.EnqueueMany(ctx, on, []waypost.Message{message("b", "1"), message("b", "2")}))
					equal(t, b.count(), 0)
				}, commit)
				equal(t, b.count(), map[bool]int64{false: 0, true: 3}[commit])
			}
			equal(t, payloadsOf(b.claim("a")), []string{"\U0001f600"})
			w := b.worker(b.store)
			b.handle(w, "b", func(ctx context.Context, d delivery) error {
				within(t, url, func(on waypost.Execer) { _ = must(0, d.Complete(ctx, on)) }, string(d.Payload) == "1")
				return nil
			})
			equal(t, b.drain(w), 2)
			stats := must(b.outbox.Stats(ctx, true)).Total
			equal(t, []int64{stats.Done, stats.Scheduled}, []int64{1, 1}) // the second rolled back
		})
	}
}

// What the inbox, timers, leases and joins do on the app's connection.
// proves: BND-002
func TestPgxTransactionIsJoinedByEveryOperation(t *testing.T) {
	url := os.Getenv("WAYPOST_TEST_POSTGRESQL") + "?sslmode=disable"
	for name, within := range pgxWays {
		b := newBed(t)
		t.Run(name, func(t *testing.T) {
			hashed := waypost.InboxKey{Source: "s", MessageID: "1", Consumer: "c", Hash: []byte{0, 255}}
			timer := b.schedule(timer("a", now.Add(time.Hour)))
			owner := waypost.NewID()
			b.arrive(key("claimed"), "a", "1")
			claim := must(b.inbox().Claim(ctx, owner, nil, 1, time.Minute))
			for _, commit := range []bool{false, true} {
				within(t, url, func(on waypost.Execer) {
					inbox := b.inbox()
					equal(t, must(inbox.Check(ctx, on, hashed)).Found, waypost.FoundNew)
					equal(t, must(inbox.Enqueue(ctx, on, hashed, message("t", "1"))).Found, waypost.FoundSeen)
					equal(t, must(inbox.Once(ctx, on, key("once"))).Proceed(), true)
					must(0, inbox.MarkDead(ctx, on, hashed, "x"))
					must(0, inbox.Revive(ctx, on, hashed))
					equal(t, must(inbox.Ack(ctx, on, owner, claim, "")), 1)
					equal(t, must(b.timers().Reschedule(ctx, on, timer, now)), true)
					equal(t, must(b.timers().Cancel(ctx, on, timer)), true)
					must(0, b.semaphores().SetLimit(ctx, on, "s", 1))
					info := must(b.semaphores().Acquire(ctx, on, "s", "r", time.Minute))
					equal(t, []bool{info.Granted, info.Fence > 0}, []bool{true, true})
					must(b.leases().Acquire(ctx, on, "l", "me", time.Minute))
					must(b.leases().Renew(ctx, on, "l", "me", 0, time.Minute))
					equal(t, must(b.leases().Get(ctx, on, "l")).Owner, "me")
					b.joinOn(on)
				}, commit)
				equal(t, len(must(b.joins().List(ctx, "all", 10)).Items), map[bool]int{false: 0, true: 2}[commit])
				equal(t, must(b.leases().Acquire(ctx, nil, "l", "me too", time.Microsecond*1000)).Granted, !commit)
				b.advance(time.Millisecond)
			}
			equal(t, b.inboxState(key("once")), waypost.Done)
			equal(t, b.inboxState(key("claimed")), waypost.Done)
			equal(t, b.inboxState(hashed), waypost.Ready)
			equal(t, must(b.timers().Get(ctx, timer)).State, waypost.Cancelled)
		})
	}
}
