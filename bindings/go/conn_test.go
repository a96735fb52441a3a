// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
)

// scripted is a driver whose every query gives these results, one after the other, and then this error.
type scripted struct {
	results [][]int64
	behind  error
}

func (s scripted) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s scripted) Driver() driver.Driver                        { return nil }
func (s scripted) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (s scripted) Close() error                                 { return nil }
func (s scripted) Begin() (driver.Tx, error)                    { return s, nil }
func (s scripted) Commit() error                                { return nil }
func (s scripted) Rollback() error                              { return nil }
func (s scripted) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &scriptedRows{scripted: s}, nil
}

type scriptedRows struct {
	scripted
	result, row int
}

// Columns are as many as the result's number, which is also in its rows.
func (r *scriptedRows) Columns() []string { return make([]string, r.result+1) }

func (r *scriptedRows) Next(into []driver.Value) error {
	if r.result == len(r.results) || r.row == len(r.results[r.result]) {
		if !r.HasNextResultSet() && r.behind != nil {
			return r.behind
		}
		return io.EOF
	}
	for i := range into {
		into[i] = r.results[r.result][r.row]
	}
	r.row++
	return nil
}

func (r *scriptedRows) HasNextResultSet() bool { return r.result+1 < len(r.results) }

func (r *scriptedRows) NextResultSet() error {
	if !r.HasNextResultSet() {
		return io.EOF
	}
	r.result++
	r.row = 0
	return nil
}

// A procedure's rows may come in several results, of as many columns as each has, and its error behind them.
func TestRowsOfEveryResultAndTheErrorBehindThemAreRead(t *testing.T) {
	boom := errors.New("boom")
	for _, behind := range []error{nil, boom} {
		for _, results := range [][][]int64{{{}}, {{1, 2}}, {{}, {1}, {}, {2, 3}}} {
			db := sql.OpenDB(scripted{results, behind})
			var want, got, columns int
			for number, rows := range results {
				for _, row := range rows {
					want, columns = want*10+int(row), columns+number+1
				}
			}
			err := standard{db}.Execute(context.Background(), "", nil, func(row []any) error {
				got, columns = got*10+int(row[0].(int64)), columns-len(row)
				return nil
			})
			if err != behind || got != want || columns != 0 {
				t.Fatalf("%v: got %d, %v, %d columns too few; want %d, %v", results, got, err, columns, want, behind)
			}
			db.Close()
		}
	}
}

func TestQuestionMarksAreSeenThrough(t *testing.T) {
	if QuestionMarks(nil) != nil {
		t.Fatal("no connection became one")
	}
	db := sql.OpenDB(scripted{})
	defer db.Close()
	for _, marked := range []Execer{QuestionMarks(db), QuestionMarks(QuestionMarks(db))} {
		if on, questions := unmarked(marked); on != db || !questions {
			t.Fatalf("got a %T, %v", on, questions)
		}
	}
}

// A transaction as apps' own packages have it.
type (
	embedding struct {
		*sql.Tx
		mapper string
	}
	transaction interface {
		Execer
		Commit() error
		Rollback() error
	}
	wrapping struct{ transaction }
	logging  struct{ Execer }
)

// Where a server may have ended a transaction, what joins it must know that it is one.
/* proves: BND-002 */
func TestTransactionsInWrappersAreKnownAsSuch(t *testing.T) {
	db := sql.OpenDB(scripted{})
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // there is nothing to roll back
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, on := range []Execer{tx, embedding{tx, "x"}, &embedding{tx, "x"}, wrapping{tx}, wrapping{embedding{tx, "x"}}} {
		for _, marked := range []Execer{on, QuestionMarks(on), QuestionMarks(QuestionMarks(on))} {
			if bare, _ := unmarked(marked); !isTransaction(bare) {
				t.Errorf("a %T is not known as a transaction", on)
			}
		}
	}
	for _, on := range []Execer{db, conn, logging{tx}, Via(nil)} {
		if isTransaction(on) {
			t.Errorf("a %T is taken for a transaction", on)
		}
	}
}

// Pools as apps' own packages have them.
type (
	pooled  struct{ *sql.DB }
	foreign struct{ pooled }
)

func (foreign) BeginTx(context.Context, *sql.TxOptions) (transaction, error) { return nil, nil }

// A pool has no transaction to join, whoever wraps it.
/* proves: BND-002 */
func TestPoolsInWrappersAreKnownAsSuch(t *testing.T) {
	db := sql.OpenDB(scripted{})
	defer db.Close()
	for _, on := range []Execer{db, pooled{db}, &pooled{db}} {
		if found, err := asPool(on); found == nil || err != nil {
			t.Fatalf("a %T is a pool: %v, %v", on, found, err)
		}
	}
	if found, err := asPool(foreign{pooled{db}}); found != nil || !errors.Is(err, ErrArgument) {
		t.Fatalf("nobody can begin there: %v, %v", found, err)
	}
	connection, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for _, on := range []Execer{connection, embedding{}, wrapping{}, logging{db}} {
		if found, err := asPool(on); found != nil || err != nil {
			t.Fatalf("a %T is no pool: %v, %v", on, found, err)
		}
	}
}
