// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.Metrics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Waypost.Hosting;

/// <summary>A handler as it was added: a class with its topic, or a topic and its function.</summary>
internal sealed record HandlerSource(
    string? Topic,
    Func<IServiceProvider, Handling>? Make,
    Func<IServiceProvider, OutboxDelivery, CancellationToken, Task<Outcome>>? Function,
    OutboxWorkerOptions? Options,
    WaypostQueue Queue = WaypostQueue.Outbox,
    IReadOnlyList<Func<string, JobDefinition>>? Jobs = null);

/// <summary>What an instance of a handler class does.</summary>
internal readonly record struct Handling(
    string Topic, Func<OutboxDelivery, CancellationToken, Task> Run)
{
    public static Handling Of(IOutboxHandler handler) => new(handler.Topic, handler.HandleAsync);

    public static Handling Of(IInboxHandler handler) =>
        new(handler.Topic, (delivery, token) => handler.HandleAsync(delivery.Inbox!, token));

    public static Handling Of(ITimerHandler handler) => new(handler.Topic, handler.HandleAsync);

    public static Handling Of(IJobHandler handler) => new(
        handler.Topic,
        (run, token) => OutboxWorker.KeepOutput(run, handler.HandleAsync(run, token)));
}

/// <summary>Where a router's stores come from: a list, or (null) discovery.</summary>
internal sealed record StoreSource(
    IReadOnlyList<WaypostOptions>? Stores, TimeSpan? RefreshInterval);

