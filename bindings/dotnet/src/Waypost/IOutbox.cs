// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>
/// The outbox: messages written in the app's transaction, handled afterwards. Thread-safe.
/// <para>With a transaction or connection of the app's, calls run on it, with its provider's async
/// methods; they never begin, commit or roll back, and errors are the provider's. Without, they run
/// on a connection of Waypost's own, on a thread of the pool, and are committed when they end.</para>
/// </summary>
public interface IOutbox
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

    /// <summary>Claim due messages under a lease, of some topics or of all. A worker does this and
    /// all that follows by itself.</summary>
    /// <param name="ownerToken">The claimer's, a fresh one for each process that claims.</param>
    /// <param name="lease">How long the claim lasts, up to a day.</param>
    /// <param name="batchSize">1 to 10,000.</param>
    /// <param name="topics">Null: all.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<IReadOnlyList<OutboxMessage>> ClaimAsync(
        Guid ownerToken, TimeSpan lease, int batchSize, IEnumerable<string>? topics = null,
        CancellationToken cancellationToken = default);

    /// <summary>Finish messages as done; gives how many changed. Those that the owner does not
    /// hold any more do not. With a transaction it is part of the app's.</summary>
    Task<long> AckAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, DbTransaction? transaction = null,
        string? workerName = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id, guarded by the owner alone.</summary>
    Task<long> AckAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken = default);

    /// <summary>Give messages back after a failed attempt, to be tried again after the delay, by
    /// default the backoff.</summary>
    Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, string? lastError = null,
        TimeSpan? delay = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError = null, TimeSpan? delay = null,
        CancellationToken cancellationToken = default);

    /// <summary>Finish messages as failed, for ever.</summary>
    Task<long> FailAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, string? lastError = null,
        CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> FailAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError = null,
        CancellationToken cancellationToken = default);

    /// <summary>Give messages back that were never started.</summary>
    Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages,
        CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken = default);

    /// <summary>Extend leases, from now on.</summary>
    Task<long> RenewAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, TimeSpan lease,
        CancellationToken cancellationToken = default);

    /// <summary>Recover every expired lease, and fail expired messages; gives how many changed.</summary>
    Task<long> ReapExpiredAsync(CancellationToken cancellationToken = default);

    /// <summary>Look a message up; null if there is none.</summary>
    Task<OutboxMessageInfo?> FindAsync(Guid id, CancellationToken cancellationToken = default);

    /// <summary>Look a message up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<OutboxMessageInfo> GetAsync(Guid id, CancellationToken cancellationToken = default);

    /// <summary>Count by topic. Without <paramref name="finished"/>, done and failed messages are
    /// left out: they are counted row by row.</summary>
    Task<OutboxStats> GetStatsAsync(
        bool finished = true, CancellationToken cancellationToken = default);
}

/// <summary>Other forms of the outbox's calls.</summary>
public static class OutboxExtensions
{
    /// <summary>Claim messages of all topics, and give their ids alone.</summary>
    public static async Task<IReadOnlyList<Guid>> ClaimAsync(
        this IOutbox outbox, Guid ownerToken, int leaseSeconds, int batchSize,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(outbox);
        IReadOnlyList<OutboxMessage> messages = await outbox.ClaimAsync(
            ownerToken, TimeSpan.FromSeconds(leaseSeconds), batchSize, null, cancellationToken)
            .ConfigureAwait(false);
        return messages.Select(message => message.Id).ToArray();
    }
}
