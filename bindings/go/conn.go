// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
)

// Execer is a connection or transaction of the app's: a *sql.Tx, a *sql.Conn, a *sql.DB, or what
// wraps one of them. Waypost runs its statements there and never begins, commits or rolls back. For
// a *sql.DB, which has no transaction to join, it takes one of its own, and so for what embeds one. A wrapper of a transaction should have
// its methods Commit and Rollback, as one that embeds it has: by them it is known as one, and a statement
// that comes after its end is refused.
//
// Connections that are not database/sql's: see Pgx and Via.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Executor executes statements on a kind of connection that database/sql does not know; see Via.
type Executor interface {
	// Execute runs one statement, whose arguments are nil, int64, string or []byte; on SQL Server each is a
	// sql.NamedArg of one, unless QuestionMarks says otherwise. If row is not nil the statement returns rows, in
	// one result or several, and row is called for each with its columns, of the same types. The statement is
	// closed when Execute returns; an error may come behind its rows.
	Execute(ctx context.Context, query string, args []any, row func(columns []any) error) error
}

// Via makes an Executor a connection that can be given to Enqueue, Complete and so on.
func Via(executor Executor) Execer { return via{executor} }

type via struct{ Executor }

var errVia = errors.New("waypost: this connection is not database/sql's")

func (via) ExecContext(context.Context, string, ...any) (sql.Result, error) { return nil, errVia }
func (via) QueryContext(context.Context, string, ...any) (*sql.Rows, error) { return nil, errVia }

// QuestionMarks is for drivers that write parameters as ? where others of their engine do not: ODBC's, and
// go-mssqldb's by its old name "mssql":
//
//	store.Outbox().Enqueue(ctx, waypost.QuestionMarks(tx), message)
func QuestionMarks(on Execer) Execer {
	if on == nil {
		return nil
	}
	if marked, ok := on.(questionMarks); ok {
		return marked
	}
	return questionMarks{on}
}

type questionMarks struct{ Execer }

// unmarked is what the app has, and whether its parameters are question marks.
func unmarked(on Execer) (bare Execer, questions bool) {
	if marked, ok := on.(questionMarks); ok {
		return marked.Execer, true
	}
	return on, false
}

// isTransaction is whether it is a *sql.Tx, or wraps one and lets its methods be seen.
func isTransaction(on Execer) bool {
	_, ok := on.(interface {
		Commit() error
		Rollback() error
	})
	return ok
}

// pool is a *sql.DB, or what embeds one.
type pool interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
	Stats() sql.DBStats
}

// asPool is the pool that it is, or nil: a transaction or a single connection. ErrArgument: a pool of another
// make, on which statements would run on several connections and without a transaction.
func asPool(on Execer) (pool, error) {
	if _, ok := on.(interface{ Stats() sql.DBStats }); !ok || isTransaction(on) {
		return nil, nil
	}
	if db, ok := on.(pool); ok {
		return db, nil
	}
	return nil, failure(ErrArgument, "the connection is a %T, whose BeginTx gives no *sql.Tx: lend its *sql.DB, "+
		"or a transaction", on)
}

// PgxRows is what this package needs of pgx.Rows.
type PgxRows interface {
	Next() bool
	Values() ([]any, error)
	Err() error
	Close()
}

// PgxQuerier is what this package needs of pgx.Tx, *pgx.Conn and *pgxpool.Pool.
type PgxQuerier[R PgxRows] interface {
	Query(ctx context.Context, query string, args ...any) (R, error)
}

// Pgx makes a pgx.Tx or *pgx.Conn of any version a connection that can be given to Enqueue,
// Complete and so on:
//
//	store.Outbox().Enqueue(ctx, waypost.Pgx(tx), message)
func Pgx[R PgxRows](querier PgxQuerier[R]) Execer { return Via(pgx[R]{querier}) }

type pgx[R PgxRows] struct{ querier PgxQuerier[R] }

func (p pgx[R]) Execute(ctx context.Context, query string, args []any, row func([]any) error) error {
	rows, err := p.querier.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		columns, err := rows.Values()
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if err := row(columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// standard is the Executor of database/sql.
type standard struct{ Execer }

func (s standard) Execute(ctx context.Context, query string, args []any, row func([]any) error) error {
	if row == nil {
		_, err := s.ExecContext(ctx, query, args...)
		return err
	}
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		if err := readResult(rows, row); err != nil {
			return err
		}
		if !rows.NextResultSet() { // a procedure's error may come behind its rows
			return rows.Err()
		}
	}
}

func readResult(rows *sql.Rows, row func([]any) error) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	columns := make([]any, len(names))
	into := make([]any, len(names))
	for i := range columns {
		into[i] = &columns[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// execute runs an operation on a connection of the app's: next -> execute -> feed -> result.
func execute(ctx context.Context, on Execer, begin func() (*operation, error),
	result func(*operation) error) error {
	on, questions := unmarked(on)
	if value := reflect.ValueOf(on); value.Kind() == reflect.Pointer && value.IsNil() {
		return failure(ErrArgument, "the connection is a nil %T", on)
	}
	if db, err := asPool(on); err != nil {
		return err
	} else if db != nil {
		return inTransaction(ctx, db, questions, begin, result)
	}
	executor, ok := on.(Executor)
	if !ok {
		executor = standard{on}
	}
	op, err := begin()
	if err != nil {
		return err
	}
	defer op.free()
	if err := op.prepare(questions); err != nil {
		return err
	}
	if isTransaction(on) {
		if err := op.requireTransaction(); err != nil {
			return err
		}
	}
	for {
		query, args, returnsRows, err := op.next()
		if err != nil {
			return err
		}
		if query == "" {
			return result(op)
		}
		row := op.feed
		if !returnsRows {
			row = nil
		}
		if err := executor.Execute(ctx, query, args, row); isOver(err) {
			return failure(ErrState, "the transaction is over: the server has ended it, after an error under "+
				"XACT_ABORT or a deadlock; roll it back and begin anew")
		} else if err != nil {
			return fmt.Errorf("waypost: %w", err)
		}
	}
}

// changed is execute for an operation whose result is a number of rows.
func changed(ctx context.Context, on Execer, begin func() (*operation, error)) (count int, err error) {
	err = execute(ctx, on, begin, func(op *operation) error {
		count = op.count()
		return nil
	})
	return count, err
}

// executeOn is execute where the app has to lend a connection.
func executeOn(ctx context.Context, on Execer, begin func() (*operation, error),
	result func(*operation) error) error {
	if on == nil {
		return failure(ErrArgument, "the connection is nil")
	}
	return execute(ctx, on, begin, result)
}

func inTransaction(ctx context.Context, db pool, questions bool, begin func() (*operation, error),
	result func(*operation) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("waypost: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	var on Execer = tx
	if questions {
		on = questionMarks{tx}
	}
	if err := execute(ctx, on, begin, result); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("waypost: %w", err)
	}
	return nil
}
