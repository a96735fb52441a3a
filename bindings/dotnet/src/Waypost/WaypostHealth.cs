// SPDX-License-Identifier: Apache-2.0
namespace Waypost;

/// <summary>How a store or a worker is.</summary>
public enum WaypostHealthStatus
{
    /// <summary>All is well.</summary>
    Healthy = 0,

    /// <summary>Work is stale or overdue, or something will be in the way soon.</summary>
    Degraded = 1,

    /// <summary>A store cannot be reached, its schema is older, or the worker does not run or is
    /// stuck.</summary>
    Unhealthy = 2,
}

/// <summary>What of the work counts. Storage, schema and the worker always do.</summary>
public enum HealthScope
{
    /// <summary>All queues.</summary>
    All = 0,

    /// <summary>Timers, jobs and their runs.</summary>
    Scheduler = 1,
}

/// <summary>The health of one store. What is null is not known.</summary>
/// <param name="Id">The store's id.</param>
/// <param name="Status">How it is.</param>
/// <param name="Latency">Until the database first answered.</param>
/// <param name="SchemaVersion">The number of the newest migration.</param>
/// <param name="Stale">Messages that are held by leases that are over.</param>
/// <param name="OldestReadyAge">For how long a message has been ready: the longest.</param>
/// <param name="JobsLate">For how long a job has been due whose run is not made.</param>
/// <param name="Overdue">In how many queues work is overdue, and 1 more for jobs.</param>
/// <param name="Queues">The counts of each queue that counts, but for what is finished.</param>
public sealed record WaypostStoreHealth(
    string Id, WaypostHealthStatus Status, TimeSpan? Latency, long? SchemaVersion, long? Stale,
    TimeSpan? OldestReadyAge, TimeSpan? JobsLate, long? Overdue,
    IReadOnlyDictionary<WaypostQueue, TopicStats> Queues);

/// <summary>A report: docs/operations.md has the rule.</summary>
/// <param name="Status">How it is.</param>
/// <param name="Reason">All reasons, the worst first, in one line; empty if healthy.</param>
/// <param name="Stores">The stores; of a worker there may be none.</param>
/// <param name="Json">Whatever is known, as <c>waypost health --json</c> prints it.</param>
public sealed record WaypostHealth(
    WaypostHealthStatus Status, string Reason, IReadOnlyList<WaypostStoreHealth> Stores, string Json);
