// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"waypost"
)

func (b *bed) jobs() waypost.Jobs { return b.store.Jobs() }
func (b *bed) runs() waypost.Runs { return b.store.Runs() }

func (b *bed) put(name string, options ...waypost.JobOption) {
	b.t.Helper()
	if err := b.jobs().Put(ctx, waypost.NewJob(name, options...)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) job(name string) *waypost.JobInfo { return must(b.jobs().Get(ctx, name)) }

// history is the runs of a job, the first one first.
func (b *bed) history(name string) []waypost.Run {
	page := must(b.runs().List(ctx, name, 1000))
	defer page.Close()
	runs := page.Items
	for i, j := 0, len(runs)-1; i < j; i, j = i+1, j-1 {
		runs[i], runs[j] = runs[j], runs[i]
	}
	return runs
}

func (b *bed) statuses(name string) (all []waypost.RunStatus) {
	for _, run := range b.history(name) {
		all = append(all, run.Status)
	}
	return all
}

func (b *bed) claimRuns(owner waypost.ID) []waypost.Received {
	return must(b.runs().Claim(ctx, owner, nil, 100, time.Minute))
}

// finishRuns ends all runs as done, one batch after the other, and tells how many there were.
func (b *bed) finishRuns() (count int) {
	owner := waypost.NewID()
	for {
		claim := b.claimRuns(owner)
		if len(claim) == 0 {
			return count
		}
		count += must(b.runs().Ack(ctx, nil, owner, claim, "me"))
	}
}

// scenario: RUN-001
// proves: JOB-001, JOB-002, JOB-005, JOB-010, BND-004
func TestJobsArePutListedAndDeleted(t *testing.T) {
	b := newBed(t)
	b.put("nightly", waypost.Cron("0 3 * * *"), waypost.Zone("Europe/Vienna"), waypost.Topic("t"),
		waypost.Payload("p"))
	b.put("Nightly", waypost.Cron("@hourly"))
	b.put("nightly ", waypost.Every(90*time.Second))
	info := b.job("nightly")
	equal(t, *info, waypost.JobInfo{Name: "nightly", Topic: "t", Payload: []byte("p"),
		Expression: "0 3 * * *", Zone: "Europe/Vienna", Enabled: true, LastStatus: waypost.RunNone,
		MisfireAfter: time.Minute,
		NextDue:      time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)})
	b.put("nightly", waypost.Cron("0 4 * * *"))
	equal(t, b.job("nightly").Zone, "UTC")
	var names []string
	for after := ""; ; after = names[len(names)-1] {
		page := must(b.jobs().List(ctx, after, 2))
		if len(page) == 0 {
			break
		}
		for _, job := range page {
			names = append(names, job.Name)
		}
	}
	equal(t, names, []string{"Nightly", "nightly", "nightly "})
	equal(t, must(b.jobs().Delete(ctx, "nightly")), true)
	equal(t, must(b.jobs().Delete(ctx, "nightly")), false)
	_, err := b.jobs().Get(ctx, "nightly")
	fails(t, err, waypost.ErrNotFound)
	for _, one := range []struct {
		job  waypost.Job
		kind error
		text string
	}{
		{waypost.NewJob("bad"), waypost.ErrArgument, "schedule"},
		{waypost.NewJob("bad", waypost.Cron("61 * * * *")), waypost.ErrArgument, "minute"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.Zone("Nowhere/Land")), waypost.ErrNotFound, "Nowhere"},
		{waypost.NewJob("bad", waypost.At(now.Add(-1))), waypost.ErrRange, "past"},
		{waypost.NewJob("bad", waypost.At(now.Add(1)), waypost.Cron("@daily")), waypost.ErrArgument, "both"},
		{waypost.NewJob("", waypost.Cron("@daily")), waypost.ErrArgument, "name"},
		{waypost.NewJob("bad\x00", waypost.Cron("@daily")), waypost.ErrArgument, "NUL"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.Topic("")), waypost.ErrArgument, "topic"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.RunTimeout(-time.Second)), waypost.ErrRange, "timeout"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.CatchUp(0, 0)), waypost.ErrRange, "catchUp"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.Retries(-1, 0, 0)), waypost.ErrRange, "maxAttempts"},
		{waypost.NewJob("bad", waypost.Cron("@daily"), waypost.WhenOverlapping(9)), waypost.ErrArgument, "overlap"},
		{waypost.Job{Name: "bad", Topic: "bad", Cron: "@daily"}, waypost.ErrArgument, "payload"},
	} {
		err := b.jobs().Put(ctx, one.job)
		if !errors.Is(err, one.kind) || !strings.Contains(err.Error(), one.text) {
			t.Errorf("%+v: %v", one.job, err)
		}
	}
	equal(t, len(must(b.jobs().List(ctx, "", 10))), 2)
	_, err = b.jobs().List(ctx, "", 0)
	fails(t, err, waypost.ErrRange)
}

