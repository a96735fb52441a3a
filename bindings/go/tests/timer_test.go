// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"testing"
	"time"

	"waypost"
)

func (b *bed) timers() waypost.Timers { return b.store.Timers() }

func timer(topic string, due time.Time) waypost.Message {
	return waypost.Message{Topic: topic, Payload: []byte("x"), Due: due}
}

func (b *bed) schedule(m waypost.Message) waypost.ID {
	return must(b.timers().Schedule(ctx, nil, m)).ID
}

func (b *bed) claimTimers() []waypost.Received {
	return must(b.timers().Claim(ctx, waypost.NewID(), nil, 100, time.Minute))
}

// scenario: TIM-001
// proves: TMR-001, TMR-008, BND-002
func TestTimersAreScheduledInTransaction(t *testing.T) {
	b := newBed(t)
	tx := b.begin()
	must(b.timers().Schedule(ctx, tx, timer("gone", now)))
	tx.Rollback()
	tx = b.begin()
	b.order(tx)
	made := must(b.timers().ScheduleMany(ctx, tx, []waypost.Message{timer("a", now), timer("b", now)}))
	must(0, tx.Commit())
	more := must(b.timers().ScheduleMany(ctx, nil, []waypost.Message{timer("c", now), timer("d", now)}))
	claim := b.claimTimers()
	equal(t, topicsOf(claim), []string{"a", "b", "c", "d"})
	equal(t, []waypost.ID{claim[1].ID, claim[3].ID}, []waypost.ID{made[1].ID, more[1].ID})
	_, err := b.timers().ScheduleMany(ctx, nil, []waypost.Message{timer("a", now), timer("", now)})
	fails(t, err, waypost.ErrArgument)
	equal(t, len(b.claimTimers()), 0)
	equal(t, must(b.timers().Schedule(ctx, b.db, unique("1", "k"))).Duplicate, false)
	equal(t, must(b.timers().Schedule(ctx, b.db, unique("2", "k"))).Duplicate, true)
}

// scenario: TIM-002
// proves: TMR-003, TMR-005
func TestTimersAreNeverEarlyAndGoByDueTime(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	var seen []string
	must(0, w.HandleTimer("a", func(_ context.Context, d delivery) error {
		equal(t, d.Kind(), waypost.TimerKind)
		fails(t, d.SetOutput("x"), waypost.ErrState) // it is no run
		seen = append(seen, d.Due.Sub(now).String())
		return nil
	}))
	for _, seconds := range []time.Duration{5, 3, 5, 1} {
		b.schedule(timer("a", now.Add(seconds*time.Second)))
	}
	equal(t, b.drain(w), 0)
	b.advance(time.Second - time.Microsecond)
	equal(t, b.drain(w), 0)
	b.advance(time.Microsecond)
	equal(t, b.drain(w), 1)
	b.advance(time.Minute)
	equal(t, b.drain(w), 3)
	equal(t, seen, []string{"1s", "3s", "5s", "5s"})
}

// scenario: TIM-003
// proves: TMR-002
func TestTimerIsCancelled(t *testing.T) {
	b := newBed(t)
	for _, on := range []waypost.Execer{nil, b.db} {
		id := b.schedule(timer("a", now.Add(time.Second)))
		equal(t, must(b.timers().Cancel(ctx, on, id)), true)
		equal(t, must(b.timers().Cancel(ctx, on, id)), false)
		equal(t, must(b.timers().Cancel(ctx, on, waypost.NewID())), false)
		equal(t, must(b.timers().Get(ctx, id)).State, waypost.Cancelled)
		kept := b.schedule(timer("kept", now.Add(time.Second)))
		tx := b.begin()
		equal(t, must(b.timers().Cancel(ctx, tx, kept)), true)
		tx.Rollback()
		b.advance(time.Minute)
		equal(t, topicsOf(b.claimTimers()), []string{"kept"})
		equal(t, must(b.timers().Cancel(ctx, on, kept)), false)
	}
}

