// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waypost"
)

// sqlserver has databases of the server that WAYPOST_TEST_MSSQL leads to: an ODBC connection string without a
// database, whose login may create some. A test hands its database on, emptied, if its tables are as they were.
var sqlserver struct {
	sync.Mutex
	idle []sqlserverDatabase
}

type sqlserverDatabase struct {
	name        string
	fingerprint int64
}

const (
	sqlserverVariable = "WAYPOST_TEST_MSSQL"
	sqlserverTables   = "SELECT QUOTENAME(s.name) + '.' + QUOTENAME(t.name) FROM sys.tables AS t" +
		" JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.name NOT IN ('migration', 'orders')"
	sqlserverFingerprint = "SELECT (SELECT COUNT(*) FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id" +
		" WHERE t.name <> 'orders') + 1000 * (SELECT COUNT(*) FROM sys.procedures)"
)

func onSqlserver() bool { return os.Getenv("WAYPOST_TEST_ENGINE") == "sqlserver" }

// sqlserverSource is what the app's driver connects with; without a name, to no database.
func sqlserverSource(name string) string {
	given := map[string]string{}
	for _, part := range strings.Split(strings.TrimPrefix(os.Getenv(sqlserverVariable), "odbc:"), ";") {
		key, value, _ := strings.Cut(part, "=")
		given[strings.ToUpper(key)] = value
	}
	source := fmt.Sprintf("server=%s;user id=%s;password=%s;encrypt=disable;connection timeout=180", given["SERVER"],
		given["UID"], given["PWD"])
	if given["PORT"] != "" {
		source += ";port=" + given["PORT"]
	}
	if name != "" {
		source += ";database=" + name
	}
	return source
}

func openSqlserver(name string) *sql.DB { return must(sql.Open("sqlserver", sqlserverSource(name))) }

// newSqlserver is an empty database, and its URL. Its schema is deployed already, or will be.
func newSqlserver() (database sqlserverDatabase, url string) {
	if !slices.Contains(sql.Drivers(), "sqlserver") || os.Getenv(sqlserverVariable) == "" {
		panic("SQL Server needs a server in " + sqlserverVariable + " and its driver: go test -tags mssql")
	}
	sqlserver.Lock()
	defer sqlserver.Unlock()
	if count := len(sqlserver.idle); count > 0 {
		database = sqlserver.idle[count-1]
		sqlserver.idle = sqlserver.idle[:count-1]
	} else {
		database.name = "go_" + strings.ReplaceAll(waypost.NewID().String(), "-", "")
		server := openSqlserver("")
		defer server.Close()
		must(server.Exec("CREATE DATABASE " + database.name))
		// Else a look waits for transactions that write. What merely speaks TDS may have no other kind.
		_, _ = server.Exec("ALTER DATABASE " + database.name + " SET READ_COMMITTED_SNAPSHOT ON")
	}
	return database, "odbc:" + os.Getenv(sqlserverVariable) + ";Database=" + database.name
}

// keep hands a database on if its tables are as they were, else it is dropped.
func (d sqlserverDatabase) keep() {
	db := openSqlserver(d.name)
	defer db.Close()
	var fingerprint int64
	err := db.QueryRow(sqlserverFingerprint).Scan(&fingerprint)
	if err != nil || (d.fingerprint != 0 && d.fingerprint != fingerprint) {
		db.Close()
		d.drop()
		return
	}
	d.fingerprint = fingerprint
	rows := must(db.Query(sqlserverTables))
	var script strings.Builder
	for rows.Next() {
		var name string
		_ = must(0, rows.Scan(&name))
		script.WriteString("DELETE FROM " + name + "; ")
	}
	rows.Close()
	must(db.Exec(script.String()))
	sqlserver.Lock()
	defer sqlserver.Unlock()
	sqlserver.idle = append(sqlserver.idle, d)
}

