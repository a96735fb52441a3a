// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"testing"

	"waypost"
)

// scenario: PAU-001
// proves: WRK-008
func TestPausedTopicIsLeftAloneUntilItIsResumed(t *testing.T) {
	b := newBed(t)
	var seen []string
	w := b.worker(b.store)
	for _, topic := range []string{"left", "other"} {
		b.handle(w, topic, func(_ context.Context, d *waypost.Delivery) error {
			seen = append(seen, d.Topic)
			return nil
		})
	}
	equal(t, must(b.outbox.Pause(ctx, nil, "left", "me")), true)
	equal(t, must(b.outbox.Pause(ctx, nil, "left", "")), false)
	equal(t, must(b.outbox.Paused(ctx)), []waypost.PausedTopic{{Topic: "left", Since: now, By: "me"}})
	equal(t, len(must(b.timers().Paused(ctx))), 0)
	b.enqueue(waypost.Message{Topic: "left", Payload: []byte("1")})
	b.enqueue(waypost.Message{Topic: "other", Payload: []byte("1")})
	equal(t, b.drain(w), 1)
	stats := must(b.outbox.Stats(ctx, true)).Topics["left"]
	equal(t, [2]int64{stats.Ready, stats.Paused}, [2]int64{0, 1})
	equal(t, must(b.outbox.Resume(ctx, nil, "left", "")), true)
	equal(t, must(b.outbox.Resume(ctx, nil, "left", "")), false)
	equal(t, b.drain(w), 1)
	equal(t, seen, []string{"other", "left"})
	_, err := b.outbox.Pause(ctx, nil, "", "")
	fails(t, err, waypost.ErrArgument)
	_, err = b.outbox.Pause(ctx, nil, "a\x00b", "")
	fails(t, err, waypost.ErrArgument)
}

// scenario: PAU-002
// proves: WRK-008, BND-002
func TestPausedInTheAppsTransactionGoesWithItsRollback(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	equal(t, must(b.timers().Pause(ctx, tx, "t", "")), true)
	must(0, tx.Rollback())
	equal(t, len(must(b.timers().Paused(ctx))), 0)
	tx = b.begin()
	equal(t, must(b.timers().Pause(ctx, tx, "t", "")), true)
	must(0, tx.Commit())
	equal(t, len(must(b.timers().Paused(ctx))), 1)
}