// proves: JOB-001
func TestStoredJobShowsWhatItWasDefinedWith(t *testing.T) {
	b := newBed(t)
	b.put("all", waypost.Cron("@daily"), waypost.WhenOverlapping(waypost.OverlapSkip),
		waypost.CatchUp(9, 5*time.Second), waypost.RunTimeout(8*time.Second),
		waypost.Retries(4, 6*time.Second, 7*time.Second))
	info := b.job("all")
	equal(t, []int{int(info.Overlap), int(info.Misfire), info.CatchUp, info.MaxAttempts},
		[]int{int(waypost.OverlapSkip), int(waypost.MisfireCatchUp), 9, 4})
	equal(t, []time.Duration{info.MisfireAfter, info.Timeout, info.BackoffBase, info.BackoffMax},
		[]time.Duration{5 * time.Second, 8 * time.Second, 6 * time.Second, 7 * time.Second})
}

// scenario: RUN-013
// proves: JOB-018
func TestExpressionIsOverriddenByAnOptionUntilItIsTakenAway(t *testing.T) {
	b := newBed(t)
	// the second one is malformed: logged, and the code's stays
	store := b.open(waypost.WithClock(b.clock),
		waypost.WithOption("job.cron_overrides", `{"a": "*/7 * * * *", "b": "*/99 * * * *"}`))
	for _, name := range []string{"a", "b"} {
		must(0, store.Jobs().Put(ctx, waypost.NewJob(name, waypost.Cron("@hourly"))))
	}
	equal(t, b.job("a").Expression, "*/7 * * * *")
	equal(t, b.job("b").Expression, "@hourly")
	b.put("a", waypost.Cron("@hourly"))
	equal(t, b.job("a").Expression, "@hourly")
}

// proves: JOB-010, JOB-007
func TestOneTimeJobInMemoryReachesItsHandlerOnce(t *testing.T) {
	clock := must(waypost.NewManualClock(now))
	defer clock.Close()
	store := must(waypost.Open(ctx, "sqlite::memory:", waypost.WithDeploy(), waypost.WithClock(clock), waypost.WithLogger(quiet)))
	defer store.Close()
	w := must(store.Worker())
	var got []string
	must(0, w.HandleRuns("t", func(_ context.Context, d delivery) error {
		got = append(got, d.Job+" "+string(d.Payload))
		return nil
	}))
	must(0, store.Jobs().Put(ctx, waypost.NewJob("o", waypost.At(now.Add(time.Minute)), waypost.Topic("t"), waypost.Payload("p"))))
	equal(t, must(w.Drain(ctx)), 0)
	must(0, clock.Advance(time.Minute))
	equal(t, must(w.Drain(ctx)), 1)
	must(0, clock.Advance(time.Hour))
	equal(t, must(w.Drain(ctx)), 0)
	equal(t, got, []string{"o p"})
	info := must(store.Jobs().Get(ctx, "o"))
	equal(t, info.LastStatus, waypost.RunSucceeded)
}

// scenario: RUN-002
// proves: JOB-006..008
func TestDueJobRunsOnceAtTheSchedulesInstant(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithRegistrar("app"))
	var dues []time.Duration
	must(0, w.Job("j", func(_ context.Context, d delivery) error {
		equal(t, d.Kind(), waypost.JobKind)
		equal(t, []string{d.Job, string(d.Payload)}, []string{"j", "p"})
		dues = append(dues, d.Due.Sub(now))
		must(0, d.SetOutput("first"))
		fails(t, d.SetOutput(strings.Repeat("x", 65537)), waypost.ErrRange)
		fails(t, d.SetOutput("\xff"), waypost.ErrArgument)
		b.advance(time.Second)
		return d.SetOutput("done \U0001f600")
	}, waypost.Cron("*/10 * * * *"), waypost.Payload("p")))
	equal(t, b.drain(w), 0)
	b.advance(10*time.Minute - time.Microsecond)
	equal(t, b.drain(w), 0)
	b.advance(12 * time.Second)
	equal(t, b.drain(w), 1)
	equal(t, b.drain(w), 0)
	equal(t, dues, []time.Duration{10 * time.Minute})
	started := now.Add(10*time.Minute + 12*time.Second - time.Microsecond)
	run := b.history("j")[0]
	equal(t, run, waypost.Run{ID: run.ID, Job: "j", Status: waypost.RunSucceeded, Scheduled: true,
		Due: now.Add(10 * time.Minute), Started: started, Ended: started.Add(time.Second),
		Output: "done \U0001f600"})
	equal(t, *must(b.runs().Get(ctx, run.ID)), run)
	info := b.job("j")
	equal(t, []any{info.Registrar, info.LastStatus, info.LastDuration, info.LastDue},
		[]any{"app", waypost.RunSucceeded, time.Second, run.Due})
	equal(t, info.NextDue, now.Add(20*time.Minute))
}

