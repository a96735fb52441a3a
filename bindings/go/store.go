// SPDX-License-Identifier: Apache-2.0

// Package waypost writes events in the same transaction as the app's own rows, on the connection
// that the app already has, and has them handled, at least once, by functions.
//
//	store, err := waypost.Open(ctx, "sqlite:app.db", waypost.WithDeploy())
//
//	tx, err := db.BeginTx(ctx, nil)
//	tx.ExecContext(ctx, "INSERT INTO orders (name) VALUES ('book')")
//	store.Outbox().Enqueue(ctx, tx, waypost.NewMessage("order.created", `{"name": "book"}`))
//	tx.Commit() // both, or neither
//
//	worker, err := store.Worker(waypost.WithConcurrency(8))
//	worker.Handle("order.created", func(ctx context.Context, d *waypost.Delivery) error {
//		return send(ctx, d.Payload) // nil: done; an error: tried again
//	})
//	err = worker.Run(ctx) // until ctx is done
package waypost

import (
	"context"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Store is one database with Waypost's tables. It may be used by many goroutines.
type Store struct {
	h                    handle
	id, location, engine string
	config               *nativeConfig
	log                  logger
	stopTimeout          time.Duration
	traces               func(context.Context) Trace

	mu      sync.Mutex
	closed  bool
	workers map[*Worker]struct{}

	registered registered
}

const defaultStopTimeout = 30 * time.Second

// Open opens a store: "sqlite:PATH", "sqlite::memory:", "postgresql://...".
//
// ErrConfig: the URL or an option; ErrUnavailable: no such file, not reachable; ErrSchema: the
// tables are missing, see WithDeploy.
func Open(ctx context.Context, url string, options ...Option) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	config, s, err := configured(url, options)
	if err != nil {
		return nil, err
	}
	store, err := openStore(config)
	if err != nil {
		config.close()
		return nil, err
	}
	store.config, store.log, store.stopTimeout = config, logger{s.logger}, s.stopTimeout
	store.workers, store.traces = map[*Worker]struct{}{}, s.traces
	return store, nil
}

// Deploy creates or upgrades Waypost's tables, and nothing else. It may be repeated, and called by
// many processes at once.
func Deploy(ctx context.Context, url string, options ...Option) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	config, _, err := configured(url, options)
	if err != nil {
		return err
	}
	defer config.close()
	return deploySchema(config)
}

func configured(url string, options []Option) (*nativeConfig, *settings, error) {
	config, err := newConfig()
	if err != nil {
		return nil, nil, err
	}
	s := &settings{place: forStore, config: config, stopTimeout: defaultStopTimeout}
	if err = s.set("store.url", url); err == nil {
		err = s.apply(options)
	}
	if err == nil && strings.HasPrefix(url, "sqlite:") && !s.secondCopy {
		err = checkSQLite()
	}
	if err == nil && !s.level {
		err = config.set("log.level", logger{s.logger}.coreLevel())
	}
	if err == nil {
		err = config.setLog(logger{s.logger}.record)
	}
	if err != nil {
		config.close()
		return nil, nil, err
	}
	return config, s, nil
}

// SQLite's locks on a file are lost as soon as a second SQLite in the same process closes it
// (sqlite.org/howtocorrupt.html, 2.2.1). These modules bring one that the core cannot share.
var sqliteCopies = []string{"modernc.org/sqlite", "github.com/ncruces/go-sqlite3"}

func checkSQLite() error {
	if info, ok := debug.ReadBuildInfo(); ok {
		return checkModules(info.Deps)
	}
	return nil
}

func checkModules(modules []*debug.Module) error {
	for _, module := range modules {
		for _, copied := range sqliteCopies {
			if module.Path == copied {
				return failure(ErrConfig, "the program holds a second SQLite, of %s: two in one"+
					" process can corrupt a database; see WithSecondSQLite", copied)
			}
		}
	}
	return nil
}

// ID is the option store.id: the store's name in logs.
func (s *Store) ID() string { return s.id }

// Location is a URL with which the app opens a connection of its own to the same database.
func (s *Store) Location() string { return s.location }

// Engine is "sqlite" or "postgresql".
func (s *Store) Engine() string { return s.engine }

// Close closes the store. Workers that run keep the database open until they are stopped.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	workers := s.workers
	s.workers = nil
	s.mu.Unlock()
	for worker := range workers {
		worker.closeIdle()
	}
	s.h.close()
	if s.config != nil {
		s.config.close()
	}
	return nil
}

// collected is the safety net for a store that nobody closed.
func (s *Store) collected() { _ = s.Close() }
