// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"waypost"
)

type storeHealth struct {
	ID                               string
	Status                           string
	LatencyUs, Ready, Stale, Overdue int64
}

func (b *bed) health(o waypost.HealthOptions) (*waypost.Health, storeHealth) {
	health := must(b.store.Health(ctx, o))
	var data struct{ Stores []storeHealth }
	_ = must(0, json.Unmarshal(health.Data, &data))
	return health, data.Stores[0]
}

func (b *bed) healthIs(t *testing.T, o waypost.HealthOptions, status waypost.HealthStatus, part string) {
	t.Helper()
	health, _ := b.health(o)
	equal(t, health.Status, status)
	equal(t, strings.Contains(health.Reason, part), true)
}

// scenario: HLT-101
// proves: HLT-001
func TestNothingToDoIsHealthyAndHasItsData(t *testing.T) {
	b := newBed(t)
	health, store := b.health(waypost.HealthOptions{})
	equal(t, health.Status.String(), "healthy")
	equal(t, health.Reason, "")
	equal(t, store.ID, b.store.ID())
	equal(t, store.Status, "healthy")
	equal(t, store.LatencyUs >= 0, true)
	equal(t, store.Ready+store.Stale, 0)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := b.store.Health(ended, waypost.HealthOptions{})
	fails(t, err, context.Canceled)
}

// scenario: HLT-102
// proves: HLT-001
func TestLeaseThatIsOverIsDegradedUntilItIsReaped(t *testing.T) {
	b := newBed(t)
	b.enqueue(message("t", "x"))
	_ = must(b.outbox.Claim(ctx, waypost.NewID(), nil, 10, time.Second))
	b.healthIs(t, waypost.HealthOptions{}, waypost.Healthy, "")
	b.advance(time.Second + time.Microsecond)
	b.healthIs(t, waypost.HealthOptions{}, waypost.Degraded, "1 messages are held by leases that are over")
	b.healthIs(t, waypost.HealthOptions{Scheduler: true}, waypost.Healthy, "")
	_ = must(b.outbox.Reap(ctx))
	b.healthIs(t, waypost.HealthOptions{}, waypost.Healthy, "")
}

// scenario: HLT-103
// proves: HLT-001
func TestReadyForLongerThanTheLimitIsOverdue(t *testing.T) {
	b := newBed(t)
	b.schedule(timer("t", now))
	b.enqueue(message("t", "x"))
	limit := waypost.HealthOptions{MaxAge: 5 * time.Second, Limit: time.Minute}
	b.advance(5 * time.Second)
	b.healthIs(t, limit, waypost.Healthy, "")
	b.advance(time.Microsecond)
	_, store := b.health(limit)
	equal(t, store.Overdue, 2)
	limit.Scheduler = true
	_, store = b.health(limit)
	equal(t, store.Overdue, 1)
	b.healthIs(t, waypost.HealthOptions{MaxAge: -1}, waypost.Healthy, "")
	b.healthIs(t, waypost.HealthOptions{}, waypost.Healthy, "")
	b.advance(5 * time.Minute)
	b.healthIs(t, waypost.HealthOptions{}, waypost.Degraded, "outbox")
	_, err := b.store.Health(ctx, waypost.HealthOptions{Limit: 2 * time.Hour})
	fails(t, err, waypost.ErrRange)
}

// scenario: HLT-104
// proves: HLT-001
func TestDueJobWhoseRunNobodyMakesIsOverdue(t *testing.T) {
	b := newBed(t)
	_ = must(0, b.store.Jobs().Put(ctx, waypost.NewJob("hourly", waypost.Cron("0 * * * *"))))
	scheduler := waypost.HealthOptions{Scheduler: true, MaxAge: 5 * time.Second}
	b.healthIs(t, scheduler, waypost.Healthy, "")
	b.advance(time.Hour + 5*time.Second + time.Microsecond)
	b.healthIs(t, scheduler, waypost.Degraded, "its run is not made")
}

// scenario: HLT-105
// proves: HLT-001
func TestWorkerIsHealthyOnlyWhileItRuns(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	_ = must(0, w.Handle("t", func(context.Context, delivery) error { return nil }))
	equal(t, must(w.Health(ctx, waypost.HealthOptions{})).Reason, "the worker is not running")
	b.start(w)
	until(t, func() bool { return must(w.Health(ctx, waypost.HealthOptions{})).Status == waypost.Healthy })
	_ = must(0, w.Stop(ctx))
	equal(t, must(w.Health(ctx, waypost.HealthOptions{})).Status, waypost.Unhealthy)
}