/// <summary>Opens the store with the host, and runs a worker if there are handlers.</summary>
internal sealed class WorkerService(
    IServiceProvider services, IServiceScopeFactory scopes, IOptions<WaypostOptions> options,
    IEnumerable<HandlerSource> sources) : IHostedService, IDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private OutboxWorker? _worker;
    private WaypostMeter? _meter;
    private WaypostQueue[]? _queues; // of the handlers; null: not started yet
    private Task _discovering = Task.CompletedTask;

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        Func<ILogger?, OutboxWorker> create;
        WaypostStore? store = null;
        if (services.GetService<StoreSource>() is { } stores)
        {
            WaypostRouter router = Route(stores);
            create = logger => router.CreateWorker(
                null, logger, OneOf<IOutboxSelectionStrategy, IInboxSelectionStrategy>());
        }
        else
        {
            store = await Task.Run(
                services.GetRequiredService<WaypostStore>, cancellationToken).ConfigureAwait(false);
            create = logger => store!.CreateWorker(null, logger);
        }
        if (!options.Value.RunWorker)
        {
            Measure(store is null ? null : store.ReadMetrics);
            return;
        }
        OutboxWorker worker = create(
            services.GetService<ILoggerFactory>()?.CreateLogger<OutboxWorker>());
        try
        {
            var jobs = new List<JobDefinition>();
            _queues = await AddHandlersAsync(worker, jobs).ConfigureAwait(false);
            await RegisterAsync(store, jobs, cancellationToken).ConfigureAwait(false);
            if (_queues.Length == 0)
            {
                worker.Dispose();
                Measure(store is null ? null : store.ReadMetrics);
                return;
            }
            worker.Start();
        }
        catch
        {
            worker.Dispose();
            throw;
        }
        _worker = worker;
        Measure(worker.ReadMetrics);
    }

    /// <summary>The instruments of the meter "Waypost".</summary>
    private void Measure(Func<WaypostMetrics>? read) =>
        _meter = read is null ? null : new WaypostMeter(read, null, services.GetService<IMeterFactory>());

    /// <summary>Give the router its stores, or begin to discover them.</summary>
    private WaypostRouter Route(StoreSource stores)
    {
        WaypostRouter router = services.GetRequiredService<WaypostRouter>();
        if (stores.Stores is { } list)
            router.Set(list);
        else
            _discovering = router.RunDiscoveryAsync(
                OneOf<IOutboxDatabaseDiscovery, IInboxDatabaseDiscovery>()
                    ?? services.GetRequiredService<IOutboxDatabaseDiscovery>(), // says that there is none
                stores.RefreshInterval, _stopping.Token);
        return router;
    }

    /// <summary>The service of either name. There is one worker, so it cannot heed two.</summary>
    private TOutbox? OneOf<TOutbox, TInbox>() where TOutbox : class where TInbox : class, TOutbox
    {
        TOutbox? outbox = services.GetService<TOutbox>();
        TInbox? inbox = services.GetService<TInbox>();
        if (outbox is not null && inbox is not null && !ReferenceEquals(outbox, inbox))
            throw new InvalidOperationException(
                $"{typeof(TOutbox).Name} and {typeof(TInbox).Name} are both registered, and one worker serves"
                + " the outbox and the inbox: register one of them");
        return outbox ?? inbox;
    }

    /// <summary>Store the jobs that are in the code, if it may have any or had some: a program with a
    /// registrar of its own that has none any more says so.</summary>
    private async Task RegisterAsync(
        WaypostStore? store, List<JobDefinition> jobs, CancellationToken cancellationToken)
    {
        if (store is null && jobs.Count > 0)
            throw new InvalidOperationException(
                $"job {jobs[0].Name} is registered from code, which needs AddWaypost() with one store:"
                + " call RegisterJobsAsync() of each store instead");
        string? name = options.Value.JobRegistrar;
        if (store is null
            || (string.IsNullOrEmpty(name) && !_queues!.Contains(WaypostQueue.Job)))
            return;
        name ??= services.GetService<IHostEnvironment>()?.ApplicationName;
        await store.Scheduler.RegisterJobsAsync(
            string.IsNullOrEmpty(name) ? AppDomain.CurrentDomain.FriendlyName : name, jobs,
            cancellationToken).ConfigureAwait(false);
    }

    /// <summary>The queue of each.</summary>
    private async Task<WaypostQueue[]> AddHandlersAsync(OutboxWorker worker, List<JobDefinition> jobs)
    {
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            var queues = new List<WaypostQueue>();
            foreach (HandlerSource source in sources.Concat(Plain(scope.ServiceProvider)))
            {
                string topic = source.Topic ?? source.Make!(scope.ServiceProvider).Topic;
                worker.Register(source.Queue, topic, InScope(source), source.Options);
                jobs.AddRange((source.Jobs ?? []).Select(define => define(topic)));
                queues.Add(source.Queue);
            }
            return [.. queues];
        }
    }

    /// <summary>Those that were registered as handlers of a kind, without AddHandler().</summary>
    private static IEnumerable<HandlerSource> Plain(IServiceProvider scope) =>
        Plain<IOutboxHandler>(scope, WaypostQueue.Outbox, Handling.Of)
            .Concat(Plain<IInboxHandler>(scope, WaypostQueue.Inbox, Handling.Of))
            .Concat(Plain<ITimerHandler>(scope, WaypostQueue.Timer, Handling.Of))
            .Concat(Plain<IJobHandler>(scope, WaypostQueue.Job, Handling.Of));

    private static IEnumerable<HandlerSource> Plain<THandler>(
        IServiceProvider scope, WaypostQueue queue, Func<THandler, Handling> handling) where THandler : class
    {
        var plain = new PlainHandlers<THandler>(scope);
        return plain.Handlers.Select((handler, index) => new HandlerSource(
            handling(handler).Topic, provider => handling(plain.Make(provider, index)), null, null,
            queue, queue == WaypostQueue.Job ? RecurringAttribute.JobsOf(handler.GetType()) : null));
    }

    private Func<OutboxDelivery, CancellationToken, ValueTask<Outcome>> InScope(
        HandlerSource source) => async (delivery, token) =>
    {
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            if (source.Function is not null)
                return await source.Function(scope.ServiceProvider, delivery, token)
                    .ConfigureAwait(false);
            await source.Make!(scope.ServiceProvider).Run(delivery, token).ConfigureAwait(false);
            return Outcome.Done;
        }
    };

    /// <summary>The host cancels the token when its shutdown timeout has passed.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        await _stopping.CancelAsync().ConfigureAwait(false);
        await _discovering.WaitAsync(cancellationToken)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_worker is not null)
            await _worker.StopAsync(Timeout.InfiniteTimeSpan, cancellationToken)
                .ConfigureAwait(false);
    }

    public void Dispose()
    {
        _meter?.Dispose();
        _worker?.Dispose();
        _stopping.Dispose();
    }

    /// <summary>What the worker counts, for health reports; null: there is none.</summary>
    internal OutboxCounters? Counters => _worker?.Counters;

    /// <summary>The worker, while it runs.</summary>
    internal OutboxWorker? Running => _worker is { IsRunning: true } ? _worker : null;

    internal bool IsRunning => _worker is { IsRunning: true };

    /// <summary>There are handlers (of timers or jobs) that a worker was to run here, and none runs.</summary>
    internal bool IsMissing(bool schedulerOnly) =>
        !IsRunning && options.Value.RunWorker
        && (_queues ?? sources.Select(source => source.Queue)).Any(
            queue => !schedulerOnly || queue is WaypostQueue.Timer or WaypostQueue.Job);
}
