// SPDX-License-Identifier: Apache-2.0
using Microsoft.Extensions.Logging;
using Waypost.Interop;

namespace Waypost;

/// <summary>One database with Waypost's tables. Thread-safe.</summary>
public sealed class WaypostStore : IDisposable
{
    private readonly WaypostOptions _options;
    private readonly ILogger? _logger;
    private readonly ManualClock? _clock;
    private readonly StoreHandle _handle;

    private WaypostStore(WaypostOptions options, ILogger? logger, ManualClock? clock)
        : this(OpenHandle(options, logger, clock), options, logger, clock)
    {
    }

    private static StoreHandle OpenHandle(
        WaypostOptions options, ILogger? logger, ManualClock? clock)
    {
        using ConfigHandle config = options.Build(null, logger, clock);
        return StoreHandle.Open(config);
    }

    /// <summary>One that is open already.</summary>
    internal WaypostStore(
        StoreHandle handle, WaypostOptions options, ILogger? logger, ManualClock? clock)
    {
        (_handle, _options, _logger, _clock) = (handle, options, logger, clock);
        Id = _handle.Id;
        Location = _handle.Location;
        Engine = _handle.Engine;
        Outbox = new Outbox(_handle, Engine);
        Inbox = new Inbox(_handle, Engine);
        Scheduler = new SchedulerClient(_handle, Engine);
        AllQueues = new DeadLetters(_handle, wp_source.WP_SOURCE_ALL);
        Joins = new Joins(_handle, Engine);
        Leases = new Leases(_handle, Engine, wp_lease_kind.WP_LEASE_EXCLUSIVE, logger);
        Semaphores = new Leases(_handle, Engine, wp_lease_kind.WP_LEASE_SHARED, logger);
    }

    /// <summary>Open the store that the options name.</summary>
    /// <param name="options">At least a Url.</param>
    /// <param name="logger">Where the log goes, from the level that it has now; null: JSON lines on
    /// the standard error stream.</param>
    /// <param name="clock">A clock in place of the system's, for tests.</param>
    /// <exception cref="SchemaException">The tables are missing, and Deploy is not set.</exception>
    public static WaypostStore Open(
        WaypostOptions options, ILogger? logger = null, ManualClock? clock = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        return new WaypostStore(options, logger, clock);
    }

    /// <summary>Read what the store holds, and what this process has counted of its inbox and its leases.</summary>
    /// <param name="limit">How long to wait for the database; null: the option <c>health.timeout_ms</c>. What it
    /// has not told by then is left out.</param>
    /// <param name="cancellationToken">Ends the wait before it begins.</param>
    public Task<WaypostMetrics> ReadMetricsAsync(
        TimeSpan? limit = null, CancellationToken cancellationToken = default) =>
        Task.Run(() => MetricsHandle.Read(Handle, limit), cancellationToken);

    internal WaypostMetrics ReadMetrics() => MetricsHandle.Read(Handle, null);

    /// <summary>Tell whether the store does its work. One that cannot be reached is unhealthy, no exception.</summary>
    /// <param name="scope">What of the work counts.</param>
    /// <param name="maxAge">For how long a message may be ready, or a job due; zero: for ever; null: the
    /// option <c>health.overdue_ms</c>.</param>
    /// <param name="limit">How long to wait for the database; null: the option
    /// <c>health.timeout_ms</c>.</param>
    /// <param name="cancellationToken">Ends the wait before it begins.</param>
    public Task<WaypostHealth> CheckHealthAsync(
        HealthScope scope = HealthScope.All, TimeSpan? maxAge = null, TimeSpan? limit = null,
        CancellationToken cancellationToken = default) =>
        Task.Run(() => HealthHandle.Read(_handle, scope, maxAge, limit), cancellationToken);

    /// <summary>List what was changed by hand, and by whom, the latest first: topics paused and resumed, dead
    /// letters replayed, purged and edited, jobs disabled, enabled and triggered.</summary>
    /// <param name="before">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    public Task<Page<AuditEntry>> ListAuditAsync(
        Page<AuditEntry>? before = null, int limit = 100, CancellationToken cancellationToken = default) =>
        Task.Run(() => Page<AuditEntry>.Read<AuditHandle>(
                before, place => Handle.Audit(place, limit), page => page.Entries()),
            cancellationToken);

    /// <summary>Open the store at a URL, such as <c>sqlite:app.db</c>.</summary>
    public static WaypostStore Open(string url, bool deploy = false, ILogger? logger = null) =>
        Open(new WaypostOptions { Url = url, Deploy = deploy }, logger);

    /// <summary>Create or upgrade Waypost's tables, and nothing else. Repeatable; safe with many
    /// processes at once.</summary>
    public static void Deploy(WaypostOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        using ConfigHandle config = options.Build();
        StoreHandle.Deploy(config);
    }

    /// <summary>The table of all options, as Markdown.</summary>
    public static string DescribeOptions() => ConfigHandle.Describe();

    /// <summary>A fresh id that sorts by time (version 7), for owner tokens and the like.</summary>
    public static unsafe Guid NewId()
    {
        WpId id;
        Native.wp_id_new(&id);
        return id;
    }

    /// <summary>The version of the core.</summary>
    public static unsafe string Version => Utf8.Text(Native.wp_version());

    /// <summary>The outbox.</summary>
    public IOutbox Outbox { get; }

    /// <summary>The inbox.</summary>
    public IInbox Inbox { get; }

    /// <summary>Timers and jobs.</summary>
    public ISchedulerClient Scheduler { get; }

    /// <summary>The dead letters of all queues in one list, and the cleanup of all.</summary>
    public IDeadLetters AllQueues { get; }

    /// <summary>Joins: messages that are steps of one thing.</summary>
    public IJoins Joins { get; }

    /// <summary>Leases: what one may hold at a time.</summary>
    public ILeases Leases { get; }

    /// <summary>Semaphores: what so many may hold at a time.</summary>
    public ISemaphores Semaphores { get; }

    /// <summary>The store's name in logs and health reports.</summary>
    public string Id { get; }

    /// <summary>With what the app opens a connection of its own: on SQLite the file's path, or a
    /// <c>file:</c> URI; else a URL.</summary>
    public string Location { get; }

    /// <summary>The kind of database: "sqlite", "postgresql".</summary>
    public string Engine { get; }

    /// <summary>Make a worker. What its options leave out is as the store's say.</summary>
    public OutboxWorker CreateWorker(OutboxWorkerOptions? options = null, ILogger? logger = null)
    {
        using ConfigHandle config = _options.Build(options, logger ?? _logger, _clock);
        int threads = options?.Threads ?? _options.Worker.Threads
            ?? int.Parse(config.Get("worker.concurrency"), null);
        return new OutboxWorker(WorkerHandle.New(_handle, config), threads, logger ?? _logger);
    }

    internal StoreHandle Handle => _handle;

    /// <summary>Close it. Workers on it go on until they are stopped.</summary>
    public void Dispose() => _handle.Dispose();
}
