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
