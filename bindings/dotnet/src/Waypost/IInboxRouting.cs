// SPDX-License-Identifier: Apache-2.0
namespace Waypost;

// A database has all queues, and a worker serves all of them: these are the outbox's by other names, for apps
// that use the inbox alone.

/// <summary>Finds the databases that there are now: see <see cref="IOutboxDatabaseDiscovery"/>, in whose place
/// it can be registered.</summary>
public interface IInboxDatabaseDiscovery : IOutboxDatabaseDiscovery;

/// <summary>Decides whose message goes to the next free handler: see <see cref="IOutboxSelectionStrategy"/>, in
/// whose place it can be registered.</summary>
public interface IInboxSelectionStrategy : IOutboxSelectionStrategy;

/// <summary>Each store in turn, as <see cref="RoundRobinOutboxSelectionStrategy"/>.</summary>
public sealed class RoundRobinInboxSelectionStrategy : IInboxSelectionStrategy
{
    /// <inheritdoc/>
    public string? SelectNext(IReadOnlyList<StoreCandidate> candidates) => null;
}

/// <summary>One store until it has no more, as <see cref="DrainFirstOutboxSelectionStrategy"/>.</summary>
public sealed class DrainFirstInboxSelectionStrategy : IInboxSelectionStrategy
{
    /// <inheritdoc/>
    public string? SelectNext(IReadOnlyList<StoreCandidate> candidates) => null;
}
