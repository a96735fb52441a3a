// SPDX-License-Identifier: Apache-2.0
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Waypost.Hosting;

/// <summary>A handler as it was added: a class with its topic, or a topic and its function.</summary>
internal sealed record HandlerSource(
    string? Topic,
    Func<IServiceProvider, IOutboxHandler>? Make,
    Func<IServiceProvider, OutboxDelivery, CancellationToken, Task<Outcome>>? Function,
    OutboxWorkerOptions? Options);

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
    private Task _discovering = Task.CompletedTask;

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        Func<ILogger?, OutboxWorker> create;
        if (services.GetService<StoreSource>() is { } stores)
        {
            WaypostRouter router = Route(stores);
            create = logger => router.CreateWorker(
                null, logger, services.GetService<IOutboxSelectionStrategy>());
        }
        else
        {
            WaypostStore store = await Task.Run(
                services.GetRequiredService<WaypostStore>, cancellationToken).ConfigureAwait(false);
            create = logger => store.CreateWorker(null, logger);
        }
        if (!options.Value.RunWorker)
            return;
        OutboxWorker worker = create(
            services.GetService<ILoggerFactory>()?.CreateLogger<OutboxWorker>());
        try
        {
            if (!await AddHandlersAsync(worker).ConfigureAwait(false))
            {
                worker.Dispose();
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
    }

    /// <summary>Give the router its stores, or begin to discover them.</summary>
    private WaypostRouter Route(StoreSource stores)
    {
        WaypostRouter router = services.GetRequiredService<WaypostRouter>();
        if (stores.Stores is { } list)
            router.Set(list);
        else
            _discovering = router.RunDiscoveryAsync(
                services.GetRequiredService<IOutboxDatabaseDiscovery>(), stores.RefreshInterval,
                _stopping.Token);
        return router;
    }

    /// <summary>Whether there are any.</summary>
    private async Task<bool> AddHandlersAsync(OutboxWorker worker)
    {
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            int count = 0;
            foreach (HandlerSource source in sources.Concat(Plain(scope.ServiceProvider)))
            {
                string topic = source.Topic ?? source.Make!(scope.ServiceProvider).Topic;
                worker.Register(topic, InScope(source), source.Options);
                count++;
            }
            return count > 0;
        }
    }

    /// <summary>Those that were registered as IOutboxHandler, without AddHandler().</summary>
    private static IEnumerable<HandlerSource> Plain(IServiceProvider scope) =>
        scope.GetServices<IOutboxHandler>().Select((_, index) => new HandlerSource(
            null, provider => provider.GetServices<IOutboxHandler>().ElementAt(index), null, null));

    private Func<OutboxDelivery, CancellationToken, ValueTask<Outcome>> InScope(
        HandlerSource source) => async (delivery, token) =>
    {
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            if (source.Function is not null)
                return await source.Function(scope.ServiceProvider, delivery, token)
                    .ConfigureAwait(false);
            await source.Make!(scope.ServiceProvider).HandleAsync(delivery, token)
                .ConfigureAwait(false);
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
        _worker?.Dispose();
        _stopping.Dispose();
    }

    /// <summary>What the worker counts, for health reports; null: there is none.</summary>
    internal OutboxCounters? Counters => _worker?.Counters;
}