// scenario: RUN-003
// proves: JOB-003
func TestJobIsTriggered(t *testing.T) {
	b := newBed(t)
	b.put("j", waypost.Cron("@yearly"))
	id := must(b.jobs().Trigger(ctx, "j"))
	run := must(b.runs().Get(ctx, id))
	equal(t, []any{run.Status, run.Scheduled, run.Due}, []any{waypost.RunPending, false, now})
	equal(t, b.finishRuns(), 1)
	_, err := b.jobs().Trigger(ctx, "x")
	fails(t, err, waypost.ErrNotFound)
	_, err = b.runs().Get(ctx, waypost.NewID())
	fails(t, err, waypost.ErrNotFound)
}

// scenario: RUN-004
// proves: JOB-004
func TestDisabledJobStaysSo(t *testing.T) {
	b := newBed(t)
	job := waypost.NewJob("j", waypost.Cron("*/10 * * * *"))
	must(0, b.jobs().Register(ctx, "app", job))
	must(0, b.jobs().Disable(ctx, "j", ""))
	must(0, b.jobs().Register(ctx, "app", job))
	again := b.open(waypost.WithClock(b.clock)) // a restart
	must(0, again.Jobs().Put(ctx, job))
	b.advance(31 * time.Minute)
	equal(t, must(again.Jobs().ScheduleDue(ctx)), 0)
	info := must(again.Jobs().Get(ctx, "j"))
	equal(t, []any{info.Enabled, info.NextDue.IsZero()}, []any{false, true})
	must(b.jobs().Trigger(ctx, "j"))
	must(0, b.jobs().Enable(ctx, "j", ""))
	equal(t, must(b.jobs().ScheduleDue(ctx)), 0)
	equal(t, b.job("j").NextDue, now.Add(40*time.Minute))
	fails(t, b.jobs().Enable(ctx, "x", ""), waypost.ErrNotFound)
	fails(t, b.jobs().Disable(ctx, "x", ""), waypost.ErrNotFound)
}

// scenario: RUN-005
// proves: JOB-001, JOB-004
func TestRegistrationFromCodeIsAReconcile(t *testing.T) {
	b := newBed(t)
	b.put("once", waypost.At(now.Add(time.Hour)))
	b.put("by hand", waypost.Cron("@hourly"))
	ten := waypost.Cron("*/10 * * * *")
	first := b.worker(b.store, waypost.WithRegistrar("app"))
	must(0, first.Job("stays", nothing, ten))
	must(0, first.Job("goes", nothing, ten))
	fails(t, first.Job("goes", nothing, ten), waypost.ErrState)
	fails(t, first.Job("bad", nothing, waypost.Cron("x"), waypost.Topic("")), waypost.ErrArgument)
	fails(t, first.Job("nil", nil, ten), waypost.ErrArgument)
	equal(t, b.drain(first), 0)
	equal(t, b.job("goes").NextDue, now.Add(10*time.Minute))
	b.advance(10*time.Minute + 30*time.Second) // a restart that takes longer than an occurrence
	second := b.worker(b.open(waypost.WithClock(b.clock)), waypost.WithRegistrar("app"))
	must(0, second.Job("stays", nothing, ten))
	must(0, second.Job("new", nothing, waypost.Cron("@hourly")))
	b.start(second)
	until(t, func() bool { return len(b.history("stays")) == 1 })
	must(0, second.Stop(ctx))
	equal(t, b.job("goes").Enabled, false)
	equal(t, []bool{b.job("goes").Vanished, b.job("stays").Vanished}, []bool{true, false})
	equal(t, len(b.history("goes")), 0)
	equal(t, b.job("new").NextDue, now.Add(time.Hour))
	must(0, b.jobs().Register(ctx, "app", waypost.NewJob("goes", ten)))
	equal(t, b.job("goes").NextDue, now.Add(20*time.Minute))
	equal(t, b.job("stays").Enabled, false)
	for _, name := range []string{"once", "by hand"} {
		equal(t, b.job(name).NextDue, now.Add(time.Hour))
	}
	job := waypost.NewJob("twice", ten)
	fails(t, b.jobs().Register(ctx, "app", job, job), waypost.ErrArgument)
	fails(t, b.jobs().Register(ctx, "", job), waypost.ErrArgument)
	fails(t, newPair(t).worker(t).Job("j", nothing, ten), waypost.ErrState)
	_, err := b.store.Worker(waypost.WithRegistrar(""))
	fails(t, err, waypost.ErrConfig)
}

