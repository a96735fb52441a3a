// SPDX-License-Identifier: Apache-2.0
// Timers and jobs: scenarios TIM-001 to TIM-006 and RUN-001 to RUN-011 of tests/conformance/scenarios.md.
using System.Data.Common;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public abstract class TimerTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly DateTimeOffset Now = Bed.Now;

    protected Bed Bed { get; } = new(engine);
    private ISchedulerClient Scheduler => Bed.Store.Scheduler;

    public void Dispose() => Bed.Dispose();

    private Task<IReadOnlyList<OutboxMessage>> ClaimAsync(Guid? owner = null) =>
        Scheduler.Timers.ClaimAsync(owner ?? WaypostStore.NewId(), 30 * Second, 100);

    private async Task<string[]> FiredAsync() => (await ClaimAsync()).Select(timer => timer.Payload).ToArray();

    private Task<Guid> In(int seconds, string payload = "x", string? correlationId = null) =>
        Scheduler.ScheduleTimerAsync("t", payload, Now + seconds * Second, correlationId: correlationId);

    // scenario: TIM-001
    // proves: TMR-001, TMR-008, BND-002
    [Fact]
    public async Task Scheduled_in_the_apps_transaction_is_there_after_the_commit_alone()
    {
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Guid id = await Scheduler.ScheduleTimerAsync("t", $"{n}", Now, transaction, "c");
            Assert.Equal(2, (await Scheduler.ScheduleTimersAsync([new("t", $"{n}a"), new("t", $"{n}b")], transaction)).Count);
            await Assert.ThrowsAsync<ArgumentException>(
                () => Scheduler.ScheduleTimersAsync([new("t", "good"), new("", "bad")], transaction));
            Assert.Null(await Scheduler.FindTimerAsync(id));
            if (n == 0)
                await transaction.RollbackAsync();
            else
                await transaction.CommitAsync();
            Assert.Equal(n == 1, await Scheduler.FindTimerAsync(id) is not null);
        }
        Assert.Equal(["1", "1a", "1b"], await FiredAsync());
        EnqueueResult first = await Scheduler.ScheduleTimerAsync(new("t", "u") { UniqueKey = "k", Delay = Second });
        EnqueueResult second = await Scheduler.ScheduleTimerAsync(new("t", "u") { UniqueKey = "k", Delay = Second });
        Assert.Equal((first.Id, true), (second.Id, second.IsDuplicate));
    }

    private sealed class Handler(List<OutboxMessage> got) : ITimerHandler
    {
        public string Topic => "t";

        public Task HandleAsync(OutboxMessage timer, CancellationToken cancellationToken)
        {
            got.Add(timer);
            return Task.CompletedTask;
        }
    }

    // scenario: TIM-002
    // proves: TMR-003, TMR-005, BND-003
    [Fact]
    public async Task Never_early_and_handled_by_due_time()
    {
        var got = new List<OutboxMessage>();
        foreach (int seconds in new[] { 3, 1, 2 })
            await In(seconds, $"{seconds}");
        await Bed.Outbox.EnqueueAsync("t", "not a timer");
        Bed.Clock.Advance(Second - TimeSpan.FromMicroseconds(1));
        Assert.Empty(await FiredAsync());
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker()).Handle(new Handler(got));
        Bed.Clock.Advance(TimeSpan.FromMicroseconds(1) + Second);
        Assert.Equal(2, await worker.DrainAsync());
        Assert.Equal(["1", "2"], got.Select(timer => timer.Payload));
        Assert.Equal([Now + Second, Now + 2 * Second], got.Select(timer => timer.DueTimeUtc));
        Assert.Equal(WaypostQueue.Timer, Assert.IsType<OutboxDelivery>(got[0]).Queue);
        Bed.Clock.Advance(Second);
        Assert.Equal(["3"], await FiredAsync());
        Assert.Equal(1, (await Bed.Outbox.GetStatsAsync()).Total.Ready);
    }

    // scenario: TIM-003
    // proves: TMR-002
    [Fact]
    public async Task Cancelled_before_it_was_claimed_it_never_fires()
    {
        Guid never = await In(1), rolledBack = await In(1, "rolled back"), claimed = await In(0);
        Assert.True(await Scheduler.CancelTimerAsync(never));
        Assert.False(await Scheduler.CancelTimerAsync(never));
        Assert.Equal(OutboxMessageStatus.Cancelled, (await Scheduler.GetTimerAsync(never)).Status);
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            Assert.True(await Scheduler.CancelTimerAsync(rolledBack, transaction));
            Assert.False(await Scheduler.CancelTimerAsync(never, transaction));
            await transaction.RollbackAsync();
        }
        Assert.Equal(claimed, Assert.Single(await ClaimAsync()).Id);
        Assert.False(await Scheduler.CancelTimerAsync(claimed));
        Assert.False(await Scheduler.CancelTimerAsync(WaypostStore.NewId()));
        Bed.Clock.Advance(Second);
        Assert.Equal(["rolled back"], await FiredAsync());
    }

    // proves: BND-004
    [Fact]
    public async Task A_transaction_that_is_null_is_named_and_changes_nothing()
    {
        await Scheduler.CreateOrUpdateJobAsync("j", "t", "@hourly");
        foreach (Func<Task> call in new Func<Task>[] {
                     () => Scheduler.DeleteJobAsync("j", (DbTransaction)null!),
                     () => Scheduler.TriggerJobAsync("j", (DbTransaction)null!),
                     () => Scheduler.GetJobAsync("j", (DbTransaction)null!),
                     () => Scheduler.RescheduleTimerAsync(WaypostStore.NewId(), Second, (DbTransaction)null!) })
            Assert.Equal("transaction", (await Assert.ThrowsAsync<ArgumentNullException>(call)).ParamName);
        Assert.Equal("j", (await Scheduler.GetJobAsync("j")).Name);
    }

    // scenario: TIM-004
    // proves: TMR-007
    [Fact]
    public async Task Rescheduled_looked_up_and_listed()
    {
        Guid[] ids = new Guid[5];
        for (int n = 0; n < 5; n++)
            ids[n] = await In(10, $"{n}", n < 2 ? "c" : null);
        Assert.True(await Scheduler.RescheduleTimerAsync(ids[0], Now));
        Assert.True(await Scheduler.RescheduleTimerAsync(ids[1], 5 * Second));
        Assert.False(await Scheduler.RescheduleTimerAsync(WaypostStore.NewId(), Now));
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            Assert.True(await Scheduler.RescheduleTimerAsync(ids[2], Now, transaction));
            await transaction.CommitAsync();
        }
        Assert.Equal(Now + 5 * Second, (await Scheduler.GetTimerAsync(ids[1])).NextAttemptUtc);
        Assert.Equal(["0", "2"], await FiredAsync());
        Assert.False(await Scheduler.RescheduleTimerAsync(ids[0], Now));
        await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.GetTimerAsync(WaypostStore.NewId()));

        Assert.Equal(["0", "1"], (await Scheduler.ListTimersAsync("c")).Select(info => info.Message.Payload));
        var seen = new List<string>();
        Page<OutboxMessageInfo>? page = null;
        do
        {
            page = await Scheduler.ListTimersAsync(null, page, 2);
            seen.AddRange(page.Select(info => info.Message.Payload));
        } while (page.Count > 0);
        Assert.Equal(["0", "1", "2", "3", "4"], seen);
        Assert.Empty(await Scheduler.ListTimersAsync(null, page));
        Page<OutboxMessageInfo> dead = await Scheduler.Timers.ListDeadLettersAsync();
        Assert.Equal("after", (await Assert.ThrowsAsync<ArgumentException>(
            () => Scheduler.ListTimersAsync(null, dead))).ParamName);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Scheduler.ListTimersAsync(limit: 0));
    }

    // scenario: TIM-005
    // proves: TMR-006, BND-004
    [Fact]
    public async Task Any_instant_from_1970_to_9999()
    {
        await Scheduler.ScheduleTimerAsync("t", "1970", DateTimeOffset.UnixEpoch);
        await Scheduler.ScheduleTimerAsync("t", "9999", DateTimeOffset.MaxValue);
        await Scheduler.ScheduleTimerAsync(new("t", "now") { Delay = -Second });
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Scheduler.ScheduleTimerAsync("t", "1969", DateTimeOffset.UnixEpoch - Second));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Scheduler.ScheduleTimerAsync(new("t", "far") { Delay = TimeSpan.FromDays(366) }));
        Guid id = await In(1, "moved");
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Scheduler.RescheduleTimerAsync(id, DateTimeOffset.UnixEpoch - Second));
        Assert.True(await Scheduler.RescheduleTimerAsync(id, -Second));
        Assert.Equal(["1970", "moved", "now"], (await FiredAsync()).Order(StringComparer.Ordinal));
        Assert.Equal("topic", (await Assert.ThrowsAsync<ArgumentNullException>(
            () => Scheduler.ScheduleTimerAsync(null!, "x", Now))).ParamName);
        await Assert.ThrowsAsync<ArgumentNullException>(() => Scheduler.ScheduleTimerAsync(null!));
    }

    // scenario: TIM-006
    // proves: TMR-004
    [Fact]
    public async Task Claim_and_finish_by_hand()
    {
        Guid owner = WaypostStore.NewId();
        for (int n = 0; n < 5; n++)
            await In(0, $"{n}");
        IReadOnlyList<Guid> ids = await Scheduler.ClaimTimersAsync(owner, 10, 100);
        Assert.Equal(5, ids.Count);
        Assert.Equal(1, await Scheduler.AckTimersAsync(owner, [ids[0]]));
        Assert.Equal(1, await Scheduler.AbandonTimersAsync(owner, [ids[1]]));
        Assert.Equal(1, await Scheduler.Timers.FailAsync(owner, [ids[2]], "no"));
        Bed.Clock.Advance(11 * Second);
        Assert.Equal(2, await Scheduler.ReapExpiredTimersAsync());
        IReadOnlyList<OutboxMessage> again = await ClaimAsync(owner);
        Assert.Equal(1, again[0].Attempt);
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            Assert.Equal(again.Count, await Scheduler.Timers.AckAsync(owner, again, transaction));
            await transaction.CommitAsync();
        }
        OutboxMessageInfo dead = Assert.Single(await Scheduler.Timers.ListDeadLettersAsync());
        Assert.Equal((ids[2], "no"), (dead.Message.Id, dead.LastError));
        Assert.Equal(1, await Scheduler.Timers.ReplayDeadLettersAsync());
        Assert.Equal(["2"], (await FiredAsync()).Where(payload => payload == "2"));
        Assert.Equal(5, (await Scheduler.Timers.GetStatsAsync()).Total switch { var t => t.Done + t.InProgress + t.Ready + t.Scheduled });
        Assert.True(await Scheduler.Timers.CleanupAsync(TimeSpan.Zero) > 0);
    }
}

