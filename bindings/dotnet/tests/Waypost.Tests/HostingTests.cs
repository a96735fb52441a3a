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
            ["Waypost:Settings:log.level"] = "error",
        });
        builder.Services.AddWaypost(builder.Configuration.GetSection("Waypost"), options => options.Worker.Name = "by code");
        using IHost host = builder.Build();
        WaypostStore store = host.Services.GetRequiredService<WaypostStore>();
        Assert.Equal("bound", store.Id);
        OutboxWorkerOptions worker = host.Services
            .GetRequiredService<Microsoft.Extensions.Options.IOptions<WaypostOptions>>().Value.Worker;
        Assert.Equal((TimeSpan.FromSeconds(7), 3, 0.5, "by code"),
                     (worker.Lease!.Value, worker.Concurrency!.Value, worker.BackoffJitter!.Value, worker.Name));
        await host.StartAsync(); // without handlers: only the outbox
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
        await _bed.Outbox.EnqueueAsync("created", "1", dueTimeUtc: DateTimeOffset.UnixEpoch);
        entry = (await health.CheckHealthAsync()).Entries["waypost"];
        Assert.Equal(HealthStatus.Degraded, entry.Status);
        Assert.Equal(1L, entry.Data["ready"]);
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
