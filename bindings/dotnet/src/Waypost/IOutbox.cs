// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>
/// The outbox: messages written in the app's transaction, handled afterwards. Thread-safe.
/// <para>With a transaction or connection of the app's, calls run on it, with its provider's async
/// methods; they never begin, commit or roll back, and errors are the provider's. Without, they run
/// on a connection of Waypost's own, on a thread of the pool, and are committed when they end.</para>
/// </summary>
public interface IOutbox : IWorkQueue<OutboxMessage>
{
    /// <summary>Enqueue a message; gives its id.</summary>
    /// <param name="topic">Decides which handler gets it; 1 to 255 characters.</param>
    /// <param name="payload">Any text.</param>
    /// <param name="transaction">The app's transaction, of any provider; EF Core:
    /// <c>context.Database.CurrentTransaction!.GetDbTransaction()</c>.</param>
    /// <param name="correlationId">Passed on to the handler.</param>
    /// <param name="dueTimeUtc">Hide the message until then.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    Task<Guid> EnqueueAsync(
        string topic, string payload, DbTransaction? transaction = null,
        string? correlationId = null, DateTimeOffset? dueTimeUtc = null,
        CancellationToken cancellationToken = default);

    /// <summary>Enqueue a message with all that one can have.</summary>
    Task<EnqueueResult> EnqueueAsync(
        NewOutboxMessage message, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Enqueue on a connection whose transaction is no object: begun with a statement, or
    /// ambient. In autocommit the message is committed at once.</summary>
    Task<EnqueueResult> EnqueueAsync(
        NewOutboxMessage message, DbConnection connection,
        CancellationToken cancellationToken = default);

    /// <summary>Enqueue messages in order, up to 10,000; without a transaction of the app's in one
    /// of its own.</summary>
    Task<IReadOnlyList<EnqueueResult>> EnqueueManyAsync(
        IEnumerable<NewOutboxMessage> messages, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Enqueue messages on a connection whose transaction is no object.</summary>
    Task<IReadOnlyList<EnqueueResult>> EnqueueManyAsync(
        IEnumerable<NewOutboxMessage> messages, DbConnection connection,
        CancellationToken cancellationToken = default);

    /// <summary>Look a message up; null if there is none.</summary>
    Task<OutboxMessageInfo?> FindAsync(Guid id, CancellationToken cancellationToken = default);

    /// <summary>Look a message up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<OutboxMessageInfo> GetAsync(Guid id, CancellationToken cancellationToken = default);
}