// proves: JOB-001
func TestWorkersOfAStoreHaveTheirJobsTogether(t *testing.T) {
	b := newBed(t)
	for _, options := range [][]waypost.Option{nil, {waypost.WithRegistrar("app")}} {
		var workers []*waypost.Worker
		for _, name := range []string{"a", "b", "c", "d"} {
			w := b.worker(b.store, options...)
			must(0, w.Job(name, nothing, waypost.Cron("@yearly")))
			workers = append(workers, w)
		}
		var all sync.WaitGroup
		for _, w := range workers {
			all.Add(1)
			go func() {
				defer all.Done()
				must(w.Drain(ctx))
			}()
		}
		all.Wait()
		for _, name := range []string{"a", "b", "c", "d"} {
			equal(t, b.job(name).Enabled, true)
		}
	}
	last := b.worker(b.store, waypost.WithRegistrar("app"))
	must(0, last.Job("a", nothing, waypost.Cron("@daily")))
	b.drain(last)
	equal(t, []any{b.job("a").Expression, b.job("b").Enabled}, []any{"@daily", true})
	same := b.worker(b.store, waypost.WithRegistrar("app")) // what is refused does not stay
	must(0, same.Job("e", nothing, waypost.Cron("@daily")))
	must(0, same.Job("e", nothing, waypost.Cron("@daily"), waypost.Topic("f")))
	_, err := same.Drain(ctx)
	fails(t, err, waypost.ErrArgument)
	b.drain(b.worker(b.store, waypost.WithRegistrar("app")))
	equal(t, b.job("a").Enabled, true)
}

// proves: JOB-001
func TestLastJobThatIsRemovedIsSwitchedOff(t *testing.T) {
	b := newBed(t)
	must(0, b.jobs().Register(ctx, "app", waypost.NewJob("goes", waypost.Cron("@yearly"))))
	b.drain(b.worker(b.store))
	equal(t, b.job("goes").Enabled, true)
	b.drain(b.worker(b.store, waypost.WithRegistrar("app")))
	equal(t, b.job("goes").Enabled, false)
	b.drain(must(newPair(t).router.Worker(waypost.WithRegistrar("app")))) // no store of its own
}

func (p *pair) worker(t *testing.T) *waypost.Worker { return must(p.router.Worker()) }

// scenario: RUN-006
// proves: JOB-010
func TestOneTimeJob(t *testing.T) {
	b := newBed(t)
	at := now.Add(time.Minute)
	b.put("o", waypost.At(at))
	fails(t, b.jobs().Put(ctx, waypost.NewJob("o", waypost.At(at))), waypost.ErrState)
	b.advance(time.Minute - time.Microsecond)
	equal(t, must(b.jobs().ScheduleDue(ctx)), 0)
	b.advance(2 * time.Hour) // long missed: it fires all the same
	equal(t, must(b.jobs().ScheduleDue(ctx)), 1)
	equal(t, b.history("o")[0].Due, at)
	equal(t, b.job("o").Expression, "")
	equal(t, b.finishRuns(), 1)
	b.put("o", waypost.At(b.clock.Now().Add(time.Minute)))
	b.advance(time.Minute)
	equal(t, must(b.jobs().ScheduleDue(ctx)), 1)
	equal(t, len(b.history("o")), 2)
}

