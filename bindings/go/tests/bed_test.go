// SPDX-License-Identifier: Apache-2.0

// Package tests has the tests of the Go binding. They are a module of their own, so that the
// binding requires no driver.
package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"

	"waypost"
	"waypost/internal/live"
)

var (
	ctx   = context.Background()
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
)

const patience = time.Minute // how long a condition may take before the test fails

func TestMain(m *testing.M) {
	if url := os.Getenv("WAYPOST_TEST_CHILD"); url != "" {
		holdRuns(url)
	}
	code := m.Run()
	dropSqlserver()
	deadline := time.Now().Add(10 * time.Second)
	for live.Handles.Load() != 0 && time.Now().Before(deadline) {
		runtime.GC() // what a test dropped on purpose
		time.Sleep(time.Millisecond)
	}
	if left := live.Handles.Load(); left != 0 && code == 0 {
		fmt.Printf("%d objects of C were not freed\n", left)
		code = 1
	}
	os.Exit(code)
}

// bed is a store on a manual clock, and the app's way to the same database.
type bed struct {
	t       *testing.T
	url     string
	options []waypost.Option
	clock   *waypost.ManualClock
	store   *waypost.Store
	outbox  waypost.Outbox
	db      *sql.DB
	orders  string // the app's table
	name    string // of the database, on SQL Server
	schema  string // "": the default
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, orders: "orders"}
	driver := "sqlite3"
	source := ""
	columns := "name TEXT"
	if onSqlserver() {
		var database sqlserverDatabase
		database, b.url = newSqlserver()
		b.name = database.name
		driver, source, columns = "sqlserver", sqlserverSource(b.name), "name NVARCHAR(100)"
		// The first statements of a connection may take long.
		b.options = []waypost.Option{waypost.WithOption("store.response_timeout_ms", "120000")}
		t.Cleanup(database.keep) // the last of all
	} else if os.Getenv("WAYPOST_TEST_ENGINE") == "mariadb" {
		var database mariadbDatabase
		database, b.url = newMariadb()
		driver, source = "mysql", mariadbSource(database.name)
		t.Cleanup(database.keep) // the last of all
	} else if server := os.Getenv("WAYPOST_TEST_POSTGRESQL"); os.Getenv("WAYPOST_TEST_ENGINE") == "postgresql" {
		b.schema = "go_" + strings.ReplaceAll(waypost.NewID().String(), "-", "")
		b.url, driver, source = server, "postgres", server+"?sslmode=disable"
		b.orders = b.schema + "_orders"
		b.options = []waypost.Option{waypost.WithOption("store.schema", b.schema)}
	} else {
		b.url = "sqlite:" + filepath.Join(t.TempDir(), "app.db")
	}
	b.options = append(b.options, waypost.WithLogger(quiet))
	b.clock = must(waypost.NewManualClock(now))
	b.store = b.open(waypost.WithDeploy(), waypost.WithClock(b.clock))
	b.outbox = b.store.Outbox()
	if source == "" {
		source = "file:" + b.store.Location() + "?_busy_timeout=10000"
	}
	b.db = must(sql.Open(driver, source))
	b.exec(b.db, "CREATE TABLE "+b.orders+" ("+columns+")")
	t.Cleanup(func() {
		if driver != "sqlite3" {
			b.exec(b.db, "DROP TABLE "+b.orders)
		}
		b.db.Close()
		b.clock.Close()
	})
	return b
}

// open opens a further store on the same database; it is closed with the test.
func (b *bed) open(options ...waypost.Option) *waypost.Store {
	b.t.Helper()
	store, err := waypost.Open(ctx, b.url, append(b.options[:len(b.options):len(b.options)], options...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { store.Close() })
	return store
}

// live is a store on the system's clock.
func (b *bed) live() *waypost.Store { return b.open() }

func (b *bed) begin() *sql.Tx {
	tx := must(b.db.Begin())
	b.t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (b *bed) exec(on waypost.Execer, query string) {
	b.t.Helper()
	if _, err := on.ExecContext(ctx, query); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) order(on waypost.Execer) { b.exec(on, "INSERT INTO "+b.orders+" VALUES ('x')") }

func (b *bed) orderCount() (count int) {
	if err := b.db.QueryRow("SELECT count(*) FROM " + b.orders).Scan(&count); err != nil {
		b.t.Fatal(err)
	}
	return count
}

func message(topic, payload string) waypost.Message { return waypost.NewMessage(topic, payload) }

func (b *bed) enqueue(m waypost.Message) waypost.Enqueued {
	return must(b.outbox.Enqueue(ctx, nil, m))
}

func (b *bed) claim(topics ...string) []waypost.Received {
	return b.claimAs(waypost.NewID(), topics...)
}

func (b *bed) claimAs(owner waypost.ID, topics ...string) []waypost.Received {
	return must(b.outbox.Claim(ctx, owner, topics, 100, 30*time.Second))
}

func (b *bed) get(id waypost.ID) *waypost.Info { return must(b.outbox.Get(ctx, id)) }

// count is how many messages are committed.
func (b *bed) count() int64 {
	s := must(b.outbox.Stats(ctx, true)).Total
	return s.Ready + s.Scheduled + s.InProgress + s.Blocked + s.Done + s.Failed
}

func (b *bed) advance(d time.Duration) { _ = must(0, b.clock.Advance(d)) }

func (b *bed) worker(store *waypost.Store, options ...waypost.Option) *waypost.Worker {
	options = append([]waypost.Option{waypost.WithPoll(10*time.Millisecond, 50*time.Millisecond)}, options...)
	return must(store.Worker(options...))
}

func (b *bed) handle(w *waypost.Worker, topic string, handler waypost.Handler, options ...waypost.Option) {
	b.t.Helper()
	if err := w.Handle(topic, handler, options...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) start(w *waypost.Worker) {
	b.t.Helper()
	if err := w.Start(ctx); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { w.Stop(ctx) })
}

func (b *bed) drain(w *waypost.Worker) int { return must(w.Drain(ctx)) }

func topicsOf(messages []waypost.Received) (topics []string) {
	for _, m := range messages {
		topics = append(topics, m.Topic)
	}
	return topics
}

func payloadsOf(messages []waypost.Received) (payloads []string) {
	for _, m := range messages {
		payloads = append(payloads, string(m.Payload))
	}
	return payloads
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Fatalf("got %s, want %s", g, w)
	}
}

func fails(t *testing.T, err error, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not come true")
		}
	}
}

func wait(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Fatal("the event did not come")
	}
}
