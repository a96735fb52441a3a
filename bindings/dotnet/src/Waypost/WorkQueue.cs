// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

/// <summary>What all queues have, once.</summary>
internal class WorkQueue<TMessage>(StoreHandle store, string engine, wp_source queue)
    : DeadLetters(store, queue), IWorkQueue<TMessage> where TMessage : OutboxMessage
{

    // ---- claim and finish, by hand ----------------------------------------------------------

    public async Task<IReadOnlyList<TMessage>> ClaimAsync(
        Guid ownerToken, TimeSpan lease, int batchSize, IEnumerable<string>? topics,
        CancellationToken cancellationToken)
    {
        string[]? names = topics?.ToArray();
        return await Own(
            () => Array.ConvertAll(
                Store.Claim(Queue, Given(ownerToken), names, batchSize, Times.ToMs(lease)),
                message => (TMessage)message),
            cancellationToken).ConfigureAwait(false);
    }

    public Task<long> AckAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, DbTransaction? transaction,
        string? workerName, CancellationToken cancellationToken) =>
        Finish(wpn_finishing.WPN_ACK, ownerToken, new Claimed(messages), cancellationToken,
               workerName, transaction: transaction);

    public Task<long> AckAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken) =>
        Finish(wpn_finishing.WPN_ACK, ownerToken, new Claimed(ids), cancellationToken);

    public Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, string? lastError, TimeSpan? delay,
        CancellationToken cancellationToken) =>
        Abandon(ownerToken, new Claimed(messages), lastError, delay, null, cancellationToken);

    public Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError, TimeSpan? delay,
        CancellationToken cancellationToken) =>
        Abandon(ownerToken, new Claimed(ids), lastError, delay, null, cancellationToken);

    public Task<long> FailAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, string? lastError,
        CancellationToken cancellationToken) =>
        Fail(ownerToken, new Claimed(messages), lastError, cancellationToken);

    public Task<long> FailAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError,
        CancellationToken cancellationToken) =>
        Fail(ownerToken, new Claimed(ids), lastError, cancellationToken);

    public Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, CancellationToken cancellationToken) =>
        Finish(wpn_finishing.WPN_RELEASE, ownerToken, new Claimed(messages), cancellationToken);

    public Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken) =>
        Finish(wpn_finishing.WPN_RELEASE, ownerToken, new Claimed(ids), cancellationToken);

    public Task<long> RenewAsync(
        Guid ownerToken, IEnumerable<TMessage> messages, TimeSpan lease,
        CancellationToken cancellationToken) =>
        Finish(wpn_finishing.WPN_RENEW, ownerToken, new Claimed(messages), cancellationToken,
               ms: Times.ToMs(lease));

    public Task<long> ReapExpiredAsync(CancellationToken cancellationToken) =>
        Own(() => Store.Reap(Queue), cancellationToken);

    protected Task<long> Abandon(
        Guid ownerToken, Claimed claimed, string? lastError, TimeSpan? delay,
        DbTransaction? transaction, CancellationToken cancellationToken)
    {
        if (delay == TimeSpan.Zero)
            throw new ArgumentOutOfRangeException(
                nameof(delay), "delay is 0: give a longer one, or null for the backoff");
        return Finish(wpn_finishing.WPN_ABANDON, ownerToken, claimed, cancellationToken, lastError,
                      Times.DelayMs(delay), transaction);
    }

    private Task<long> Fail(
        Guid ownerToken, Claimed claimed, string? lastError, CancellationToken cancellationToken)
    {
        if (Queue == wp_source.WP_SOURCE_INBOX)
            ArgumentNullException.ThrowIfNull(lastError);
        return Finish(wpn_finishing.WPN_FAIL, ownerToken, claimed, cancellationToken, lastError);
    }

    protected Task<long> Finish(
        wpn_finishing how, Guid ownerToken, Claimed claimed, CancellationToken cancellationToken,
        string? text = null, long ms = 0, DbTransaction? transaction = null) =>
        transaction is null
            ? Own(() => Store.Finish(Queue, how, Given(ownerToken), claimed, text, ms), cancellationToken)
            : OnApps(transaction, () => Store.FinishOperation(Queue, how, Given(ownerToken), claimed, text, ms),
                     op => op.ResultCount, cancellationToken);

    /// <summary>The core would call it "owner".</summary>
    private static Guid Given(Guid ownerToken) => ownerToken != Guid.Empty
        ? ownerToken
        : throw new ArgumentException("ownerToken is empty: make one by WaypostStore.NewId()", nameof(ownerToken));

    // ---- pausing ----------------------------------------------------------------------------

    public Task<bool> PauseTopicAsync(
        string topic, string? by, DbTransaction? transaction, CancellationToken cancellationToken) =>
        Pause(false, topic, by, transaction, cancellationToken);

    public Task<bool> ResumeTopicAsync(
        string topic, string? by, DbTransaction? transaction, CancellationToken cancellationToken) =>
        Pause(true, topic, by, transaction, cancellationToken);

    private Task<bool> Pause(
        bool resumes, string topic, string? by, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Own(() => Store.TopicPause(Queue, resumes, topic, by), cancellationToken)
            : OnApps(transaction, () => Store.TopicPauseOperation(Queue, resumes, topic, by),
                     op => op.ResultCount > 0, cancellationToken);

    public async Task<IReadOnlyList<PausedTopic>> ListPausedTopicsAsync(
        CancellationToken cancellationToken) =>
        await Own(() => Store.PausedTopics(Queue), cancellationToken).ConfigureAwait(false);

    // ---- dead letters -----------------------------------------------------------------------

    public Task<bool> EditDeadLetterAsync(
        Guid id, string payload, string? by, CancellationToken cancellationToken) =>
        Own(() => Store.DeadEdit(Queue, id, payload, by), cancellationToken);

    // ---- looking ----------------------------------------------------------------------------

    public Task<OutboxMessageInfo?> FindAsync(Guid id, CancellationToken cancellationToken) =>
        Own(() => Store.Find(Queue, id), cancellationToken);

    public async Task<OutboxMessageInfo> GetAsync(Guid id, CancellationToken cancellationToken) =>
        await FindAsync(id, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"there is no message {id}", default);

    public Task<OutboxStats> GetStatsAsync(bool finished, CancellationToken cancellationToken) =>
        Own(() => Store.Stats(Queue, finished), cancellationToken);

    // ---- where calls run --------------------------------------------------------------------

    /// <summary>On the app's transaction.</summary>
    protected Task<T> OnApps<T>(
        DbTransaction transaction, Func<OperationHandle> make, Func<OperationHandle, T> result,
        CancellationToken cancellationToken) =>
        Waypost.OnApps.RunAsync(transaction, engine, make(), result, cancellationToken);

    protected Task<T> OnApps<T>(
        DbConnection connection, DbTransaction? transaction, Func<OperationHandle> make,
        Func<OperationHandle, T> result, CancellationToken cancellationToken) =>
        Waypost.OnApps.RunAsync(connection, transaction, engine, make(), result, cancellationToken);
}