// scenario: RUN-007
// proves: JOB-011, JOB-013
func TestRunsThatTakeTooLongAndThatFail(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithLease(time.Hour))
	started, told := make(chan struct{}), make(chan error, 1)
	must(0, w.Job("slow", func(ctx context.Context, d delivery) error {
		close(started)
		<-ctx.Done()
		told <- context.Cause(ctx)
		return ctx.Err()
	}, waypost.Cron("@yearly"), waypost.RunTimeout(5*time.Second), waypost.Retries(1, 0, 0)))
	must(0, w.Job("fails", func(context.Context, delivery) error { panic("boom") },
		waypost.Cron("@yearly"), waypost.Retries(2, 7*time.Second, 7*time.Second),
		waypost.HandlerOptions(waypost.WithOption("worker.concurrency", "1"))))
	b.start(w)
	id := must(b.jobs().Trigger(ctx, "slow"))
	w.Wake()
	wait(t, started)
	b.advance(5 * time.Second)
	equal(t, <-told, waypost.ErrTimeout)
	until(t, func() bool { return must(b.runs().Get(ctx, id)).Status == waypost.RunTimedOut })
	must(0, w.Stop(ctx))
	drains := b.worker(b.store, waypost.WithOption("worker.backoff_jitter", "0"))
	must(0, drains.HandleRuns("fails", func(context.Context, delivery) error { panic("boom") }))
	id = must(b.jobs().Trigger(ctx, "fails"))
	b.drain(drains)
	run := must(b.runs().Get(ctx, id))
	equal(t, []any{run.Status, run.Attempt, run.Error}, []any{waypost.RunPending, 1, "panic: boom"})
	b.advance(7*time.Second - time.Microsecond)
	equal(t, b.drain(drains), 0)
	b.advance(time.Microsecond)
	equal(t, b.drain(drains), 1)
	equal(t, must(b.runs().Get(ctx, id)).Status, waypost.RunFailed)
}

// proves: JOB-011
func TestRunThatReturnsAfterItsTimeoutHasTimedOutAllTheSame(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store, waypost.WithLease(time.Hour))
	must(0, w.Job("slow", func(ctx context.Context, d delivery) error {
		b.advance(5 * time.Second)
		<-ctx.Done()
		return nil
	}, waypost.Cron("@yearly"), waypost.RunTimeout(5*time.Second), waypost.Retries(1, 0, 0)))
	b.start(w)
	id := must(b.jobs().Trigger(ctx, "slow"))
	w.Wake()
	until(t, func() bool { return must(b.runs().Get(ctx, id)).Status == waypost.RunTimedOut })
	equal(t, strings.HasPrefix(must(b.runs().Get(ctx, id)).Error, "timeout"), true)
	must(0, w.Stop(ctx))
}

// holdRuns begins runs in a process of its own, says so, and never ends them.
func holdRuns(url string) {
	options := []waypost.Option{waypost.WithLogger(quiet)}
	if schema := os.Getenv("WAYPOST_TEST_CHILD_SCHEMA"); schema != "" {
		options = append(options, waypost.WithOption("store.schema", schema))
	}
	store := must(waypost.Open(ctx, url, options...))
	w := must(store.Worker(waypost.WithOption("worker.job_lease_ms", "1000"), waypost.WithConcurrency(2)))
	must(0, w.HandleRuns("k", func(ctx context.Context, d delivery) error {
		fmt.Println(d.ID)
		select {}
	}))
	_ = w.Run(ctx)
}

// proves: JOB-009, JOB-015
func TestRunsOfAProcessThatIsKilledAreRetriedOnceAndTheOthersNever(t *testing.T) {
	b := newBed(t)
	store := b.live()
	jobs, list := store.Jobs(), store.Runs()
	must(0, jobs.Put(ctx, waypost.NewJob("k", waypost.Cron("@yearly"),
		waypost.WhenOverlapping(waypost.OverlapAllow), waypost.Retries(3, 0, 0))))
	want := map[waypost.ID]int64{}
	for range 4 {
		want[must(jobs.Trigger(ctx, "k"))] = 0
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "WAYPOST_TEST_CHILD="+b.url, "WAYPOST_TEST_CHILD_SCHEMA="+b.schema)
	lines := bufio.NewScanner(must(child.StdoutPipe()))
	must(0, child.Start())
	for range 2 {
		equal(t, lines.Scan(), true)
		want[must(waypost.ParseID(lines.Text()))]++
	}
	must(0, child.Process.Kill())
	_ = child.Wait()
	type handled struct {
		id      waypost.ID
		attempt int64
	}
	got := make(chan handled, 9)
	w := b.worker(store, waypost.WithOption("worker.backoff_base_ms", "1"), waypost.WithOption("worker.reap_ms", "100"))
	must(0, w.HandleRuns("k", func(_ context.Context, d delivery) error {
		got <- handled{d.ID, d.Attempt}
		return nil
	}))
	b.start(w)
	attempts := map[waypost.ID]int64{}
	for range 4 {
		one := <-got
		attempts[one.id] = one.attempt
	}
	must(0, w.Stop(ctx))
	equal(t, attempts, want)
	for id := range want {
		run := must(list.Get(ctx, id))
		equal(t, []any{run.Status, run.Attempt}, []any{waypost.RunSucceeded, want[id]})
	}
	equal(t, len(got), 0)
}

