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
// a *sql.DB, which has no transaction to join, it takes one of its own.
//
// Connections that are not database/sql's: see Pgx and Via.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Executor executes statements on a kind of connection that database/sql does not know; see Via.
type Executor interface {
	// Execute runs one statement, whose arguments are nil, int64, string or []byte. If row is not
	// nil the statement returns rows, and row is called for each with its columns, of the same
	// types. The statement is closed when Execute returns.
	Execute(ctx context.Context, query string, args []any, row func(columns []any) error) error
}

// Via makes an Executor a connection that can be given to Enqueue, Complete and so on.
func Via(executor Executor) Execer { return via{executor} }

type via struct{ Executor }

var errVia = errors.New("waypost: this connection is not database/sql's")

func (via) ExecContext(context.Context, string, ...any) (sql.Result, error) { return nil, errVia }
func (via) QueryContext(context.Context, string, ...any) (*sql.Rows, error) { return nil, errVia }

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
	if value := reflect.ValueOf(on); value.Kind() == reflect.Pointer && value.IsNil() {
		return failure(ErrArgument, "the connection is a nil %T", on)
	}
	if db, ok := on.(*sql.DB); ok {
		return inTransaction(ctx, db, begin, result)
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
		if err := executor.Execute(ctx, query, args, row); err != nil {
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

func inTransaction(ctx context.Context, db *sql.DB, begin func() (*operation, error),
	result func(*operation) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("waypost: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	if err := execute(ctx, tx, begin, result); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("waypost: %w", err)
	}
	return nil
}