func (d sqlserverDatabase) drop() {
	server := openSqlserver("")
	defer server.Close()
	if _, err := server.Exec("DROP DATABASE " + d.name); err != nil { // a test that failed has left a connection
		fmt.Printf("%s was not dropped: %v\n", d.name, err)
	}
}

func dropSqlserver() {
	for _, database := range sqlserver.idle {
		database.drop()
	}
}

// needEscapes skips a test on a server whose OPENJSON leaves escapes as they are, as some do that merely speak TDS.
func (b *bed) needEscapes() {
	b.t.Helper()
	if !onSqlserver() {
		return
	}
	var whole int
	row := b.db.QueryRow(`SELECT COUNT(*) FROM OPENJSON(N'["a\""]') AS j WHERE j.value = N'a"'`)
	_ = must(0, row.Scan(&whole))
	if whole == 0 {
		b.t.Skip("SQL Server: this server's OPENJSON does not undo escapes")
	}
}

// needSqlserver skips a test that is of SQL Server alone, and says so.
func needSqlserver(t *testing.T) {
	t.Helper()
	if !onSqlserver() {
		t.Skip("SQL Server: WAYPOST_TEST_ENGINE is not sqlserver")
	}
}

// proves: OBX-001, OBX-003, OBX-111, OBX-113, BND-002
func TestSqlserverTransactionIsJoinedByEveryOperation(t *testing.T) {
	needSqlserver(t)
	b := newBed(t)
	owner := waypost.NewID()
	hashed := waypost.InboxKey{Source: "s", MessageID: "1", Consumer: "c", Hash: []byte{0, 255}}
	timer := b.schedule(timer("a", now.Add(time.Hour)))
	b.arrive(key("claimed"), "a", "1")
	claim := must(b.inbox().Claim(ctx, owner, nil, 1, time.Minute))
	full := waypost.Message{Topic: "a", Payload: []byte("\U0001f600 "), CorrelationID: "c", OrderingKey: "k ",
		UniqueKey: "u", Due: now.Add(-time.Microsecond)}
	for _, commit := range []bool{false, true} {
		tx := b.begin()
		b.order(tx)
		made := must(b.outbox.Enqueue(ctx, tx, full))
		equal(t, must(b.outbox.Enqueue(ctx, tx, full)), waypost.Enqueued{ID: made.ID, Duplicate: true})
		many := must(b.outbox.EnqueueMany(ctx, tx, []waypost.Message{message("b", "1"), full, message("b", "2")}))
		equal(t, many[1], waypost.Enqueued{ID: made.ID, Duplicate: true})
		equal(t, must(b.inbox().Check(ctx, tx, hashed)).Found, waypost.FoundNew)
		equal(t, must(b.inbox().Enqueue(ctx, tx, hashed, message("t", "1"))).Found, waypost.FoundSeen)
		equal(t, must(b.inbox().Once(ctx, tx, key("once"))).Proceed(), true)
		_ = must(0, b.inbox().MarkDead(ctx, tx, hashed, "x"))
		_ = must(0, b.inbox().Revive(ctx, tx, hashed))
		equal(t, must(b.inbox().Ack(ctx, tx, owner, claim, "")), 1)
		equal(t, must(b.timers().Reschedule(ctx, tx, timer, now)), true)
		equal(t, must(b.timers().Cancel(ctx, tx, timer)), true)
		_ = must(0, b.semaphores().SetLimit(ctx, tx, "s", 1))
		equal(t, must(b.semaphores().Acquire(ctx, tx, "s", "r", time.Minute)).Granted, true)
		equal(t, must(b.leases().Acquire(ctx, tx, "l", "me", time.Minute)).Granted, true)
		equal(t, must(b.leases().Get(ctx, tx, "l")).Owner, "me")
		b.joinOn(tx)
		if commit {
			_ = must(0, tx.Commit())
			equal(t, must(b.outbox.Get(ctx, made.ID)).Message.Due, full.Due)
		} else {
			_ = must(0, tx.Rollback())
			equal(t, []any{b.count(), b.orderCount()}, []any{int64(0), 0})
		}
		equal(t, must(b.leases().Acquire(ctx, nil, "l", "me too", time.Millisecond)).Granted, !commit)
		b.advance(time.Millisecond)
	}
	equal(t, b.orderCount(), 1)
	equal(t, b.inboxState(key("once")), waypost.Done)
	equal(t, b.inboxState(key("claimed")), waypost.Done)
	equal(t, b.inboxState(hashed), waypost.Ready)
	equal(t, must(b.timers().Get(ctx, timer)).State, waypost.Cancelled)
	equal(t, payloadsOf(b.claim("a")), []string{string(full.Payload)})
}