// scenario: RUN-008
// proves: JOB-012
func TestOverlap(t *testing.T) {
	for policy, want := range map[waypost.Overlap][3]int{ // claimed at once, then, skipped
		waypost.OverlapQueue: {1, 2, 0}, waypost.OverlapSkip: {1, 0, 2}, waypost.OverlapAllow: {3, 0, 0}} {
		b := newBed(t)
		b.put("j", waypost.Cron("* * * * *"), waypost.WhenOverlapping(policy))
		for range 3 {
			b.advance(time.Minute)
			must(b.jobs().ScheduleDue(ctx))
		}
		owner := waypost.NewID()
		claim := b.claimRuns(owner)
		equal(t, must(b.runs().Ack(ctx, nil, owner, claim, "")), want[0])
		equal(t, b.finishRuns(), want[1])
		equal(t, strings.Count(fmt.Sprint(b.statuses("j")), "skipped"), want[2])
	}
}

// scenario: RUN-009
// proves: JOB-014
func TestMisfire(t *testing.T) {
	b := newBed(t)
	every := waypost.Cron("* * * * *")
	b.put("fire", every)
	b.put("skip", every, waypost.WhenMissed(waypost.MisfireSkip, time.Minute))
	b.put("catch", every, waypost.CatchUp(5, time.Minute))
	b.advance(time.Hour + time.Second)
	equal(t, must(b.jobs().ScheduleDue(ctx)), 6)
	equal(t, b.statuses("fire"), []waypost.RunStatus{waypost.RunPending})
	equal(t, b.history("fire")[0].Due, now.Add(time.Hour))
	equal(t, b.statuses("skip"), []waypost.RunStatus{waypost.RunSkipped})
	for i, run := range b.history("catch") {
		equal(t, run.Due, now.Add(time.Duration(56+i)*time.Minute))
	}
	equal(t, len(b.history("catch")), 5)
}

// scenario: RUN-010
// proves: JOB-008
func TestRunIsCancelled(t *testing.T) {
	b := newBed(t)
	store := b.live()
	must(0, store.Jobs().Put(ctx, waypost.NewJob("waits", waypost.Cron("@yearly"))))
	id := must(store.Jobs().Trigger(ctx, "waits"))
	equal(t, must(store.Runs().Cancel(ctx, id)), true)
	equal(t, must(store.Runs().Cancel(ctx, id)), false)
	equal(t, must(store.Runs().Cancel(ctx, waypost.NewID())), false)
	equal(t, must(store.Runs().Get(ctx, id)).Status, waypost.RunCancelled)
	w := b.worker(store, waypost.WithOption("worker.reap_ms", "50"))
	started, told := make(chan struct{}), make(chan error, 1)
	must(0, w.Job("runs", func(ctx context.Context, d delivery) error {
		close(started)
		<-ctx.Done()
		told <- context.Cause(ctx)
		return fmt.Errorf("query: %w", ctx.Err())
	}, waypost.Cron("@yearly")))
	b.start(w)
	id = must(store.Jobs().Trigger(ctx, "runs"))
	wait(t, started)
	equal(t, must(store.Runs().Cancel(ctx, id)), true)
	equal(t, <-told, waypost.ErrCancelled)
	until(t, func() bool { return must(store.Runs().Get(ctx, id)).Status == waypost.RunCancelled })
	equal(t, must(store.Runs().Get(ctx, id)).Error, "cancelled: query: context canceled")
}

