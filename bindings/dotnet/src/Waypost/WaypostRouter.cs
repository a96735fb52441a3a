// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// Stores by their ids: an app finds the one that it means, and a worker serves all of them. A store is
/// opened when it is first needed, so that one which cannot be reached holds up none of the others.
/// Thread-safe.
/// </summary>
public sealed class WaypostRouter : IOutboxRouter, IInboxRouter, IDisposable
{
    private static readonly TimeSpan RetryDiscovery = TimeSpan.FromSeconds(10);

    private readonly WaypostOptions _options;
    private readonly ILogger? _logger;
    private readonly ManualClock? _clock;
    private readonly RouterHandle _handle;
    private readonly ConcurrentDictionary<string, WaypostStore> _open = new(StringComparer.Ordinal);

    /// <summary>A router without stores.</summary>
    /// <param name="options">Options of its workers; each store has its own.</param>
    /// <param name="logger">Where the log of all goes.</param>
    /// <param name="clock">A clock in place of the system's, for tests.</param>
    public WaypostRouter(
        WaypostOptions? options = null, ILogger? logger = null, ManualClock? clock = null)
    {
        (_options, _logger, _clock) = (options ?? new WaypostOptions(), logger, clock);
        _handle = RouterHandle.New();
    }

    /// <summary>Give the whole list of stores anew. Those whose settings are as they were stay as they
    /// are, changed ones are opened anew, and workers let go of those that are gone. All or nothing.</summary>
    /// <exception cref="ArgumentException">Two have the same StoreId.</exception>
    public void Set(IEnumerable<WaypostOptions> stores)
    {
        ArgumentNullException.ThrowIfNull(stores);
        var configs = new List<ConfigHandle>();
        try
        {
            foreach (WaypostOptions store in stores)
                configs.Add(store.Build(null, _logger, _clock));
            _handle.Set(configs);
            // Those that are gone end with the last one who uses them.
            foreach (string id in _open.Keys.Except(_handle.Ids()))
                _open.TryRemove(id, out _);
        }
        finally
        {
            configs.ForEach(config => config.Dispose());
        }
    }

    /// <summary>The ids of the stores that it has.</summary>
    public IReadOnlyList<string> StoreIds => _handle.Ids();

    /// <summary>How many stores it has.</summary>
    public int Count => _handle.Count;

    /// <summary>The store of a key, opened now if it is not open yet. It is the router's to dispose
    /// of.</summary>
    /// <exception cref="NotFoundException">No store has this id.</exception>
    public WaypostStore GetStore(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        StoreHandle handle = _handle.Get(key);
        WaypostStore store = _open.AddOrUpdate(
            key, _ => Opened(handle),
            (_, known) => known.Handle.Pointer == handle.Pointer ? known : Opened(handle));
        if (!ReferenceEquals(store.Handle, handle))
            handle.Dispose();
        return store;
    }

    private WaypostStore Opened(StoreHandle handle) => new(handle, _options, _logger, _clock);

    private WaypostStore Known(string key)
    {
        try
        {
            return GetStore(key);
        }
        catch (NotFoundException e)
        {
            throw new InvalidOperationException(e.Message, e);
        }
    }

    /// <inheritdoc/>
    public IOutbox GetOutbox(string key) => Known(key).Outbox;

    /// <inheritdoc/>
    public IOutbox GetOutbox(Guid key) => GetOutbox(key.ToString());

    /// <inheritdoc/>
    public IInbox GetInbox(string key) => Known(key).Inbox;

    /// <inheritdoc/>
    public IInbox GetInbox(Guid key) => GetInbox(key.ToString());

    /// <summary>Make a worker on all stores, also those that come later.</summary>
    /// <param name="options">What differs from the router's options.</param>
    /// <param name="logger">Where its log goes; null: the router's.</param>
    /// <param name="strategy">Decides whose message is next, instead of the options.</param>
    public OutboxWorker CreateWorker(
        OutboxWorkerOptions? options = null, ILogger? logger = null,
        IOutboxSelectionStrategy? strategy = null)
    {
        using ConfigHandle config = _options.Build(options, logger ?? _logger, _clock);
        bool drain = strategy is DrainFirstOutboxSelectionStrategy or DrainFirstInboxSelectionStrategy;
        if (drain || strategy is RoundRobinOutboxSelectionStrategy or RoundRobinInboxSelectionStrategy)
        {
            config.Set("worker.selection", drain ? "drain-first" : "round-robin");
            strategy = null;
        }
        int threads = options?.Threads ?? _options.Worker.Threads
            ?? int.Parse(config.Get("worker.concurrency"), null);
        var worker = new OutboxWorker(
            WorkerHandle.New(_handle, config), threads, logger ?? _logger);
        if (strategy is not null)
            worker.Select(strategy);
        return worker;
    }

    /// <summary>Discover stores now and then again and again until the token is cancelled. When that
    /// fails, all stays as it is, and it is tried again after 10 seconds at the latest.</summary>
    /// <param name="discovery">Finds them.</param>
    /// <param name="interval">The time between; null: <c>worker.discovery_interval_ms</c>, 5 minutes by
    /// default.</param>
    /// <param name="cancellationToken">Ends it.</param>
    public async Task RunDiscoveryAsync(
        IOutboxDatabaseDiscovery discovery, TimeSpan? interval, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(discovery);
        TimeSpan wait = interval ?? DefaultInterval();
        while (!cancellationToken.IsCancellationRequested)
        {
            bool found = await DiscoverAsync(discovery, cancellationToken).ConfigureAwait(false);
            try
            {
                await Task.Delay(
                    found || wait < RetryDiscovery ? wait : RetryDiscovery, cancellationToken)
                    .ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    private async Task<bool> DiscoverAsync(
        IOutboxDatabaseDiscovery discovery, CancellationToken cancellationToken)
    {
        try
        {
            Set(await discovery.DiscoverDatabasesAsync(cancellationToken).ConfigureAwait(false));
            return true;
        }
        catch (Exception e)
        {
            if (!cancellationToken.IsCancellationRequested)
                (_logger ?? NullLogger.Instance).LogError(
                    e, "Discovery failed, the stores stay as they are");
            return false;
        }
    }

    private TimeSpan DefaultInterval()
    {
        using ConfigHandle config = _options.Build();
        return TimeSpan.FromMilliseconds(
            int.Parse(config.Get("worker.discovery_interval_ms"), null));
    }

    /// <summary>Let the stores go. Workers go on with those that they have until they are
    /// stopped.</summary>
    public void Dispose()
    {
        foreach (WaypostStore store in _open.Values)
            store.Dispose();
        _handle.Dispose();
    }
}
