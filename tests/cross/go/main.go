// SPDX-License-Identifier: Apache-2.0

// Go's part of the cross-language test (../run.py says what each program does):
//
//	cross_go produce URL FILE
//	cross_go consume URL TOPIC COUNT FILE
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"

	"waypost"
)

type row struct {
	Topic         string            `json:"topic"`
	Payload       string            `json:"payload"`
	Headers       map[string]string `json:"headers"`
	CorrelationID *string           `json:"correlation_id"`
	DueUS         *int64            `json:"due_us"`
}

func connect(url string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return sql.Open("sqlite3", "file:"+path+"?_busy_timeout=30000&_txlock=immediate")
	}
	return sql.Open("postgres", url+"?sslmode=disable")
}

func messages(path string) ([]waypost.Message, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var made []waypost.Message
	for decoder := json.NewDecoder(bufio.NewReader(file)); decoder.More(); {
		var r row
		if err := decoder.Decode(&r); err != nil {
			return nil, err
		}
		message := waypost.NewMessage(r.Topic, r.Payload)
		message.Headers = r.Headers
		if r.CorrelationID != nil {
			message.CorrelationID = *r.CorrelationID
		}
		if r.DueUS != nil {
			message.Due = time.UnixMicro(*r.DueUS)
		}
		made = append(made, message)
	}
	return made, nil
}

func produce(ctx context.Context, url, path string) error {
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
	made, err := messages(path)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := store.Outbox().EnqueueMany(ctx, tx, made); err != nil {
		return err
	}
	return tx.Commit()
}

func consume(ctx context.Context, url, topic string, count int, path string) error {
	store, err := waypost.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	out.SetEscapeHTML(false)
	worker, err := store.Worker()
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err = worker.Handle(topic, func(_ context.Context, d *waypost.Delivery) error {
		due := d.Due.UnixMicro()
		r := row{Topic: d.Topic, Payload: string(d.Payload), Headers: d.Headers, DueUS: &due}
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		if d.CorrelationID != "" {
			r.CorrelationID = &d.CorrelationID
		}
		mutex.Lock()
		defer mutex.Unlock()
		count--
		if count == 0 {
			cancel()
		}
		return out.Encode(r)
	})
	if err != nil {
		return err
	}
	if err := worker.Run(ctx); err != nil {
		return err
	}
	if count > 0 {
		return fmt.Errorf("%d messages did not come", count)
	}
	return nil
}

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "produce":
		err = produce(context.Background(), os.Args[2], os.Args[3])
	case len(os.Args) == 6 && os.Args[1] == "consume":
		count, _ := strconv.Atoi(os.Args[4])
		err = consume(context.Background(), os.Args[2], os.Args[3], count, os.Args[5])
	default:
		os.Exit(2)
	}
	if err != nil {
		log.Fatal("cross_go: ", err)
	}
}