public abstract class JobTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second, Minute = 60 * Second;
    private static readonly DateTimeOffset Now = Bed.Now;

    protected Bed Bed { get; } = new(engine);
    private ISchedulerClient Scheduler => Bed.Store.Scheduler;

    public void Dispose() => Bed.Dispose();

    private static JobDefinition Every(string name, string cron = "* * * * *") => new(name, "t", "p") { Cron = cron };

    private async Task<IReadOnlyList<JobRun>> RunsAsync(string? name = null) =>
        await Scheduler.ListJobRunsAsync(name, limit: 1000);

    private async Task<JobRunStatus> LastAsync(string name) => (await RunsAsync(name))[0].Status;

    /// <summary>Claim what there is and end it as done; how many.</summary>
    private async Task<int> FinishAllAsync()
    {
        Guid owner = WaypostStore.NewId();
        int total = 0;
        while (true)
        {
            IReadOnlyList<Guid> ids = await Scheduler.ClaimJobRunsAsync(owner, 60, 100);
            if (ids.Count == 0)
                return total;
            total += ids.Count;
            Assert.Equal(ids.Count, await Scheduler.AckJobRunsAsync(owner, ids));
        }
    }

    // ---- jobs -------------------------------------------------------------------------------

    // scenario: RUN-001
    // proves: JOB-001, JOB-002, JOB-005
    [Fact]
    public async Task Put_get_list_and_delete_by_name()
    {
        await Scheduler.CreateOrUpdateJobAsync("b", "t", "0 3 * * *", "p", "Europe/Vienna");
        await Scheduler.CreateOrUpdateJobAsync("B", "t", "@hourly");
        JobInfo job = await Scheduler.GetJobAsync("b");
        Assert.Equal(new JobInfo("b", "t", "p", "0 3 * * *", "Europe/Vienna", null, true,
                                 new DateTimeOffset(2026, 3, 2, 2, 0, 0, TimeSpan.Zero), null), job);
        await Scheduler.CreateOrUpdateJobAsync("b", "u", "30 12 * * *");
        job = await Scheduler.GetJobAsync("b");
        Assert.Equal(("u", "", "UTC", Now + 30 * Minute), (job.Topic, job.Payload, job.TimeZone, job.NextDueUtc));
        Assert.Equal(["B", "b"], (await Scheduler.ListJobsAsync()).Select(one => one.Name));
        Assert.Equal(["b"], (await Scheduler.ListJobsAsync("B", 1)).Select(one => one.Name));
        await Scheduler.TriggerJobAsync("b");
        Assert.True(await Scheduler.DeleteJobAsync("b"));
        Assert.False(await Scheduler.DeleteJobAsync("b"));
        Assert.Null(await Scheduler.FindJobAsync("b"));
        Assert.Equal(0, await FinishAllAsync());
        await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.GetJobAsync("b"));
    }

    // scenario: RUN-001
    // proves: JOB-010, CRN-003, BND-004
    [Fact]
    public async Task Malformed_jobs_are_errors_and_change_nothing()
    {
        await Scheduler.CreateOrUpdateJobAsync(Every("j"));
        JobInfo before = await Scheduler.GetJobAsync("j");
        var error = await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.CreateOrUpdateJobAsync("j", "t", "* 25 * * *"));
        Assert.Contains("hour", error.Message);
        await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.CreateOrUpdateJobAsync("j", "t", "* * * * *", "", "Mars/Olympus"));
        await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.CreateOrUpdateJobAsync(new JobDefinition("j", "t")));
        await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "@daily", RunAtUtc = Now + Minute }));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Scheduler.ScheduleOnceAsync("k", Now - Second, "t"));
        await Assert.ThrowsAsync<InvalidOperationException>(() => Scheduler.ScheduleOnceAsync("j", Now + Minute, "t"));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "@daily", Misfire = MisfireStrategy.CatchUp, CatchUp = 0 }));
        await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "@daily", Overlap = (JobOverlap)9 }));
        await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.CreateOrUpdateJobAsync("", "t", "@daily"));
        foreach ((string name, Func<Task> call) in new (string, Func<Task>)[]
        {
            ("name", () => Scheduler.CreateOrUpdateJobAsync(null!, "t", "@daily")),
            ("topic", () => Scheduler.CreateOrUpdateJobAsync("j", null!, "@daily")),
            ("cronSchedule", () => Scheduler.CreateOrUpdateJobAsync("j", "t", null!)),
            ("payload", () => Scheduler.CreateOrUpdateJobAsync("j", "t", "@daily", null!)),
            ("job", () => Scheduler.CreateOrUpdateJobAsync(null!)),
            ("jobName", () => Scheduler.DeleteJobAsync(null!)),
            ("jobName", () => Scheduler.TriggerJobAsync(null!)),
            ("registrar", () => Scheduler.RegisterJobsAsync(null!, [])),
            ("jobs", () => Scheduler.RegisterJobsAsync("r", null!)),
        })
            Assert.Equal(name, (await Assert.ThrowsAsync<ArgumentNullException>(call)).ParamName);
        Assert.Equal(before, await Scheduler.GetJobAsync("j"));
        Assert.Null(await Scheduler.FindJobAsync("k"));
    }

    private sealed class Report(List<OutboxDelivery> got, string? output) : IJobHandler
    {
        public string Topic => "t";

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
        {
            got.Add(run);
            return Task.FromResult(output);
        }
    }

    // scenario: RUN-002
    // proves: JOB-006..008, JOB-017, BND-003
    [Fact]
    public async Task Due_job_runs_once_at_the_schedules_instant_and_its_history_tells()
    {
        var got = new List<OutboxDelivery>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker()).Handle(new Report(got, "42 rows"));
        await Scheduler.CreateOrUpdateJobAsync(Every("j"));
        Bed.Clock.Advance(Minute + Second);
        Assert.Equal(1, await worker.DrainAsync());
        OutboxDelivery run = Assert.Single(got);
        Assert.Equal((WaypostQueue.Job, "j", "p", Now + Minute), (run.Queue, run.JobName, run.Payload, run.DueTimeUtc));
        JobRun history = Assert.Single(await RunsAsync("j"));
        Assert.Equal(new JobRun(run.Id, "j", JobRunStatus.Succeeded, Now + Minute, true, Now + Minute + Second,
                                Now + Minute + Second, 0, "42 rows", null), history);
        Assert.Equal(history, await Scheduler.GetJobRunAsync(run.Id));
        LastJobRun last = (await Scheduler.GetJobAsync("j")).LastRun!;
        Assert.Equal((Now + Minute, JobRunStatus.Succeeded), (last.DueUtc, last.Status));
        Assert.Equal(0, await worker.DrainAsync());
    }

    // scenario: RUN-002
    // proves: JOB-008, BND-004
    [Fact]
    public async Task Output_that_does_not_fit_is_an_error_of_the_handlers()
    {
        var errors = new List<Exception>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", (run, _) =>
        {
            errors.Add(Assert.Throws<ArgumentOutOfRangeException>(() => run.SetOutput(new string('x', 65537))));
            errors.Add(Assert.Throws<ArgumentNullException>(() => run.SetOutput(null!)));
            errors.Add(Assert.Throws<ArgumentException>(() => run.SetOutput("a\0b")));
            run.SetOutput("first");
            run.SetOutput("");
            return Task.CompletedTask;
        }, queue: WaypostQueue.Job);
        worker.Handle("t", (delivery, _) =>
        {
            errors.Add(Assert.Throws<InvalidOperationException>(() => delivery.SetOutput("x")));
            return Task.CompletedTask;
        });
        await Scheduler.CreateOrUpdateJobAsync(Every("j"));
        Guid id = await Scheduler.TriggerJobAsync("j");
        await Bed.Outbox.EnqueueAsync("t", "x");
        Assert.Equal(2, await worker.DrainAsync());
        Assert.Equal(4, errors.Count);
        Assert.Equal("", (await Scheduler.GetJobRunAsync(id)).Output ?? "");
    }

    // scenario: RUN-002
    // proves: JOB-008
    [Theory]
    [InlineData(65_535, "\u00e4", 65_535)] // would end amid a character
    [InlineData(65_534, "\u00e4x", 65_536)]
    [InlineData(65_535, "\U0001f600", 65_535)]
    [InlineData(200_000, "", 65_536)]
    [InlineData(3, "\0x", 4)]
    public async Task Returned_output_is_cut_to_what_can_be_kept_and_the_run_succeeds(int xs, string end, int bytes)
    {
        var log = new Records();
        var got = new List<OutboxDelivery>();
        string output = new string('x', xs) + end;
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker(null, log)).Handle(new Report(got, output));
        await Scheduler.CreateOrUpdateJobAsync(Every("j"));
        Guid id = await Scheduler.TriggerJobAsync("j");
        Assert.Equal(1, await worker.DrainAsync());
        JobRun run = await Scheduler.GetJobRunAsync(id);
        Assert.Equal((JobRunStatus.Succeeded, 0), (run.Status, run.Attempt));
        Assert.Equal(bytes, Encoding.UTF8.GetByteCount(run.Output!));
        Assert.StartsWith(run.Output!, output.Replace("\0", ""), StringComparison.Ordinal);
        Assert.Contains(log.All, one => one.Level == LogLevel.Warning && one.Text.Contains($"{id}", StringComparison.Ordinal));
        Assert.Single(got);
    }

    // proves: JOB-008
    [Fact]
    public async Task Returned_output_with_a_lone_surrogate_or_of_a_run_that_is_finished_fails_nothing()
    {
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker()).Handle(new Report([], "a\ud800b"));
        await Scheduler.CreateOrUpdateJobAsync(Every("j"));
        Guid id = await Scheduler.TriggerJobAsync("j");
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal("a\ufffdb", (await Scheduler.GetJobRunAsync(id)).Output);
        worker = Bed.Keep(Bed.Store.CreateWorker()).Handle(new FinishesItself());
        id = await Scheduler.TriggerJobAsync("j");
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal(JobRunStatus.Succeeded, (await Scheduler.GetJobRunAsync(id)).Status);
    }

    private sealed class FinishesItself : IJobHandler
    {
        public string Topic => "t";

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
        {
            run.Done();
            return Task.FromResult<string?>("too late");
        }
    }

    // proves: JOB-013, BND-003
    [Fact]
    public void Recurring_attribute_has_what_a_job_can_have()
    {
        JobDefinition job = new RecurringAttribute("@daily")
        {
            MisfireThresholdSeconds = 5, BackoffBaseSeconds = 6, BackoffMaxSeconds = 7, TimeoutSeconds = 8,
            Misfire = MisfireStrategy.CatchUp, CatchUp = 9, Overlap = JobOverlap.Allow, MaxAttempts = 4,
        }.Define("n", "t");
        Assert.Equal((MisfireStrategy.CatchUp, 9, JobOverlap.Allow, 4),
                     (job.Misfire, job.CatchUp, job.Overlap, job.MaxAttempts));
        Assert.Equal((5 * Second, 6 * Second, 7 * Second, 8 * Second),
                     (job.MisfireThreshold, job.BackoffBase, job.BackoffMax, job.Timeout));
        JobDefinition plain = new RecurringAttribute("@daily").Define("n", "t");
        Assert.Equal((Minute, null, null, null), (plain.MisfireThreshold, plain.BackoffBase, plain.BackoffMax, plain.Timeout));
    }

    // proves: JOB-001
    [Fact]
    public async Task Stored_job_shows_what_it_was_defined_with()
    {
        await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("all", "t")
        {
            Cron = "@daily", Overlap = JobOverlap.Skip, Misfire = MisfireStrategy.CatchUp, CatchUp = 9,
            MisfireThreshold = 5 * Second, Timeout = 8 * Second, MaxAttempts = 4,
            BackoffBase = 6 * Second, BackoffMax = 7 * Second,
        });
        JobInfo all = await Scheduler.GetJobAsync("all");
        Assert.Equal((JobOverlap.Skip, MisfireStrategy.CatchUp, 9, 5 * Second),
                     (all.Overlap, all.Misfire, all.CatchUp, all.MisfireThreshold));
        Assert.Equal((8 * Second, 4, 6 * Second, 7 * Second),
                     (all.Timeout, all.MaxAttempts, all.BackoffBase, all.BackoffMax));
        await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("none", "t") { Cron = "@daily" });
        JobInfo none = await Scheduler.GetJobAsync("none");
        Assert.Equal((JobOverlap.Queue, MisfireStrategy.FireImmediately, 0, Minute),
                     (none.Overlap, none.Misfire, none.CatchUp, none.MisfireThreshold));
        Assert.Equal((null, null, null, null),
                     (none.Timeout, none.MaxAttempts, none.BackoffBase, none.BackoffMax));
    }

    // scenario: RUN-003
    // proves: JOB-003
    [Fact]
    public async Task Triggered_it_runs_once_now()
    {
        await Scheduler.CreateOrUpdateJobAsync(Every("j", "@daily"));
        await Scheduler.SetJobEnabledAsync("j", false);
        Guid id = await Scheduler.TriggerJobAsync("j");
        JobRun run = await Scheduler.GetJobRunAsync(id);
        Assert.Equal((false, JobRunStatus.Pending, Now), (run.IsScheduled, run.Status, run.DueUtc));
        Assert.Equal(1, await FinishAllAsync());
        await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.TriggerJobAsync("none"));
        await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.GetJobRunAsync(WaypostStore.NewId()));
    }

    // scenario: RUN-004
    // proves: JOB-004
    [Fact]
    public async Task Disabled_it_stays_so_until_it_is_enabled()
    {
        await Scheduler.RegisterJobsAsync("app", [Every("j")]);
        await Scheduler.SetJobEnabledAsync("j", false);
        ISchedulerClient again = Bed.Open().Scheduler; // as after a restart
        await again.RegisterJobsAsync("app", [Every("j")]);
        await again.CreateOrUpdateJobAsync(Every("j"));
        Bed.Clock.Advance(10 * Minute);
        Assert.Equal((0, false), (await again.ScheduleDueJobsAsync(), (await again.GetJobAsync("j")).IsEnabled));
        await again.SetJobEnabledAsync("j", true);
        Assert.Equal((0, Now + 11 * Minute), (await again.ScheduleDueJobsAsync(), (await again.GetJobAsync("j")).NextDueUtc));
        Bed.Clock.Advance(Minute);
        Assert.Equal(1, await again.ScheduleDueJobsAsync());
        await Assert.ThrowsAsync<NotFoundException>(() => again.SetJobEnabledAsync("none", true));
    }

    // scenario: RUN-005
    // proves: JOB-001, JOB-004
    [Fact]
    public async Task Registration_is_a_reconcile()
    {
        await Scheduler.CreateOrUpdateJobAsync(Every("by hand"));
        await Scheduler.ScheduleOnceAsync("once", Now + Minute, "t");
        await Scheduler.RegisterJobsAsync("app", [Every("stays"), Every("changes"), Every("goes")]);
        await Scheduler.RegisterJobsAsync("another", [Every("another's")]);
        await Scheduler.RegisterJobsAsync("app", [Every("stays"), Every("changes", "@daily"), Every("new")]);
        Dictionary<string, JobInfo> jobs = (await Scheduler.ListJobsAsync()).ToDictionary(job => job.Name);
        Assert.Equal(["another's", "by hand", "changes", "new", "once", "stays"],
                     jobs.Values.Where(job => job.IsEnabled).Select(job => job.Name).Order(StringComparer.Ordinal));
        Assert.Equal(("@daily", "app"), (jobs["changes"].Cron, jobs["changes"].Registrar));
        Assert.False(jobs["goes"].IsEnabled);
        Assert.Equal((true, false), (jobs["goes"].HasVanished, jobs["stays"].HasVanished));
        await Assert.ThrowsAsync<ArgumentException>(() => Scheduler.RegisterJobsAsync("app", [Every("bad", "x")]));
        await Scheduler.RegisterJobsAsync("app", [Every("goes")]);
        Assert.True((await Scheduler.GetJobAsync("goes")).IsEnabled);
        Assert.False((await Scheduler.GetJobAsync("stays")).IsEnabled);
        await Scheduler.RegisterJobsAsync("app", []);
        Assert.False((await Scheduler.GetJobAsync("goes")).IsEnabled);
        Assert.True((await Scheduler.GetJobAsync("once")).IsEnabled);
    }

    // scenario: RUN-013
    // proves: JOB-018
    [Fact]
    public async Task Cron_expression_can_be_overridden_by_options()
    {
        var log = new Records();
        ISchedulerClient scheduler = Bed.Open(
            options => options.CronOverrides = new Dictionary<string, string> { ["a"] = "@daily", ["b \"\u00e4"] = "nonsense" },
            log).Scheduler;
        await scheduler.RegisterJobsAsync("app", [Every("a"), Every("b \"\u00e4")]);
        Assert.Equal("@daily", (await scheduler.GetJobAsync("a")).Cron);
        Assert.Equal("* * * * *", (await scheduler.GetJobAsync("b \"\u00e4")).Cron);
        Assert.NotEmpty(log.All);
        await Scheduler.RegisterJobsAsync("app", [Every("a")]); // by a store without overrides
        Assert.Equal("* * * * *", (await Scheduler.GetJobAsync("a")).Cron);
    }

    // scenario: RUN-006
    // proves: JOB-010
    [Fact]
    public async Task Once_fires_at_its_instant_and_its_name_is_free_again()
    {
        await Scheduler.ScheduleOnceAsync("once", Now + Minute, "t", "p");
        JobInfo job = await Scheduler.GetJobAsync("once");
        Assert.Equal((null, null, Now + Minute), (job.Cron, job.TimeZone, job.NextDueUtc));
        await Assert.ThrowsAsync<InvalidOperationException>(() => Scheduler.ScheduleOnceAsync("once", Now + 2 * Minute, "t"));
        Bed.Clock.Advance(Minute - Second);
        Assert.Equal(0, await Scheduler.ScheduleDueJobsAsync());
        Bed.Clock.Advance(Second);
        Assert.Equal(1, await Scheduler.ScheduleDueJobsAsync());
        Assert.Equal(1, await FinishAllAsync());
        await Scheduler.ScheduleOnceAsync("once", Now + 5 * Minute, "t");
        Bed.Clock.Advance(10 * Minute);
        Assert.Equal(1, await Scheduler.ScheduleDueJobsAsync());
        Assert.Equal(2, (await RunsAsync("once")).Count);
    }

    // proves: JOB-010, JOB-007
    [Fact]
    public async Task Once_in_memory_reaches_its_handler_once()
    {
        using WaypostStore store = WaypostStore.Open(
            new WaypostOptions { Url = "sqlite::memory:", Deploy = true }, Quiet.Instance, Bed.Clock);
        using OutboxWorker worker = store.CreateWorker();
        var got = new List<string>();
        worker.Handle(new Collect(got));
        await store.Scheduler.ScheduleOnceAsync("once", Now + Minute, "t", "p");
        Assert.Equal(0, await worker.DrainAsync());
        Bed.Clock.Advance(Minute);
        Assert.Equal(1, await worker.DrainAsync());
        Bed.Clock.Advance(60 * Minute);
        Assert.Equal(0, await worker.DrainAsync());
        Assert.Equal(["once p"], got);
        Assert.Equal(JobRunStatus.Succeeded, (await store.Scheduler.GetJobAsync("once")).LastRun!.Status);
    }

    private sealed class Collect(List<string> got) : IJobHandler
    {
        public string Topic => "t";

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
        {
            got.Add($"{run.JobName} {run.Payload}");
            return Task.FromResult<string?>(null);
        }
    }

    // ---- runs -------------------------------------------------------------------------------

    /// <summary>A worker whose handler says that it has begun, waits for its token, and notes why it is to
    /// stop.</summary>
    private OutboxWorker Waiting(SemaphoreSlim begun, List<CancelReason> reasons)
    {
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", async (run, token) =>
        {
            begun.Release();
            try
            {
                await Task.Delay(Timeout.Infinite, token);
            }
            finally
            {
                lock (reasons)
                    reasons.Add(run.CancelReason);
            }
        }, queue: WaypostQueue.Job);
        return worker;
    }

    // scenario: RUN-007
    // proves: JOB-011, JOB-008
    [Fact]
    public async Task Run_past_its_timeout_is_told_to_stop_and_has_timed_out()
    {
        using var begun = new SemaphoreSlim(0);
        var reasons = new List<CancelReason>();
        OutboxWorker worker = Waiting(begun, reasons);
        await Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "@daily", Timeout = 5 * Second, MaxAttempts = 1 });
        await Scheduler.TriggerJobAsync("j");
        worker.Start();
        Assert.True(await begun.WaitAsync(Bed.Patience));
        Assert.Equal(JobRunStatus.Running, await LastAsync("j"));
        Bed.Clock.Advance(5 * Second);
        await Bed.UntilAsync(async () => await LastAsync("j") == JobRunStatus.TimedOut);
        await worker.StopAsync(Bed.Patience);
        Assert.Equal([CancelReason.Timeout], reasons);
    }

    // proves: JOB-011
    [Fact]
    public async Task Run_that_returns_after_its_timeout_has_timed_out_all_the_same()
    {
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", async (run, token) =>
        {
            Bed.Clock.Advance(5 * Second);
            await Task.Delay(Timeout.Infinite, token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }, queue: WaypostQueue.Job);
        await Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "@daily", Timeout = 5 * Second, MaxAttempts = 1 });
        Guid id = await Scheduler.TriggerJobAsync("j");
        worker.Start();
        await Bed.UntilAsync(async () => await LastAsync("j") == JobRunStatus.TimedOut);
        await worker.StopAsync(Bed.Patience);
        Assert.StartsWith("timeout", (await Scheduler.GetJobRunAsync(id)).Error);
    }

    // scenario: RUN-007
    // proves: JOB-013
    [Fact]
    public async Task Failing_run_is_retried_by_its_jobs_policy()
    {
        int calls = 0;
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", (_, _) =>
        {
            calls++;
            throw new FormatException("broken");
        }, queue: WaypostQueue.Job);
        await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("j", "t")
        {
            Cron = "@daily",
            MaxAttempts = 2,
            BackoffBase = 10 * Second,
            BackoffMax = 10 * Second,
        });
        Guid id = await Scheduler.TriggerJobAsync("j");
        await worker.DrainAsync();
        JobRun run = await Scheduler.GetJobRunAsync(id);
        Assert.Equal((JobRunStatus.Pending, 1, "FormatException: broken"), (run.Status, run.Attempt, run.Error));
        Bed.Clock.Advance(10 * Second);
        await worker.DrainAsync();
        Assert.Equal((JobRunStatus.Failed, 2), ((await Scheduler.GetJobRunAsync(id)).Status, calls));
        Assert.Equal(id, Assert.Single(await Scheduler.JobRuns.ListDeadLettersAsync()).Message.Id);
    }

    // scenario: RUN-008
    // proves: JOB-012
    [Theory]
    [InlineData(JobOverlap.Queue, 1, 2, 0)]
    [InlineData(JobOverlap.Skip, 1, 0, 2)]
    [InlineData(JobOverlap.Allow, 3, 0, 0)]
    public async Task Overlap_by_policy(JobOverlap overlap, int atOnce, int later, int skipped)
    {
        Guid owner = WaypostStore.NewId();
        await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("j", "t") { Cron = "* * * * *", Overlap = overlap });
        for (int n = 0; n < 3; n++)
        {
            Bed.Clock.Advance(Minute);
            await Scheduler.ScheduleDueJobsAsync();
        }
        IReadOnlyList<Guid> ids = await Scheduler.ClaimJobRunsAsync(owner, 60, 10);
        Assert.Equal(atOnce, ids.Count);
        await Scheduler.AckJobRunsAsync(owner, ids);
        Assert.Equal(later, await FinishAllAsync());
        Assert.Equal(skipped, (await RunsAsync("j")).Count(run => run.Status == JobRunStatus.Skipped));
    }

    // scenario: RUN-009
    // proves: JOB-014
    [Theory]
    [InlineData(MisfireStrategy.FireImmediately, 1, 1)]
    [InlineData(MisfireStrategy.SkipAndScheduleNext, 1, 0)]
    [InlineData(MisfireStrategy.CatchUp, 5, 5)]
    public async Task Misfire_by_policy(MisfireStrategy misfire, int catchUp, int pending)
    {
        await Scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "t") { Cron = "* * * * *", Misfire = misfire, CatchUp = catchUp });
        Bed.Clock.Advance(60 * Minute + Second);
        Assert.Equal(pending, await Scheduler.ScheduleDueJobsAsync());
        IReadOnlyList<JobRun> runs = await RunsAsync("j");
        Assert.Equal(Math.Max(pending, 1), runs.Count);
        Assert.Equal(Now + 60 * Minute, runs[0].DueUtc);
        Assert.All(runs, run => Assert.Equal(pending > 0 ? JobRunStatus.Pending : JobRunStatus.Skipped, run.Status));
        Assert.Equal(Now + 61 * Minute, (await Scheduler.GetJobAsync("j")).NextDueUtc);
    }

    // scenario: RUN-010
    // proves: JOB-008
    [Fact]
    public async Task Cancelled_run_that_waits_ends_at_once_and_one_that_runs_is_told()
    {
        using var begun = new SemaphoreSlim(0);
        var reasons = new List<CancelReason>();
        OutboxWorker worker = Waiting(begun, reasons);
        await Scheduler.CreateOrUpdateJobAsync(Every("j", "@daily"));
        Guid waits = await Scheduler.TriggerJobAsync("j");
        Assert.True(await Scheduler.CancelJobRunAsync(waits));
        Assert.False(await Scheduler.CancelJobRunAsync(waits));
        Assert.False(await Scheduler.CancelJobRunAsync(WaypostStore.NewId()));
        Assert.Equal(JobRunStatus.Cancelled, (await Scheduler.GetJobRunAsync(waits)).Status);

        Guid runs = await Scheduler.TriggerJobAsync("j");
        worker.Start();
        Assert.True(await begun.WaitAsync(Bed.Patience));
        Assert.Equal(JobRunStatus.Running, (await Scheduler.GetJobRunAsync(runs)).Status);
        Assert.True(await Scheduler.CancelJobRunAsync(runs));
        int looks = 0;
        await Bed.UntilAsync(async () =>
        {
            if (looks++ % 500 == 0)
                Bed.Clock.Advance(Second); // worker.reap_ms; seldom, or its lease is over
            return (await Scheduler.GetJobRunAsync(runs)).Status == JobRunStatus.Cancelled;
        });
        await worker.StopAsync(Bed.Patience);
        Assert.Equal([CancelReason.Requested], reasons);
        Assert.Equal(JobRunStatus.Cancelled, (await Scheduler.GetJobRunAsync(runs)).Status);
        Assert.Empty(await Scheduler.JobRuns.ListDeadLettersAsync());
    }

    // scenario: RUN-011
    // proves: JOB-009, JOB-015, JOB-016
    [Fact]
    public async Task Runs_are_listed_purged_and_finished_by_hand()
    {
        Guid owner = WaypostStore.NewId();
        await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("j", "t") { Cron = "@daily", Overlap = JobOverlap.Allow });
        await Scheduler.CreateOrUpdateJobAsync(Every("k", "@daily"));
        for (int n = 0; n < 5; n++)
            await Scheduler.TriggerJobAsync("j");
        await Scheduler.TriggerJobAsync("k");
        var seen = new List<Guid>();
        Page<JobRun>? page = null;
        do
        {
            page = await Scheduler.ListJobRunsAsync("j", page, 2);
            seen.AddRange(page.Select(run => run.Id));
        } while (page.Count > 0);
        Assert.Equal(5, seen.Distinct().Count());
        Assert.Equal(6, (await RunsAsync()).Count);

        IReadOnlyList<OutboxMessage> runs = await Scheduler.JobRuns.ClaimAsync(owner, 10 * Second, 100);
        Assert.Equal(6, runs.Count);
        Assert.Contains("j", runs.Select(run => run.JobName));
        Assert.Equal(1, await Scheduler.JobRuns.AckAsync(owner, [runs[0]], workerName: "me"));
        Assert.Equal(1, await Scheduler.AbandonJobRunsAsync(owner, [runs[1].Id]));
        Assert.Equal(1, await Scheduler.JobRuns.FailAsync(owner, [runs[2]], "no"));
        Assert.Equal(1, await Scheduler.JobRuns.ReleaseAsync(owner, [runs[3]]));
        Assert.Equal(1, await Scheduler.JobRuns.RenewAsync(owner, [runs[4]], 60 * Second));
        Bed.Clock.Advance(11 * Second);
        Assert.Equal(1, await Scheduler.ReapExpiredJobRunsAsync());
        Assert.Equal(JobRunStatus.Running, (await Scheduler.GetJobRunAsync(runs[4].Id)).Status);
        Assert.Equal((JobRunStatus.Failed, "no"), ((await Scheduler.GetJobRunAsync(runs[2].Id)).Status, (await Scheduler.GetJobRunAsync(runs[2].Id)).Error));
        Bed.Clock.Advance(Minute - Second); // they ended a minute and ten seconds ago
        Assert.Equal(0, await Scheduler.PurgeJobRunsAsync(Minute + 11 * Second));
        Assert.Equal(2, await Scheduler.PurgeJobRunsAsync(Minute + 10 * Second));
        Assert.Null(await Scheduler.FindJobRunAsync(runs[0].Id));
        Assert.Equal(4, (await RunsAsync()).Count);
    }

    // scenario: RUN-012
    // proves: JOB-001..003, JOB-009, BND-002
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task In_the_apps_transaction_they_are_there_with_its_commit_alone(bool commit)
    {
        DbConnection connection = Bed.Connect();
        async Task InAsync(Func<DbTransaction, Task> calls)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await calls(transaction);
            await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
        }

        await Scheduler.CreateOrUpdateJobAsync("old", "t", "@daily");
        Guid old = await Scheduler.TriggerJobAsync("old");
        await InAsync(async transaction =>
        {
            await Scheduler.CreateOrUpdateJobAsync(new JobDefinition("new", "t") { Cron = "@daily" }, transaction);
            await Scheduler.TriggerJobAsync("new", transaction);
            Assert.Equal("@daily", (await Scheduler.GetJobAsync("new", transaction)).Cron);
            await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.GetJobAsync("other", transaction));
            Assert.Null(await Scheduler.FindJobAsync("new"));
        });
        Assert.Equal(commit, await Scheduler.FindJobAsync("new") is not null);
        Guid owner = WaypostStore.NewId();
        IReadOnlyList<OutboxMessage> runs = await Scheduler.JobRuns.ClaimAsync(owner, 10 * Second, 10);
        Assert.Equal(commit ? 2 : 1, runs.Count);
        await InAsync(async transaction =>
            Assert.Equal(runs.Count, await Scheduler.JobRuns.AckAsync(owner, runs, transaction)));
        Assert.Equal(commit ? JobRunStatus.Succeeded : JobRunStatus.Running,
                     (await Scheduler.GetJobRunAsync(old)).Status);
        await InAsync(async transaction =>
        {
            Assert.True(await Scheduler.DeleteJobAsync("old", transaction));
            Assert.False(await Scheduler.DeleteJobAsync("old", transaction));
            await Assert.ThrowsAsync<NotFoundException>(() => Scheduler.TriggerJobAsync("old", transaction));
        });
        Assert.Equal(commit, await Scheduler.FindJobAsync("old") is null);
        Guid timer = await Scheduler.ScheduleTimerAsync("t", "1", Now);
        await InAsync(async transaction =>
            Assert.True(await Scheduler.RescheduleTimerAsync(timer, 60 * Second, transaction)));
        Assert.Equal(commit ? Now + 60 * Second : Now, (await Scheduler.GetTimerAsync(timer)).Message.DueTimeUtc);
    }

    private sealed class Broken : IJobHandler
    {
        public string Topic => "t";

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken) => run.JobName switch
        {
            "null" => null!,
            "thrown" => throw new FormatException("broken"),
            "later" => Task.FromException<string?>(new FormatException("broken later")),
            _ => throw new RejectException("never"),
        };
    }

    // proves: JOB-008, BND-003
    [Theory]
    [InlineData("null", "null, not a task")]
    [InlineData("thrown", "FormatException: broken")]
    [InlineData("later", "FormatException: broken later")]
    [InlineData("rejected", "never", JobRunStatus.Failed)]
    public async Task Handler_that_breaks_says_why_in_the_history(string name, string error, JobRunStatus status = JobRunStatus.Pending)
    {
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker()).Handle(new Broken());
        await Scheduler.CreateOrUpdateJobAsync(Every(name, "@daily"));
        Guid id = await Scheduler.TriggerJobAsync(name);
        Assert.Equal(1, await worker.DrainAsync());
        JobRun run = await Scheduler.GetJobRunAsync(id);
        Assert.Equal((status, null), (run.Status, run.Output));
        Assert.Contains(error, run.Error);
    }

    // proves: JOB-006, BND-002
    [Fact]
    public async Task Handler_completes_its_run_in_the_apps_transaction()
    {
        DbConnection connection = Bed.Connect();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("t", async (run, token) =>
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync(token);
            Bed.InsertOrder(connection, transaction);
            await run.CompleteAsync(transaction, token);
            await transaction.CommitAsync(token);
        }, queue: WaypostQueue.Job);
        await Scheduler.CreateOrUpdateJobAsync(Every("j", "@daily"));
        await Scheduler.TriggerJobAsync("j");
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal((JobRunStatus.Succeeded, 1), (await LastAsync("j"), await Bed.OrdersAsync()));
    }
}

public sealed class TimersOnSqlite() : TimerTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class TimersOnPostgreSql() : TimerTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class TimersOnMariaDb() : TimerTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class TimersOnSqlServer() : TimerTests(Engine.SqlServer);

public sealed class JobsOnSqlite() : JobTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class JobsOnPostgreSql() : JobTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class JobsOnMariaDb() : JobTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class JobsOnSqlServer() : JobTests(Engine.SqlServer);
