// SPDX-License-Identifier: Apache-2.0
namespace Waypost;

/// <summary>Finds the outbox of a key, where the app has several databases.</summary>
public interface IOutboxRouter
{
    /// <summary>The outbox of the store with this id, opened now if it is not open yet.</summary>
    /// <exception cref="InvalidOperationException">No store has this id.</exception>
    IOutbox GetOutbox(string key);

    /// <summary>The same for an id that is a Guid: its usual form of 36 characters.</summary>
    /// <exception cref="InvalidOperationException">No store has this id.</exception>
    IOutbox GetOutbox(Guid key);
}

/// <summary>Finds the databases that there are now.</summary>
public interface IOutboxDatabaseDiscovery
{
    /// <summary>All of them, each with a Url and a StoreId of its own. When it throws, the stores stay
    /// as they are.</summary>
    Task<IEnumerable<WaypostOptions>> DiscoverDatabasesAsync(CancellationToken cancellationToken);
}

/// <summary>A store that has messages for the next free handler.</summary>
/// <param name="StoreId">The store's id.</param>
/// <param name="Ready">How many messages of it are claimed and wait.</param>
/// <param name="Running">How many of its messages are with handlers.</param>
public readonly record struct StoreCandidate(string StoreId, long Ready, long Running);

/// <summary>Decides whose message goes to the next free handler.</summary>
public interface IOutboxSelectionStrategy
{
    /// <summary>The id of one of at least two candidates, of which those that waited longest for their
    /// turn come first; null, or any other text, leaves it to the worker. Called on several threads at
    /// once.</summary>
    string? SelectNext(IReadOnlyList<StoreCandidate> candidates);
}

/// <summary>Each store in turn: what a worker does by itself.</summary>
public sealed class RoundRobinOutboxSelectionStrategy : IOutboxSelectionStrategy
{
    /// <inheritdoc/>
    public string? SelectNext(IReadOnlyList<StoreCandidate> candidates) => null;
}

/// <summary>One store until it has no more, then the next one. A worker given this is one with
/// <see cref="OutboxWorkerOptions.DrainFirst"/>.</summary>
public sealed class DrainFirstOutboxSelectionStrategy : IOutboxSelectionStrategy
{
    /// <inheritdoc/>
    public string? SelectNext(IReadOnlyList<StoreCandidate> candidates) => null;
}
