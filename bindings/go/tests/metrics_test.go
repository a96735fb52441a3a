// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"waypost"
)

// proves: MET-001
func TestMetricsCountWhatAWorkerDidByTopic(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	b.handle(w, "t", func(_ context.Context, d delivery) error {
		if string(d.Payload) != "done" {
			return waypost.Reject(errors.New("no"))
		}
		return nil
	})
	equal(t, must(w.Metrics(ctx, 0)).Value("worker_processed_total", nil), 0)
	for _, m := range []waypost.Message{message("t", "done"), message("t", "x"), message("other", "x")} {
		b.enqueue(m)
	}
	b.drain(w)
	metrics := must(w.Metrics(ctx, time.Minute))
	topic := map[string]string{"queue": "outbox", "topic": "t"}
	equal(t, metrics.Value("worker_processed_total", nil), 2)
	equal(t, metrics.Value("waypost_acked_total", topic), 1)
	equal(t, metrics.Value("waypost_failed_total", topic), 1)
	equal(t, metrics.Value("waypost_handler_seconds_count", topic), 2)
	equal(t, metrics.Value("queue_depth", map[string]string{"topic": "other"}), 1)
	equal(t, strings.Contains(metrics.Text, "# TYPE queue_depth gauge\n"), true)
	equal(t, must(b.store.Metrics(ctx, 0)).Value("queue_depth", map[string]string{"store": b.store.ID()}), 1)
	_, err := b.store.Metrics(ctx, 2*time.Hour)
	fails(t, err, waypost.ErrRange)
}