// scenario: RUN-011
// proves: JOB-009, JOB-015, JOB-016
func TestRunsAreListedPurgedAndClaimedByHand(t *testing.T) {
	b := newBed(t)
	b.put("j", waypost.Cron("@yearly"), waypost.Retries(2, time.Second, time.Second))
	b.put("other", waypost.Cron("@yearly"))
	owner := waypost.NewID()
	for range 3 {
		must(b.jobs().Trigger(ctx, "j"))
		must(b.jobs().Trigger(ctx, "other"))
	}
	for want, name := range map[int]string{3: "j", 6: ""} {
		listed := map[waypost.ID]bool{}
		page, err := b.runs().List(ctx, name, 2)
		for ; err == nil && len(page.Items) > 0; page, err = page.Next(ctx) {
			for _, run := range page.Items {
				listed[run.ID] = true
			}
		}
		must(0, err)
		equal(t, len(listed), want)
	}
	equal(t, b.finishRuns(), 6)
	b.advance(time.Hour)
	id := must(b.jobs().Trigger(ctx, "j"))
	equal(t, must(b.runs().PurgeEnded(ctx, time.Hour)), 6)
	status := func() waypost.RunStatus { return must(b.runs().Get(ctx, id)).Status }
	m := b.claimRuns(owner)
	equal(t, m[0].Job, "j")
	equal(t, must(b.runs().Release(ctx, owner, m)), 1)
	m = b.claimRuns(owner)
	equal(t, must(b.runs().Renew(ctx, owner, m, 2*time.Minute)), 1)
	b.advance(time.Minute)
	equal(t, must(b.runs().Reap(ctx)), 0)
	b.advance(time.Minute)
	equal(t, must(b.runs().Reap(ctx)), 1)
	equal(t, status(), waypost.RunPending)
	b.advance(time.Minute)
	m = b.claimRuns(owner)
	equal(t, m[0].Attempt, 1)
	equal(t, must(b.runs().Abandon(ctx, owner, m, time.Second, "x")), 1)
	equal(t, status(), waypost.RunFailed) // its job allows two attempts
	id = must(b.jobs().Trigger(ctx, "j"))
	equal(t, must(b.runs().Fail(ctx, owner, b.claimRuns(owner), "bad")), 1)
	equal(t, []any{status(), must(b.runs().Get(ctx, id)).Error}, []any{waypost.RunFailed, "bad"})
	equal(t, must(b.runs().Stats(ctx, true)).Total.Failed, 2)
	fails(t, (&waypost.Delivery{}).SetOutput("x"), waypost.ErrState)
}

// scenario: RUN-012
// proves: JOB-001..003, JOB-009, BND-002
func TestJobsInTheAppsTransaction(t *testing.T) {
	for _, commit := range []bool{false, true} {
		b := newBed(t)
		owner := waypost.NewID()
		in := func(f func(tx *sql.Tx)) {
			tx := b.begin()
			f(tx)
			if commit {
				must(0, tx.Commit())
			} else {
				must(0, tx.Rollback())
			}
		}
		names := func() (all []string) {
			for _, job := range must(b.jobs().List(ctx, "", 10)) {
				all = append(all, job.Name)
			}
			return all
		}
		b.put("old", waypost.Cron("@daily"))
		must(b.jobs().Trigger(ctx, "old"))
		want, count := []string{"old"}, 1
		if commit {
			want, count = []string{"new", "old"}, 2
		}
		in(func(tx *sql.Tx) {
			must(0, b.jobs().PutIn(ctx, tx, waypost.NewJob("new", waypost.Cron("@daily"))))
			must(b.jobs().TriggerIn(ctx, tx, "new"))
			equal(t, must(b.jobs().GetIn(ctx, tx, "new")).Expression, "@daily")
			_, err := b.jobs().GetIn(ctx, tx, "other")
			fails(t, err, waypost.ErrNotFound)
		})
		equal(t, names(), want)
		runs := b.claimRuns(owner)
		equal(t, len(runs), count)
		in(func(tx *sql.Tx) { equal(t, must(b.runs().Ack(ctx, tx, owner, runs, "")), count) })
		status := must(b.runs().Get(ctx, runs[0].ID)).Status
		equal(t, status == waypost.RunSucceeded, commit)
		in(func(tx *sql.Tx) {
			equal(t, must(b.jobs().DeleteIn(ctx, tx, "old")), true)
			equal(t, must(b.jobs().DeleteIn(ctx, tx, "old")), false)
			_, err := b.jobs().TriggerIn(ctx, tx, "old")
			fails(t, err, waypost.ErrNotFound)
		})
		equal(t, len(names()), 1)
		fails(t, b.jobs().PutIn(ctx, nil, waypost.NewJob("x", waypost.Cron("@daily"))), waypost.ErrArgument)
		made := must(b.timers().Schedule(ctx, nil, message("a", "1")))
		in(func(tx *sql.Tx) {
			equal(t, must(b.timers().RescheduleIn(ctx, tx, made.ID, time.Hour)), true)
		})
		moved := must(b.timers().Get(ctx, made.ID)).Message.Due.After(now)
		equal(t, moved, commit)
	}
}

