// SPDX-License-Identifier: Apache-2.0
using System.Globalization;
using Microsoft.Extensions.Logging;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// Options of a store and its worker. What is null is as the core's table says; that table, with
/// ranges and meanings, is <see cref="WaypostStore.DescribeOptions"/>.
/// </summary>
public sealed class WaypostOptions
{
    /// <summary>The database, such as <c>sqlite:app.db</c>.</summary>
    public string? Url { get; set; }

    /// <summary>Create or upgrade Waypost's tables when the store is opened.</summary>
    public bool Deploy { get; set; }

    /// <summary>Names the store in log records and health reports.</summary>
    public string? StoreId { get; set; }

    /// <summary>The schema that holds the tables; a name prefix on SQLite.</summary>
    public string? Schema { get; set; }

    /// <summary>The name of the outbox table.</summary>
    public string? OutboxTable { get; set; }

    /// <summary>The most connections that the store keeps for itself.</summary>
    public int? PoolSize { get; set; }

    /// <summary>How long to wait for another writer.</summary>
    public TimeSpan? BusyTimeout { get; set; }

    /// <summary>In a host: run a worker for the handlers that were added. False: this process only
    /// enqueues.</summary>
    public bool RunWorker { get; set; } = true;

    /// <summary>In a host: the name under which its recurring jobs are registered; null: that of the
    /// application. Programs with different jobs have different names: one that has no jobs, and has a name
    /// here, switches off those of that name.</summary>
    public string? JobRegistrar { get; set; }

    /// <summary>Cron expressions to use instead of those in the code, by the job's name.</summary>
    public IDictionary<string, string> CronOverrides { get; set; } = new Dictionary<string, string>();

    /// <summary>Options of the worker.</summary>
    public OutboxWorkerOptions Worker { get; set; } = new();

    /// <summary>Any further options by the core's keys, such as <c>store.sqlite_synchronous</c>.</summary>
    public IDictionary<string, string> Settings { get; set; } = new Dictionary<string, string>();

    /// <summary>Read <c>WAYPOST_...</c> environment variables too; the options here win.</summary>
    public bool ReadEnvironment { get; set; }

    internal ConfigHandle Build(
        OutboxWorkerOptions? worker = null, ILogger? logger = null, ManualClock? clock = null)
    {
        ConfigHandle config = ConfigHandle.New();
        try
        {
            if (ReadEnvironment)
                config.LoadEnvironment();
            if (logger is not null)
                WaypostLog.Attach(config, logger);
            if (clock is not null)
                config.SetClock(clock.Handle);
            Fill(config);
            Worker.Fill(config);
            worker?.Fill(config);
            return config;
        }
        catch
        {
            config.Dispose();
            throw;
        }
    }

    private void Fill(ConfigHandle config)
    {
        Option.Set(config, "store.url", Url);
        if (Deploy)
            config.Set("store.deploy", "true");
        Option.Set(config, "store.id", StoreId);
        Option.Set(config, "store.schema", Schema);
        Option.Set(config, "store.outbox_table", OutboxTable);
        Option.Set(config, "store.pool_size", PoolSize);
        Option.Set(config, "store.busy_timeout_ms", BusyTimeout);
        if (CronOverrides.Count > 0)
            config.Set("job.cron_overrides", Json.Object(CronOverrides));
        foreach ((string key, string value) in Settings)
            config.Set(key, value);
    }
}

/// <summary>Options of a worker; what is null is as the store's options say.</summary>
public sealed class OutboxWorkerOptions
{
    /// <summary>Names the worker in claims and log records.</summary>
    public string? Name { get; set; }

    /// <summary>The most deliveries in progress at once, 16 by default.</summary>
    public int? Concurrency { get; set; }

    /// <summary>The most threads that start handlers, by default <see cref="Concurrency"/>. There is
    /// one at first, and more when handlers block theirs; an async handler leaves its thread at its
    /// first await.</summary>
    public int? Threads { get; set; }

    /// <summary>The most messages taken in one claim.</summary>
    public int? BatchSize { get; set; }

    /// <summary>How long a claim lasts unless renewed. Claims of running handlers are renewed.</summary>
    public TimeSpan? Lease { get; set; }

    /// <summary>The same of runs of jobs, 5 minutes by default: so long after a worker died its run goes to
    /// another one.</summary>
    public TimeSpan? JobLease { get; set; }

    /// <summary>How long a handler may take; then its token is cancelled.</summary>
    public TimeSpan? Timeout { get; set; }

