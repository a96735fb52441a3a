// SPDX-License-Identifier: Apache-2.0
// Waypost in a host: services, options, scopes, health, logging, shutdown.
using System.Collections.Concurrent;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public sealed class HostingTests : IDisposable
{
    private static readonly TimeSpan Patience = Bed.Patience;
    private readonly Bed _bed = new(Engine.Sqlite);
    private readonly Log _log = new();

    public void Dispose() => _bed.Dispose();

    /// <summary>What handlers saw.</summary>
    private sealed class Log
    {
        public ConcurrentQueue<(string Topic, string Payload, Guid Scope)> Handled { get; } = new();
        public int Disposed;
        public TaskCompletionSource Started { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }

    /// <summary>One for each scope.</summary>
    private sealed class Scoped(Log log) : IAsyncDisposable
    {
        public Guid Id { get; } = Guid.NewGuid();

        public ValueTask DisposeAsync()
        {
            Interlocked.Increment(ref log.Disposed);
            return default;
        }
    }

    private sealed class Created(Log log, Scoped scoped) : IOutboxHandler
    {
        public string Topic => "created";

        public async Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken)
        {
            await Task.Yield();
            log.Handled.Enqueue((message.Topic, message.Payload, scoped.Id));
        }
    }

    private sealed class Deleted(Log log, Scoped scoped) : IOutboxHandler
    {
        public string Topic => "deleted";

        public Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue((message.Topic, message.Payload, scoped.Id));
            return Task.CompletedTask;
        }
    }

    private sealed class Broken : IOutboxHandler
    {
        public Broken() => throw new FormatException("no handler today");
        public string Topic => "broken";
        public Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken) => Task.CompletedTask;
    }

    private sealed class Logging(ILogger logger) : ILoggerProvider
    {
        public ILogger CreateLogger(string categoryName) => logger;
        public void Dispose() { }
    }

    private IHost Build(
        Action<WaypostBuilder> add, Action<WaypostOptions>? configure = null,
        Action<HostApplicationBuilder>? more = null, ILogger? logger = null)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Logging.AddProvider(new Logging(logger ?? Quiet.Instance));
        builder.Services.AddSingleton(_log);
        builder.Services.AddScoped<Scoped>();
        add(builder.Services.AddWaypost(options =>
        {
            options.Url = _bed.Url;
            options.Worker.PollMin = TimeSpan.FromMilliseconds(10);
            options.Worker.PollMax = TimeSpan.FromMilliseconds(50);
            options.Worker.BackoffBase = options.Worker.BackoffMax = TimeSpan.FromSeconds(1000);
            configure?.Invoke(options);
        }));
        more?.Invoke(builder);
        return builder.Build();
    }

    // proves: BND-003
    [Fact]
    public async Task Host_runs_handlers_in_a_scope_of_their_own()
    {
        using IHost host = Build(
            waypost => waypost.AddHandler<Created>(),
            more: builder => builder.Services.AddTransient<IOutboxHandler, Deleted>());
        await host.StartAsync();
        IOutbox outbox = host.Services.GetRequiredService<IOutbox>();
        for (int n = 0; n < 10; n++)
        {
            await outbox.EnqueueAsync("created", $"{n}");
            await outbox.EnqueueAsync("deleted", $"{n}");
        }
        await Bed.UntilAsync(() => _log.Handled.Count == 20);
        await host.StopAsync();
        Assert.Equal(20, _log.Handled.Select(one => (one.Topic, one.Payload)).Distinct().Count());
        Assert.Equal(20, _log.Handled.Select(one => one.Scope).Distinct().Count());
        Assert.True(_log.Disposed >= 20); // one more when the topics were asked for
        Assert.Equal(20, (await _bed.Outbox.GetStatsAsync()).Total.Done);
    }

    private sealed class Received(Log log, Scoped scoped) : IInboxHandler
    {
        public string Topic => "created";

        public Task HandleAsync(InboxMessage message, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue((message.MessageId, message.Payload, scoped.Id));
            return Task.CompletedTask;
        }
    }

    private sealed class Plain(Log log, Scoped scoped) : IInboxHandler
    {
        public string Topic => "plain";

        public Task HandleAsync(InboxMessage message, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue((message.MessageId, message.Payload, scoped.Id));
            return Task.CompletedTask;
        }
    }

    // proves: IBX-072, IBX-073, BND-003
    [Fact]
    public async Task Handlers_of_the_inbox_run_in_scopes_of_their_own_beside_those_of_the_outbox()
    {
        using IHost host = Build(
            waypost => waypost.AddHandler<Created>().AddInboxHandler<Received>(),
            more: builder => builder.Services.AddTransient<IInboxHandler, Plain>());
        await host.StartAsync();
        IInbox inbox = host.Services.GetRequiredService<IInbox>();
        await host.Services.GetRequiredService<IOutbox>().EnqueueAsync("created", "out");
        for (int n = 0; n < 2; n++) // delivered twice, handled once
        {
            await inbox.EnqueueAsync("created", "src", "1", "in");
            await inbox.EnqueueAsync("plain", "src", "2", "in");
        }
        await Bed.UntilAsync(() => _log.Handled.Count == 3);
        await host.StopAsync();
        Assert.Equal([("1", "in"), ("2", "in"), ("created", "out")],
                     _log.Handled.Select(one => (one.Topic, one.Payload)).Order());
        Assert.Equal(3, _log.Handled.Select(one => one.Scope).Distinct().Count());
        Assert.Equal(2, (await _bed.Store.Inbox.GetStatsAsync()).Total.Done);
    }

    private sealed class Reminder(Log log, Scoped scoped) : ITimerHandler
    {
        public string Topic => "created";

        public Task HandleAsync(OutboxMessage timer, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue(("timer", timer.Payload, scoped.Id));
            return Task.CompletedTask;
        }
    }

    [Recurring("0 3 * * *", TimeZone = "Europe/Vienna", Name = "nightly", Payload = "p", TimeoutSeconds = 60)]
    [Recurring("@hourly", Overlap = JobOverlap.Skip, MaxAttempts = 2)]
    private sealed class Nightly(Log log, Scoped scoped) : IJobHandler
    {
        public string Topic => "created";

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue((run.JobName!, run.Payload, scoped.Id));
            return Task.FromResult<string?>("done by the class");
        }
    }

    private sealed class Methods(Log log, Scoped scoped)
    {
        [Recurring("@daily")]
        public Task Plain()
        {
            log.Handled.Enqueue(("plain", "", scoped.Id));
            return Task.CompletedTask;
        }

        [Recurring("@daily", Name = "with token")]
        public async Task<string?> WithToken(CancellationToken cancellationToken)
        {
            await Task.Yield();
            log.Handled.Enqueue(("token", $"{cancellationToken.CanBeCanceled}", scoped.Id));
            return "done by the method";
        }

        [Recurring("@daily", Payload = "x")]
        [Recurring("@weekly", Name = "weekly", Payload = "y")]
        public Task WithRun(OutboxDelivery run, CancellationToken cancellationToken)
        {
            log.Handled.Enqueue((run.JobName!, run.Payload, scoped.Id));
            return Task.CompletedTask;
        }

        [Recurring("@daily", Name = "long")]
        public Task<string> Long() => Task.FromResult(new string('x', 70_000));

        public void NoJob() => throw new NotSupportedException();
    }

    private sealed class Odd
    {
        [Recurring("@daily")]
        public void Returns_nothing() => throw new NotSupportedException();
    }

    private sealed class OddArguments
    {
        [Recurring("@daily")]
        public Task Takes_a_number(int number) => Task.FromResult(number);
    }

    // proves: TMR-005, JOB-001, JOB-017, JOB-019, BND-003
    [Fact]
    public async Task Timers_and_recurring_jobs_run_in_scopes_of_their_own()
    {
        using IHost host = Build(
            waypost => waypost.AddTimerHandler<Reminder>().AddJobHandler<Nightly>().AddRecurring<Methods>(),
            options => options.JobRegistrar = "me");
        await host.StartAsync();
        ISchedulerClient scheduler = host.Services.GetRequiredService<ISchedulerClient>();
        string[] names = ["Methods.Plain", "Methods.WithRun", "Nightly", "long", "nightly", "weekly", "with token"];
        IReadOnlyList<JobInfo> jobs = await scheduler.ListJobsAsync();
        Assert.Equal(names, jobs.Select(job => job.Name).Order(StringComparer.Ordinal));
        Assert.All(jobs, job => Assert.Equal(("me", true), (job.Registrar, job.IsEnabled)));
        JobInfo nightly = jobs.Single(job => job.Name == "nightly");
        Assert.Equal(("0 3 * * *", "Europe/Vienna", "created", "p"), (nightly.Cron, nightly.TimeZone, nightly.Topic, nightly.Payload));
        var runs = new Dictionary<string, Guid>();
        foreach (string name in names)
            runs[name] = await scheduler.TriggerJobAsync(name);
        await scheduler.ScheduleTimerAsync("created", "due", DateTimeOffset.UtcNow);
        foreach (Guid run in runs.Values)
            await Bed.UntilAsync(async () => (await scheduler.GetJobRunAsync(run)).Status == JobRunStatus.Succeeded);
        await Bed.UntilAsync(() => _log.Handled.Count == 7);
        await host.StopAsync();
        Assert.Equal(
            [("Methods.WithRun", "x"), ("Nightly", ""), ("nightly", "p"), ("plain", ""), ("timer", "due"), ("token", "True"), ("weekly", "y")],
            _log.Handled.Select(one => (one.Topic, one.Payload)).OrderBy(one => one.Topic, StringComparer.Ordinal));
        Assert.Equal(7, _log.Handled.Select(one => one.Scope).Distinct().Count());
        Assert.Equal("done by the class", (await scheduler.GetJobRunAsync(runs["nightly"])).Output);
        Assert.Equal(65_536, (await scheduler.GetJobRunAsync(runs["long"])).Output!.Length);
        Assert.Equal("done by the method", (await scheduler.GetJobRunAsync(runs["with token"])).Output);
    }

    // proves: JOB-001, BND-004
    [Fact]
    public async Task Handler_class_that_is_a_plain_service_has_its_recurring_jobs_too()
    {
        using IHost host = Build(
            _ => { }, options => options.JobRegistrar = "me",
            builder => builder.Services.AddTransient<IJobHandler, Nightly>());
        await host.StartAsync();
        ISchedulerClient scheduler = host.Services.GetRequiredService<ISchedulerClient>();
        Assert.Equal(["Nightly", "nightly"],
                     (await scheduler.ListJobsAsync()).Select(job => job.Name).Order(StringComparer.Ordinal));
        Guid run = await scheduler.TriggerJobAsync("nightly");
        await Bed.UntilAsync(async () => (await scheduler.GetJobRunAsync(run)).Status == JobRunStatus.Succeeded);
        await host.StopAsync();
    }

    private class Counting(string topic, ConcurrentQueue<string> seen) : IJobHandler, IDisposable
    {
        public string Topic { get; } = Seen(seen, topic);

        public Task<string?> HandleAsync(OutboxDelivery run, CancellationToken cancellationToken)
        {
            seen.Enqueue($"{Topic} handles");
            return Task.FromResult<string?>(null);
        }

        public void Dispose() => seen.Enqueue($"{Topic} ends");

        private static string Seen(ConcurrentQueue<string> seen, string topic)
        {
            seen.Enqueue($"{topic} is made");
            return topic;
        }
    }

    private sealed class CountingScoped(ConcurrentQueue<string> seen) : Counting("scoped", seen);

    private sealed class CountingSingle(ConcurrentQueue<string> seen) : Counting("single", seen);

    // proves: JOB-019, BND-004
    [Fact]
    public async Task Of_plain_services_only_the_one_that_a_run_is_for_is_made_and_ends_with_its_scope()
    {
        var seen = new ConcurrentQueue<string>();
        using IHost host = Build(
            _ => { },
            more: builder => builder.Services.AddSingleton(seen)
                .AddScoped<IJobHandler, CountingScoped>()
                .AddTransient<IJobHandler>(provider =>
                    new Counting("factory", provider.GetRequiredService<ConcurrentQueue<string>>()))
                .AddSingleton<IJobHandler, CountingSingle>()
                .AddSingleton<IJobHandler>(new Counting("instance", seen)));
        await host.StartAsync();
        ISchedulerClient scheduler = host.Services.GetRequiredService<ISchedulerClient>();
        Assert.Equal(["factory ends", "factory is made", "instance is made", "scoped ends", "scoped is made", "single is made"],
                     seen.Order(StringComparer.Ordinal));
        foreach (string topic in new[] { "scoped", "factory", "single", "instance" })
        {
            seen.Clear();
            await scheduler.CreateOrUpdateJobAsync(topic, topic, "@yearly");
            Guid run = await scheduler.TriggerJobAsync(topic);
            await Bed.UntilAsync(async () => (await scheduler.GetJobRunAsync(run)).Status == JobRunStatus.Succeeded);
            Assert.Equal(
                topic is "scoped" or "factory" ? [$"{topic} is made", $"{topic} handles", $"{topic} ends"] : [$"{topic} handles"],
                seen);
        }
        await host.StopAsync();
    }

    // proves: JOB-001, JOB-004
    [Fact]
    public async Task Jobs_that_the_program_has_no_more_are_switched_off_when_it_starts_again()
    {
        using (IHost host = Build(waypost => waypost.AddJobHandler<Nightly>().AddRecurring<Methods>(), options => options.JobRegistrar = "me"))
        {
            await host.StartAsync();
            await host.StopAsync();
        }
        using (IHost host = Build(waypost => waypost.AddJobHandler<Nightly>(), options => options.JobRegistrar = "me"))
        {
            await host.StartAsync();
            await host.StopAsync();
        }
        Assert.Equal(["Nightly", "nightly"],
                     (await _bed.Store.Scheduler.ListJobsAsync()).Where(job => job.IsEnabled).Select(job => job.Name).Order(StringComparer.Ordinal));
        foreach (string? registrar in new[] { null, "me" }) // one without a name may have nothing to do with jobs
        {
            using IHost host = Build(_ => { }, options => options.JobRegistrar = registrar);
            await host.StartAsync();
            await host.StopAsync();
            Assert.Equal(registrar is null, (await _bed.Store.Scheduler.ListJobsAsync()).Any(job => job.IsEnabled));
        }
    }

    // proves: JOB-001, BND-004
    [Fact]
    public async Task Recurring_methods_that_cannot_be_called_are_refused_when_they_are_added()
    {
        WaypostBuilder waypost = new ServiceCollection().AddWaypost();
        Assert.Contains("Odd.Returns_nothing", Assert.Throws<ArgumentException>(() => waypost.AddRecurring<Odd>()).Message);
        Assert.Contains("Takes_a_number", Assert.Throws<ArgumentException>(() => waypost.AddRecurring<OddArguments>()).Message);
        Assert.Contains("no public method", Assert.Throws<ArgumentException>(() => waypost.AddRecurring<Log>()).Message);
        Assert.Throws<ArgumentNullException>(() => new RecurringAttribute(null!));
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Services.AddWaypost([new WaypostOptions { Url = _bed.Url, StoreId = "a" }]).AddJobHandler<Nightly>();
        builder.Services.AddSingleton(_log);
        builder.Services.AddScoped<Scoped>();
        using IHost host = builder.Build();
        Assert.Contains("one store", (await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync())).Message);
    }

    // proves: LSE-001, SEM-001
    [Fact]
    public async Task Leases_and_semaphores_are_services()
    {
        using IHost host = Build(_ => { });
        await host.StartAsync();
        await using Lease lease = await host.Services.GetRequiredService<ILeases>().AcquireAsync("n", TimeSpan.FromMinutes(1));
        await host.Services.GetRequiredService<ISemaphores>().SetLimitAsync("n", 1);
        Assert.Equal(lease.Owner, (await _bed.Store.Leases.GetAsync("n")).Owner);
        await host.StopAsync();
    }

    [Fact]
    public async Task Functions_get_the_services_of_the_scope_and_answer_with_outcomes()
    {
        using IHost host = Build(waypost => waypost
            .AddHandler("plain", (services, delivery, _) =>
            {
                _log.Handled.Enqueue((delivery.Topic, delivery.Payload, services.GetRequiredService<Scoped>().Id));
                return Task.CompletedTask;
            })
            .AddHandlerWithOutcome("once", (_, _, _) => Task.FromResult(Outcome.Retry("no")),
                                   options => options.MaxAttempts = 1));
        await host.StartAsync();
        IOutbox outbox = host.Services.GetRequiredService<IOutbox>();
        await outbox.EnqueueAsync("plain", "1");
        Guid once = await outbox.EnqueueAsync("once", "1");
        await Bed.UntilAsync(() => _log.Handled.Count == 1);
        await Bed.UntilAsync(async () => (await outbox.GetAsync(once)).Status == OutboxMessageStatus.Failed);
        await host.StopAsync();
    }

    // proves: BND-003
    [Fact]
    public async Task Handler_that_cannot_be_made_is_a_retry_with_its_text()
    {
        using IHost host = Build(waypost => waypost.AddHandler("good", (_, _, _) => Task.CompletedTask),
            more: builder => builder.Services.AddSingleton(new Hosting.HandlerSource(
                "broken", null, (services, _, _) =>
                {
                    ActivatorUtilities.CreateInstance<Broken>(services);
                    return Task.FromResult(Outcome.Done);
                }, null)));
        await host.StartAsync();
        IOutbox outbox = host.Services.GetRequiredService<IOutbox>();
        Guid id = await outbox.EnqueueAsync("broken", "1");
        await Bed.UntilAsync(async () => (await outbox.GetAsync(id)).Message.Attempt == 1);
        Assert.Contains("no handler today", (await outbox.GetAsync(id)).LastError);
        await host.StopAsync();
    }

    [Fact]
    public async Task Options_are_bound_from_a_section()
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Configuration.AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["Waypost:Url"] = _bed.Url,
            ["Waypost:StoreId"] = "bound",
            ["Waypost:Deploy"] = "true",
            ["Waypost:Schema"] = "bound",
            ["Waypost:Worker:Lease"] = "00:00:07",
            ["Waypost:Worker:Concurrency"] = "3",
            ["Waypost:Worker:BackoffJitter"] = "0.5",
            ["Waypost:Worker:CleanupInterval"] = "00:00:30",
            ["Waypost:Settings:log.level"] = "error",
            ["Waypost:CronOverrides:report"] = "0 4 * * *",
            ["Waypost:CronOverrides:tidy"] = "0 4 * *", // no expression
        });
        builder.Services.AddWaypost(builder.Configuration.GetSection("Waypost"), options => options.Worker.Name = "by code");
        using IHost host = builder.Build();
        WaypostStore store = host.Services.GetRequiredService<WaypostStore>();
        Assert.Equal("bound", store.Id);
        OutboxWorkerOptions worker = host.Services
            .GetRequiredService<Microsoft.Extensions.Options.IOptions<WaypostOptions>>().Value.Worker;
        Assert.Equal((TimeSpan.FromSeconds(7), 3, 0.5, "by code"),
                     (worker.Lease!.Value, worker.Concurrency!.Value, worker.BackoffJitter!.Value, worker.Name));
        Assert.Equal(TimeSpan.FromSeconds(30), worker.CleanupInterval);
        var tooShort = new OutboxWorkerOptions { CleanupInterval = TimeSpan.FromMilliseconds(1) };
        Assert.Contains("worker.cleanup_interval_ms", Assert.ThrowsAny<Exception>(() => store.CreateWorker(tooShort)).Message);
        using OutboxWorker one = store.CreateWorker();
        Assert.Contains("CleanupInterval", Assert.Throws<ArgumentException>(
            () => one.Handle("a", (_, _) => Task.CompletedTask, tooShort)).Message);
        await host.StartAsync(); // without handlers: only the outbox
        await store.Scheduler.CreateOrUpdateJobAsync("report", "report", "0 3 * * *");
        await store.Scheduler.CreateOrUpdateJobAsync("tidy", "tidy", "0 3 * * *");
        Assert.Equal("0 4 * * *", (await store.Scheduler.GetJobAsync("report")).Cron);
        Assert.Equal("0 3 * * *", (await store.Scheduler.GetJobAsync("tidy")).Cron);
        await store.Outbox.EnqueueAsync("a", "1");
        await host.StopAsync();
        Assert.Equal(0, await _bed.CountAsync()); // another schema
    }

    [Theory]
    [InlineData("store.nonsense", "1")]
    [InlineData("worker.lease_ms", "-1")]
    public async Task Bad_options_fail_the_start_and_are_named(string key, string value)
    {
        using IHost host = Build(waypost => waypost.AddHandler<Created>(), options => options.Settings[key] = value);
        var error = await Assert.ThrowsAsync<ConfigException>(() => host.StartAsync());
        Assert.Contains(key, error.Message);
    }

    [Fact]
    public async Task Two_handlers_of_one_topic_fail_the_start()
    {
        using IHost host = Build(waypost => waypost.AddHandler<Created>().AddHandler("created", (_, _, _) => Task.CompletedTask));
        await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync());
    }

    [Fact]
    public async Task Host_that_only_enqueues_leaves_the_work_to_others()
    {
        using IHost producer = Build(waypost => waypost.AddHandler<Created>(), options => options.RunWorker = false);
        using IHost worker = Build(waypost => waypost.AddHandler<Created>());
        await producer.StartAsync();
        await producer.Services.GetRequiredService<IOutbox>().EnqueueAsync("created", "1");
        Assert.Empty(_log.Handled);
        await worker.StartAsync();
        await Bed.UntilAsync(() => _log.Handled.Count == 1);
        await worker.StopAsync();
        await producer.StopAsync();
    }

    [Fact]
    public async Task Parallel_hosts_in_one_process_handle_each_message_once()
    {
        IHost[] hosts = Enumerable.Range(0, 4).Select(_ => Build(waypost => waypost.AddHandler<Created>())).ToArray();
        await Task.WhenAll(hosts.Select(host => host.StartAsync()));
        await Task.WhenAll(hosts.Select(async (host, h) =>
        {
            IOutbox outbox = host.Services.GetRequiredService<IOutbox>();
            await outbox.EnqueueManyAsync(Enumerable.Range(0, 100).Select(n => new NewOutboxMessage("created", $"{h} {n}")));
        }));
        await Bed.UntilAsync(async () => (await _bed.Outbox.GetStatsAsync()).Total.Done == 400);
        await Task.WhenAll(hosts.Select(host => host.StopAsync()));
        Array.ForEach(hosts, host => host.Dispose());
        Assert.Equal((400, 400), (_log.Handled.Count, _log.Handled.Distinct().Count()));
    }

    // proves: OBX-116
    [Fact]
    public async Task Shutdown_timeout_ends_the_stop_while_a_handler_hangs()
    {
        using var release = new ManualResetEventSlim();
        using IHost host = Build(
            waypost => waypost.AddHandler("hangs", (_, _, _) =>
            {
                _log.Started.TrySetResult();
                release.Wait();
                return Task.CompletedTask;
            }),
            more: builder => builder.Services.Configure<HostOptions>(
                options => options.ShutdownTimeout = TimeSpan.FromMilliseconds(100)));
        await host.StartAsync();
        Guid id = await host.Services.GetRequiredService<IOutbox>().EnqueueAsync("hangs", "1");
        await _log.Started.Task.WaitAsync(Patience);
        await Record.ExceptionAsync(() => host.StopAsync()).WaitAsync(Patience);
        host.Dispose();
        Assert.Equal(OutboxMessageStatus.InProgress, await _bed.StatusAsync(id)); // till its lease ends
        release.Set();
    }

    // proves: OBX-116
    [Fact]
    public async Task Shutdown_cancels_handlers_and_waits_for_them()
    {
        using IHost host = Build(waypost => waypost.AddHandler("waits", async (_, delivery, token) =>
        {
            _log.Started.TrySetResult();
            await Record.ExceptionAsync(() => Task.Delay(Patience, token));
            _log.Handled.Enqueue((delivery.Topic, delivery.Payload, default)); // done in spite of it
        }));
        await host.StartAsync();
        Guid id = await host.Services.GetRequiredService<IOutbox>().EnqueueAsync("waits", "1");
        await _log.Started.Task.WaitAsync(Patience);
        await host.StopAsync();
        Assert.Single(_log.Handled);
        Assert.Equal(OutboxMessageStatus.Done, await _bed.StatusAsync(id));
    }

    private static async Task<HealthReportEntry> HealthOf(IHost host, string name = "waypost") =>
        (await host.Services.GetRequiredService<HealthCheckService>().CheckHealthAsync()).Entries[name];

    [Fact]
    public async Task Health_says_when_the_worker_does_not_run()
    {
        using IHost host = Build(
            waypost => waypost.AddHandler<Created>(),
            more: builder => builder.Services.AddHealthChecks().AddWaypost().AddWaypostScheduler());
        HealthReportEntry before = await HealthOf(host);
        Assert.Equal((HealthStatus.Unhealthy, "the worker is not running", false),
                     (before.Status, before.Description, before.Data["workerRunning"]));
        Assert.Equal(HealthStatus.Healthy, (await HealthOf(host, "waypost-scheduler")).Status); // none is to run here
        await host.StartAsync();
        HealthReportEntry running = await HealthOf(host);
        Assert.Equal((HealthStatus.Healthy, true, 0L), (running.Status, running.Data["workerRunning"], running.Data["acked"]));
        await host.StopAsync();
        Assert.Equal("the worker is not running", (await HealthOf(host)).Description);
    }

    [Fact]
    public async Task Health_of_the_scheduler_is_that_of_timers_and_jobs_alone()
    {
        using IHost host = Build(
            waypost => waypost.AddTimerHandler<Reminder>(), options => options.RunWorker = false,
            builder => builder.Services.AddHealthChecks().AddWaypostScheduler(maxReadyAge: TimeSpan.FromMinutes(1)));
        await _bed.Outbox.EnqueueAsync("created", "1", dueTimeUtc: DateTimeOffset.UnixEpoch);
        Assert.Equal(HealthStatus.Healthy, (await HealthOf(host, "waypost-scheduler")).Status);
        ISchedulerClient scheduler = _bed.Store.Scheduler;
        await scheduler.CreateOrUpdateJobAsync(new JobDefinition("j", "created") { Cron = "@daily" });
        await scheduler.TriggerJobAsync("j");
        Assert.Single(await scheduler.JobRuns.ClaimAsync(WaypostStore.NewId(), TimeSpan.FromSeconds(30), 10)); // by a clock that is behind
        HealthReportEntry stale = await HealthOf(host, "waypost-scheduler");
        Assert.Equal((HealthStatus.Degraded, 1L), (stale.Status, stale.Data["leasesExpired"]));
        Assert.False(stale.Data.ContainsKey("ready"));
    }

    [Fact]
    public async Task Health_without_a_store_says_what_is_missing()
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Services.AddLogging();
        builder.Services.AddHealthChecks().AddWaypost().AddWaypostScheduler();
        using IHost host = builder.Build();
        foreach (string name in new[] { "waypost", "waypost-scheduler" })
        {
            HealthReportEntry entry = await HealthOf(host, name);
            Assert.Equal((HealthStatus.Unhealthy, "there is no store to look at: services.AddWaypost() is missing"),
                         (entry.Status, entry.Description));
        }
    }

    [Fact]
    public async Task Health_of_several_stores_is_that_of_the_worst()
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        var good = new WaypostOptions { Url = _bed.Url, StoreId = "good" };
        var bad = new WaypostOptions { Url = "sqlite:/nowhere/at/all.db", StoreId = "bad" };
        builder.Services.AddWaypost([good]).AddHandler("t", (_, _, _) => Task.CompletedTask);
        builder.Services.AddHealthChecks().AddWaypost(maxReadyAge: TimeSpan.FromMinutes(1));
        using IHost host = builder.Build();
        await host.StartAsync();
        HealthReportEntry entry = default;
        await Bed.UntilAsync(async () => (entry = await HealthOf(host)).Status == HealthStatus.Healthy); // opened
        Assert.Equal(0L, ((IReadOnlyDictionary<string, object>)entry.Data["good"])["ready"]);
        await _bed.Outbox.EnqueueAsync("other", "1", dueTimeUtc: DateTimeOffset.UnixEpoch);
        entry = await HealthOf(host);
        Assert.Equal(HealthStatus.Degraded, entry.Status);
        Assert.StartsWith("a message of the outbox has been ready", entry.Description);
        host.Services.GetRequiredService<WaypostRouter>().Set([good, bad]);
        entry = await HealthOf(host);
        Assert.Equal(HealthStatus.Unhealthy, entry.Status);
        Assert.Contains("store bad: the store could not be opened yet", entry.Description);
        Assert.Equal(1L, ((IReadOnlyDictionary<string, object>)entry.Data["good"])["ready"]);
        await host.StopAsync();
    }

    [Fact]
    public async Task Health_is_healthy_then_degraded_then_unhealthy()
    {
        using IHost host = Build(
            waypost => waypost.AddHandler<Created>(), options => options.RunWorker = false,
            builder => builder.Services.AddHealthChecks().AddWaypost(tags: ["db"], maxReadyAge: TimeSpan.FromMinutes(1)));
        HealthCheckService health = host.Services.GetRequiredService<HealthCheckService>();
        HealthReportEntry entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal(HealthStatus.Healthy, entry.Status);
        Assert.Equal(0L, entry.Data["ready"]);
        Assert.True((TimeSpan)entry.Data["latency"] > TimeSpan.Zero);
        await _bed.Outbox.EnqueueAsync("created", "1", dueTimeUtc: DateTimeOffset.UnixEpoch);
        entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal(HealthStatus.Degraded, entry.Status);
        Assert.Equal(1L, entry.Data["ready"]);
        Guid owner = WaypostStore.NewId();
        var claim = await _bed.ClaimAsync(owner: owner); // by a clock that is behind: its lease is over already
        entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal((HealthStatus.Degraded, 1L), (entry.Status, entry.Data["leasesExpired"]));
        await _bed.Outbox.AckAsync(owner, claim);
        entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal((HealthStatus.Healthy, 0L), (entry.Status, entry.Data["leasesExpired"]));
        await _bed.Store.Scheduler.ScheduleTimerAsync("created", "1", DateTimeOffset.UnixEpoch);
        entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal((HealthStatus.Degraded, 0L, 1L), (entry.Status, entry.Data["ready"], entry.Data["timersReady"]));
        host.Services.GetRequiredService<WaypostStore>().Dispose();
        Assert.Equal(HealthStatus.Unhealthy, (await health.CheckHealthAsync()).Entries["waypost"].Status);
    }

    [Fact]
    public async Task Log_goes_to_ILogger_with_values_and_without_payloads()
    {
        var records = new Records();
        using IHost host = Build(waypost => waypost.AddHandler<Created>(), logger: records);
        await host.StartAsync();
        await host.Services.GetRequiredService<IOutbox>().EnqueueAsync("created", "secret");
        await Bed.UntilAsync(() => !_log.Handled.IsEmpty);
        await host.StopAsync();
        Assert.Contains(records.All, record =>
            record.State is IReadOnlyList<KeyValuePair<string, object?>> values
            && values.Any(value => value.Key == "Topic" && Equals(value.Value, "created")));
        Assert.DoesNotContain(records.All, record => record.Text.Contains("secret"));
    }

    [Fact]
    public async Task Clock_of_the_services_is_used()
    {
        using IHost host = Build(waypost => waypost.Services.AddSingleton(_bed.Clock));
        Guid id = await host.Services.GetRequiredService<IOutbox>().EnqueueAsync("a", "1");
        Assert.Equal(Bed.Now, (await _bed.Outbox.GetAsync(id)).Message.CreatedAtUtc);
        host.Services.GetRequiredService<WaypostStore>().Dispose();
    }
}
