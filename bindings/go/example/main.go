// SPDX-License-Identifier: Apache-2.0

// Enqueue a message, and handle it.
package main

import (
	"context"
	"fmt"
	"log"

	"waypost"
)

func run(ctx context.Context) error {
	store, err := waypost.Open(ctx, "sqlite:outbox.db", waypost.WithDeploy())
	if err != nil {
		return err
	}
	defer store.Close()

	// With a *sql.Tx of the app's in place of nil, it belongs to that transaction.
	message := waypost.NewMessage("order.created", `{"id": 1}`)
	if _, err := store.Outbox().Enqueue(ctx, nil, message); err != nil {
		return err
	}

	worker, err := store.Worker()
	if err != nil {
		return err
	}
	err = worker.Handle("order.created", func(ctx context.Context, d *waypost.Delivery) error {
		fmt.Printf("%s: %s\n", d.Topic, d.Payload)
		return worker.Stop(ctx) // a service would go on
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
