// SPDX-License-Identifier: Apache-2.0

// The demo's worker in Go: demoworker URL NAME TOPIC...
// Each handler writes what it saw and the acknowledgement in one transaction of its own. Runs until
// its standard input ends.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"

	"waypost"
)

func connect(url string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return sql.Open("sqlite3", "file:"+path+"?_busy_timeout=10000&_txlock=immediate")
	}
	return sql.Open("postgres", url+"?sslmode=disable")
}

// Effect and acknowledgement commit together, or not at all.
func handler(db *sql.DB, name string) waypost.Handler {
	return func(ctx context.Context, d *waypost.Delivery) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		_, err = tx.ExecContext(ctx,
			"INSERT INTO effects (order_id, worker, topic, payload) VALUES ($1, $2, $3, $4)",
			d.CorrelationID, name, d.Topic, string(d.Payload))
		if err != nil {
			return err
		}
		if err := d.Complete(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func run(url, name string, topics []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := waypost.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := connect(url)
	if err != nil {
		return err
	}
	defer db.Close()
	worker, err := store.Worker(waypost.WithName(name), waypost.WithStopTimeout(10*time.Second))
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if err := worker.Handle(topic, handler(db, name)); err != nil {
			return err
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return worker.Run(ctx)
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: demoworker URL NAME TOPIC...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		log.Fatal("demoworker: ", err)
	}
}