// What is longer than NVARCHAR(4000) goes as NVARCHAR(MAX).
// proves: BND-002
func TestSqlserverTakesTextsOfEveryLength(t *testing.T) {
	needSqlserver(t)
	b := newBed(t)
	for i, length := range []int{1, 3999, 4000, 4001, 100_000} {
		text := strings.Repeat("\u00e4", length-1) + " "
		tx := b.begin()
		m := message("a", text)
		m.UniqueKey = fmt.Sprint(i)
		must(b.outbox.Enqueue(ctx, tx, m))
		_ = must(0, tx.Commit())
		equal(t, payloadsOf(b.claim()), []string{text})
	}
}

// An error of the app's own under XACT_ABORT ends the transaction at the server. The driver goes on without one: what
// came then would be committed by itself.
// proves: OBX-001, OBX-003
func TestSqlserverTransactionThatTheServerHasEndedIsRefused(t *testing.T) {
	needSqlserver(t)
	b := newBed(t)
	old := must(sql.Open("mssql", sqlserverSource(b.name))) // which takes question marks
	defer old.Close()
	for db, mark := range map[*sql.DB]func(waypost.Execer) waypost.Execer{
		b.db: func(on waypost.Execer) waypost.Execer { return on },
		old:  waypost.QuestionMarks,
	} {
		for _, abort := range []bool{false, true} {
			tx := must(db.Begin())
			defer tx.Rollback()
			if abort {
				b.exec(tx, "SET XACT_ABORT ON")
			}
			must(b.outbox.Enqueue(ctx, mark(tx), message("before", "1")))
			if _, err := tx.Exec("SELECT 1 / 0"); err == nil {
				t.Fatal("1 / 0 was no error")
			}
			_, err := b.outbox.Enqueue(ctx, mark(tx), message("after", "1"))
			_, again := b.inbox().Once(ctx, mark(tx), key("once"))
			if abort {
				fails(t, err, waypost.ErrState)
				fails(t, again, waypost.ErrState)
				equal(t, strings.Contains(err.Error(), "the transaction is over"), true)
				continue
			}
			_ = must(0, err)
			_ = must(0, again)
			_ = must(0, tx.Rollback())
		}
	}
	equal(t, b.count(), 0)
	equal(t, b.found(nil, key("once")), waypost.FoundNew)
}

// proves: BND-002
func TestSqlserversErrorsAreTheDriversOwn(t *testing.T) {
	needSqlserver(t)
	b := newBed(t)
	tx := b.begin()
	_ = must(0, tx.Rollback())
	_, err := b.outbox.Enqueue(ctx, tx, message("a", "1"))
	fails(t, err, sql.ErrTxDone)
	elsewhere := openSqlserver("master")
	defer elsewhere.Close()
	tx = must(elsewhere.Begin())
	defer tx.Rollback()
	_, err = b.outbox.Enqueue(ctx, tx, message("a", "1"))
	var server interface{ SQLErrorNumber() int32 }
	equal(t, errors.As(err, &server) && server.SQLErrorNumber() > 0, true) // no such procedure
	equal(t, errors.Is(err, waypost.ErrState), false)
}