    /// <summary>After so many attempts a message is a dead letter.</summary>
    public int? MaxAttempts { get; set; }

    /// <summary>The delay before the first retry; it doubles with each further one.</summary>
    public TimeSpan? BackoffBase { get; set; }

    /// <summary>The longest delay before a retry.</summary>
    public TimeSpan? BackoffMax { get; set; }

    /// <summary>Each delay is shortened at random by up to this part of it, 0 to 1.</summary>
    public double? BackoffJitter { get; set; }

    /// <summary>The shortest time between polls.</summary>
    public TimeSpan? PollMin { get; set; }

    /// <summary>The longest time between polls.</summary>
    public TimeSpan? PollMax { get; set; }

    /// <summary>How long an outcome may wait to be written together with others.</summary>
    public TimeSpan? Flush { get; set; }

    /// <summary>The time between looks for expired claims.</summary>
    public TimeSpan? Reap { get; set; }

    /// <summary>The time between looks for what was finished long ago (<c>outbox.keep_ms</c> and the
    /// like).</summary>
    public TimeSpan? CleanupInterval { get; set; }

    /// <summary>Use wake-up channels; false: poll only.</summary>
    public bool? Wakeups { get; set; }

    /// <summary>With several stores: one store until it has no more, then the next one; else each in
    /// turn.</summary>
    public bool? DrainFirst { get; set; }

    /// <summary>With several stores in turn: how many messages of one before the next one's.</summary>
    public int? Turn { get; set; }

    /// <summary>Claim topics that have no handler too.</summary>
    public bool? AllTopics { get; set; }

    internal void Fill(ConfigHandle config)
    {
        if (Threads is < 1 or > 1024)
            throw new ArgumentOutOfRangeException(nameof(Threads), Threads, "not in 1..1024");
        Option.Set(config, "worker.name", Name);
        Option.Set(config, "worker.wakeups", Wakeups);
        Option.Set(config, "worker.turn", Turn);
        if (DrainFirst is { } drain)
            config.Set("worker.selection", drain ? "drain-first" : "round-robin");
        Option.Set(config, "worker.all_topics", AllTopics);
        Option.Set(config, "worker.backoff_jitter", BackoffJitter);
        Option.Set(config, "worker.job_lease_ms", JobLease);
        Option.Set(config, "worker.flush_ms", Flush);
        Option.Set(config, "worker.reap_ms", Reap);
        Option.Set(config, "worker.cleanup_interval_ms", CleanupInterval);
        foreach ((string key, string value) in PerTopic())
            config.Set("worker." + key, value);
    }

    /// <summary>Those that can differ from topic to topic.</summary>
    internal IEnumerable<KeyValuePair<string, string>> PerTopic()
    {
        (string Key, object? Value)[] options =
        [
            ("concurrency", Concurrency), ("batch_size", BatchSize), ("lease_ms", Lease),
            ("timeout_ms", Timeout), ("max_attempts", MaxAttempts),
            ("backoff_base_ms", BackoffBase), ("backoff_max_ms", BackoffMax),
            ("poll_min_ms", PollMin), ("poll_max_ms", PollMax),
        ];
        foreach ((string key, object? value) in options)
            if (value is not null)
                yield return new(key, Option.Text(value));
    }

    /// <summary>Refuse what only the whole worker can have.</summary>
    internal void CheckPerTopic()
    {
        if (Name is not null || Threads is not null || Wakeups is not null || AllTopics is not null
            || BackoffJitter is not null || JobLease is not null || Flush is not null || Reap is not null
            || CleanupInterval is not null || DrainFirst is not null || Turn is not null)
            throw new ArgumentException(
                "Name, Threads, Wakeups, AllTopics, BackoffJitter, JobLease, Flush, Reap, CleanupInterval, DrainFirst and Turn are"
                + " the worker's, not a topic's");
        using var config = ConfigHandle.New(); // refuses bad values, before anything is registered
        foreach ((string key, string value) in PerTopic())
            config.Set("worker." + key, value);
    }
}

/// <summary>An option's value as the core reads it.</summary>
internal static class Option
{
    public static void Set(ConfigHandle config, string key, object? value)
    {
        if (value is not null)
            config.Set(key, Text(value));
    }

    public static string Text(object value) => value switch
    {
        bool flag => flag ? "true" : "false",
        TimeSpan time => Times.ToMs(time).ToString(CultureInfo.InvariantCulture),
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => (string)value,
    };
}