// The handler of a run writes in the app's own transaction, which finishes the run.
func TestRunIsCompletedInTheAppsTransaction(t *testing.T) {
	b := newBed(t)
	w := b.worker(b.store)
	must(0, w.Job("j", func(ctx context.Context, d delivery) error {
		tx := must(b.db.BeginTx(ctx, nil))
		defer tx.Rollback()
		b.order(tx)
		if err := d.Complete(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	}, waypost.Cron("* * * * *")))
	fails(t, w.Job("once", nothing, waypost.At(now.Add(time.Hour))), waypost.ErrArgument)
	b.drain(w)
	b.advance(time.Minute)
	equal(t, b.drain(w), 1)
	equal(t, b.orderCount(), 1)
	equal(t, b.statuses("j"), []waypost.RunStatus{waypost.RunSucceeded})
}

func TestTimersJobsAndRunsOfAClosedStoreOrADoneContext(t *testing.T) {
	b := newBed(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	closed := b.live()
	closed.Close()
	for kind, one := range map[error]struct {
		ctx   context.Context
		store *waypost.Store
	}{waypost.ErrState: {ctx, closed}, context.Canceled: {gone, b.store}} {
		ctx, timers, jobs, runs := one.ctx, one.store.Timers(), one.store.Jobs(), one.store.Runs()
		job := waypost.NewJob("j", waypost.Cron("@daily"))
		for what, call := range map[string]func() error{
			"schedule":      func() error { _, err := timers.Schedule(ctx, b.db, timer("a", now)); return err },
			"cancel":        func() error { _, err := timers.Cancel(ctx, nil, waypost.ID{}); return err },
			"reschedule":    func() error { _, err := timers.Reschedule(ctx, b.db, waypost.ID{}, now); return err },
			"reschedule in": func() error { _, err := timers.RescheduleIn(ctx, nil, waypost.ID{}, 0); return err },
			"list timers":   func() error { _, err := timers.List(ctx, "", 1); return err },
			"get timer":     func() error { _, err := timers.Get(ctx, waypost.ID{}); return err },
			"put":           func() error { return jobs.Put(ctx, job) },
			"register":      func() error { return jobs.Register(ctx, "app", job) },
			"delete":        func() error { _, err := jobs.Delete(ctx, "j"); return err },
			"trigger":       func() error { _, err := jobs.Trigger(ctx, "j"); return err },
			"enable":        func() error { return jobs.Enable(ctx, "j", "") },
			"disable":       func() error { return jobs.Disable(ctx, "j", "") },
			"get":           func() error { _, err := jobs.Get(ctx, "j"); return err },
			"list":          func() error { _, err := jobs.List(ctx, "", 1); return err },
			"schedule due":  func() error { _, err := jobs.ScheduleDue(ctx); return err },
			"get run":       func() error { _, err := runs.Get(ctx, waypost.ID{}); return err },
			"list runs":     func() error { _, err := runs.List(ctx, "", 1); return err },
			"cancel run":    func() error { _, err := runs.Cancel(ctx, waypost.ID{}); return err },
			"purge runs":    func() error { _, err := runs.PurgeEnded(ctx, 0); return err },
			"claim":         func() error { _, err := runs.Claim(ctx, waypost.NewID(), nil, 1, 1e9); return err },
			"ack":           func() error { _, err := timers.Ack(ctx, b.db, waypost.NewID(), nil, ""); return err },
			"dead":          func() error { _, err := runs.DeadLetters(ctx, waypost.DeadFilter{}, 1); return err },
			"replay":        func() error { _, err := runs.ReplayDead(ctx, waypost.DeadFilter{}, 1, 0, ""); return err },
			"purge":         func() error { _, err := runs.PurgeDead(ctx, waypost.DeadFilter{}, 1, ""); return err },
			"cleanup":       func() error { _, err := timers.Cleanup(ctx, 0); return err },
		} {
			if err := call(); !errors.Is(err, kind) {
				t.Errorf("%s: %v, not %v", what, err, kind)
			}
		}
	}
	equal(t, len(must(b.jobs().List(ctx, "", 1))), 0)
}