// scenario: TIM-004
// proves: TMR-007
func TestTimerIsRescheduledLookedUpAndListed(t *testing.T) {
	b := newBed(t)
	var ids []waypost.ID
	for i, topic := range []string{"a", "b", "c", "d", "e"} {
		m := timer(topic, now.Add(time.Duration(9-i)*time.Hour))
		m.CorrelationID = []string{"odd", "even"}[i%2]
		ids = append(ids, b.schedule(m))
	}
	later := now.Add(24 * time.Hour)
	equal(t, must(b.timers().Reschedule(ctx, nil, ids[0], later)), true)
	equal(t, must(b.timers().Get(ctx, ids[0])).Message.Due, later)
	equal(t, must(b.timers().Reschedule(ctx, b.db, ids[0], now)), true)
	equal(t, must(b.timers().RescheduleIn(ctx, nil, ids[1], time.Minute)), true)
	equal(t, must(b.timers().Get(ctx, ids[1])).NextAttempt, now.Add(time.Minute))
	equal(t, must(b.timers().RescheduleIn(ctx, nil, waypost.NewID(), 0)), false)
	equal(t, topicsOf(b.claimTimers()), []string{"a"})
	equal(t, must(b.timers().Reschedule(ctx, nil, ids[0], later)), false)
	for want, correlation := range map[string]string{"abcde": "", "ace": "odd", "bd": "even"} {
		listed := ""
		page, err := b.timers().List(ctx, correlation, 2)
		for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
			for _, info := range page.Items {
				listed += info.Message.Topic
			}
		}
		must(0, err)
		equal(t, must(page.Next(ctx)), page) // the end
		page.Close()
		equal(t, listed, want)
	}
	_, err := b.timers().Get(ctx, waypost.NewID())
	fails(t, err, waypost.ErrNotFound)
	_, err = b.timers().List(ctx, "", 0)
	fails(t, err, waypost.ErrRange)
	_, err = b.timers().List(ctx, "\x00", 1)
	fails(t, err, waypost.ErrArgument)
}

// scenario: TIM-005
// proves: TMR-006, BND-004
func TestTimersOfAnyInstant(t *testing.T) {
	b := newBed(t)
	first := time.UnixMicro(0).UTC()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	for _, due := range []time.Time{first, last} {
		id := b.schedule(timer("a", due))
		equal(t, must(b.timers().Get(ctx, id)).Message.Due.Equal(due), true)
	}
	b.schedule(waypost.Message{Topic: "now", Payload: []byte("x"), Delay: -time.Hour})
	equal(t, topicsOf(b.claimTimers()), []string{"a", "now"})
	for _, due := range []time.Time{first.Add(-time.Microsecond), last.Add(time.Microsecond)} {
		for _, on := range []waypost.Execer{nil, b.db} {
			_, err := b.timers().Schedule(ctx, on, timer("a", due))
			fails(t, err, waypost.ErrRange)
			_, err = b.timers().Reschedule(ctx, on, waypost.NewID(), due)
			fails(t, err, waypost.ErrRange)
		}
	}
}

// scenario: TIM-006
// proves: TMR-004
func TestTimersAreClaimedAndFinished(t *testing.T) {
	b := newBed(t)
	owner := waypost.NewID()
	claim := func() []waypost.Received {
		return must(b.timers().Claim(ctx, owner, nil, 1, 30*time.Second))
	}
	id := b.schedule(timer("a", now))
	m := claim()
	equal(t, must(b.timers().Abandon(ctx, owner, m, time.Second, "x")), 1)
	equal(t, len(claim()), 0)
	b.advance(time.Second)
	m = claim()
	equal(t, must(b.timers().Renew(ctx, owner, m, time.Minute)), 1)
	equal(t, must(b.timers().Release(ctx, owner, m)), 1)
	m = claim()
	b.advance(30 * time.Second)
	equal(t, must(b.timers().Reap(ctx)), 1)
	b.advance(time.Minute)
	m = claim()
	equal(t, m[0].Attempt, 2)
	tx := b.begin()
	equal(t, must(b.timers().Ack(ctx, tx, owner, m, "me")), 1)
	must(0, tx.Commit())
	equal(t, must(b.timers().Get(ctx, id)).FinishedBy, "me")
	b.schedule(timer("a", now))
	equal(t, must(b.timers().Fail(ctx, owner, claim(), "no")), 1)
	stats := must(b.timers().Stats(ctx, true)).Total
	equal(t, []int64{stats.Done, stats.Failed}, []int64{1, 1})
}
