// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>What is left in a queue, or in all of a store's together: dead letters, and what was finished.
/// Of all, one queue is replayed or purged after the other, and the limit and the rate are those of all
/// together. Thread-safe.</summary>
public interface IDeadLetters
{
    /// <summary>List dead letters, those that died first first.</summary>
    /// <param name="filter">Which; null: all.</param>
    /// <param name="after">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 1,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<OutboxMessageInfo>> ListDeadLettersAsync(
        DeadLetterFilter? filter = null, Page<OutboxMessageInfo>? after = null, int limit = 100,
        CancellationToken cancellationToken = default);

    /// <summary>Make dead letters ready again, with no attempts, in the order in which they died; gives
    /// how many. Each replay is recorded and logged. One whose unique key another unfinished message has
    /// stays dead.</summary>
    /// <param name="filter">Which; null: all.</param>
    /// <param name="limit">At most so many.</param>
    /// <param name="perSecond">At most so many are due in a second, from now on; 0: all at once.</param>
    /// <param name="by">Who asked for it.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<long> ReplayDeadLettersAsync(
        DeadLetterFilter? filter = null, long limit = long.MaxValue, long perSecond = 0,
        string? by = null, CancellationToken cancellationToken = default);

    /// <summary>Delete dead letters for ever; gives how many. The inbox forgets that they ever
    /// arrived.</summary>
    /// <param name="filter">Which; null: all.</param>
    /// <param name="limit">At most so many.</param>
    /// <param name="by">Who asked for it, for the audit.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<long> PurgeDeadLettersAsync(
        DeadLetterFilter? filter = null, long limit = long.MaxValue, string? by = null,
        CancellationToken cancellationToken = default);

    /// <summary>Delete what was finished with success (or cancelled) this long ago or earlier, in small
    /// batches with pauses; gives how many. What is unfinished, only seen or dead stays.</summary>
    Task<long> CleanupAsync(TimeSpan olderThan, CancellationToken cancellationToken = default);
}

/// <summary>What all queues have: claim and finish by hand, statistics, dead letters. A worker claims
/// and finishes by itself. Thread-safe.</summary>
public interface IWorkQueue<TMessage> : IDeadLetters where TMessage : OutboxMessage
{
    /// <summary>Claim due messages under a lease, of some topics or of all.</summary>
    /// <param name="ownerToken">The claimer's, a fresh one for each process that claims.</param>
    /// <param name="lease">How long the claim lasts, up to a day.</param>
    /// <param name="batchSize">1 to 10,000.</param>
    /// <param name="topics">Null: all.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<IReadOnlyList<TMessage>> ClaimAsync(
        Guid ownerToken, TimeSpan lease, int batchSize, IEnumerable<string>? topics = null,
        CancellationToken cancellationToken = default);

    /// <summary>Finish messages as done; gives how many changed. Those that the owner does not
    /// hold any more do not. With a transaction it is part of the app's.</summary>
    Task<long> AckAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, DbTransaction? transaction = null,
        string? workerName = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id, guarded by the owner alone.</summary>
    Task<long> AckAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken = default);

    /// <summary>Give messages back after a failed attempt, to be tried again after the delay, by
    /// default the backoff.</summary>
    Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, string? lastError = null,
        TimeSpan? delay = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError = null, TimeSpan? delay = null,
        CancellationToken cancellationToken = default);

    /// <summary>Finish messages as failed, for ever.</summary>
    /// <exception cref="ArgumentNullException">There is no error, and the queue is the inbox.</exception>
    Task<long> FailAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, string? lastError = null,
        CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> FailAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError = null,
        CancellationToken cancellationToken = default);

    /// <summary>Give messages back that were never started.</summary>
    Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<TMessage> messages,
        CancellationToken cancellationToken = default);

    /// <summary>The same by id.</summary>
    Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken = default);

    /// <summary>Extend leases, from now on.</summary>
    Task<long> RenewAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, TimeSpan lease,
        CancellationToken cancellationToken = default);

    /// <summary>Recover every expired lease, and fail expired messages; gives how many changed.</summary>
    Task<long> ReapExpiredAsync(CancellationToken cancellationToken = default);

    /// <summary>Have all workers leave a topic alone until it is resumed. Handlers that run finish; what a
    /// worker has not started goes back. False: it was paused already.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="by">Who says so, up to 255 characters; it is noted in the audit.</param>
    /// <param name="transaction">The app's; null: one of its own.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<bool> PauseTopicAsync(
        string topic, string? by = null, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Let a topic go on. False: it was not paused.</summary>
    Task<bool> ResumeTopicAsync(
        string topic, string? by = null, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>The topics of this queue that are paused.</summary>
    Task<IReadOnlyList<PausedTopic>> ListPausedTopicsAsync(CancellationToken cancellationToken = default);

    /// <summary>Give a dead letter another payload, to replay it with. It stays dead, and all else stays as it
    /// is; the old payload is not kept. False: there is no such dead letter, or another transaction is at
    /// it.</summary>
    /// <param name="id">The message's.</param>
    /// <param name="payload">The new one.</param>
    /// <param name="by">Who asked for it, up to 255 characters; it is noted in the audit.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<bool> EditDeadLetterAsync(
        Guid id, string payload, string? by = null, CancellationToken cancellationToken = default);

    /// <summary>Count by topic. Without <paramref name="finished"/>, done and failed messages are
    /// left out: they are counted row by row.</summary>
    Task<OutboxStats> GetStatsAsync(
        bool finished = true, CancellationToken cancellationToken = default);
}

/// <summary>Other forms of the queues' calls.</summary>
public static class WorkQueueExtensions
{
    /// <summary>Claim messages of all topics, and give their ids alone.</summary>
    public static async Task<IReadOnlyList<Guid>> ClaimAsync<TMessage>(
        this IWorkQueue<TMessage> queue, Guid ownerToken, int leaseSeconds, int batchSize,
        CancellationToken cancellationToken = default) where TMessage : OutboxMessage
    {
        ArgumentNullException.ThrowIfNull(queue);
        IReadOnlyList<TMessage> messages = await queue.ClaimAsync(
            ownerToken, TimeSpan.FromSeconds(leaseSeconds), batchSize, null, cancellationToken)
            .ConfigureAwait(false);
        return messages.Select(message => message.Id).ToArray();
    }
}

/// <summary>Which dead letters; all that is set must be so.</summary>
public sealed record DeadLetterFilter
{
    /// <summary>Of this topic.</summary>
    public string? Topic { get; init; }
    /// <summary>Whose reason holds this text.</summary>
    public string? Reason { get; init; }
    /// <summary>That died at this instant or later.</summary>
    public DateTimeOffset? FromUtc { get; init; }
    /// <summary>That died at this instant or earlier.</summary>
    public DateTimeOffset? UntilUtc { get; init; }
    /// <summary>With these ids, up to 10,000.</summary>
    public IReadOnlyCollection<Guid>? Ids { get; init; }
}
