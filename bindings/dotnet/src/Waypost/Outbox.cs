// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

internal sealed class Outbox(StoreHandle store, string engine) : IOutbox
{
    // ---- enqueue ----------------------------------------------------------------------------

    public async Task<Guid> EnqueueAsync(
        string topic, string payload, DbTransaction? transaction, string? correlationId,
        DateTimeOffset? dueTimeUtc, CancellationToken cancellationToken)
    {
        var message = new NewOutboxMessage(topic, payload)
        {
            CorrelationId = correlationId,
            DueTimeUtc = dueTimeUtc,
        };
        return (await EnqueueAsync(message, transaction, cancellationToken).ConfigureAwait(false)).Id;
    }

    public async Task<EnqueueResult> EnqueueAsync(
        NewOutboxMessage message, DbTransaction? transaction, CancellationToken cancellationToken) =>
        (await EnqueueManyAsync([message], transaction, cancellationToken).ConfigureAwait(false))[0];

    public async Task<EnqueueResult> EnqueueAsync(
        NewOutboxMessage message, DbConnection connection, CancellationToken cancellationToken) =>
        (await EnqueueManyAsync([message], connection, cancellationToken).ConfigureAwait(false))[0];

    public async Task<IReadOnlyList<EnqueueResult>> EnqueueManyAsync(
        IEnumerable<NewOutboxMessage> messages, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? await Own(() => store.Enqueue(messages), cancellationToken).ConfigureAwait(false)
            : await OnApps.RunAsync(
                OnApps.ConnectionOf(transaction), transaction, engine,
                store.EnqueueOperation(messages), op => op.Results(), cancellationToken)
                .ConfigureAwait(false);

    public async Task<IReadOnlyList<EnqueueResult>> EnqueueManyAsync(
        IEnumerable<NewOutboxMessage> messages, DbConnection connection,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return await OnApps.RunAsync(
            connection, null, engine, store.EnqueueOperation(messages), op => op.Results(),
            cancellationToken).ConfigureAwait(false);
    }

    // ---- claim and finish, by hand ----------------------------------------------------------

    public async Task<IReadOnlyList<OutboxMessage>> ClaimAsync(
        Guid ownerToken, TimeSpan lease, int batchSize, IEnumerable<string>? topics,
        CancellationToken cancellationToken)
    {
        string[]? names = topics?.ToArray();
        return await Own(
            () => store.Claim(ownerToken, names, batchSize, Times.ToMs(lease)), cancellationToken)
            .ConfigureAwait(false);
    }

    public async Task<long> AckAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, DbTransaction? transaction,
        string? workerName, CancellationToken cancellationToken)
    {
        var claimed = new Claimed(messages);
        return transaction is null
            ? await Finish(Finishing.Ack, ownerToken, claimed, cancellationToken, workerName)
                .ConfigureAwait(false)
            : await OnApps.RunAsync(
                OnApps.ConnectionOf(transaction), transaction, engine,
                store.AckOperation(ownerToken, claimed, workerName), op => op.ResultCount,
                cancellationToken).ConfigureAwait(false);
    }

    public Task<long> AckAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken) =>
        Finish(Finishing.Ack, ownerToken, new Claimed(ids), cancellationToken);

    public Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, string? lastError, TimeSpan? delay,
        CancellationToken cancellationToken) =>
        Abandon(ownerToken, new Claimed(messages), lastError, delay, cancellationToken);

    public Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError, TimeSpan? delay,
        CancellationToken cancellationToken) =>
        Abandon(ownerToken, new Claimed(ids), lastError, delay, cancellationToken);

    public Task<long> FailAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, string? lastError,
        CancellationToken cancellationToken) =>
        Finish(Finishing.Fail, ownerToken, new Claimed(messages), cancellationToken, lastError);

    public Task<long> FailAsync(
        Guid ownerToken, IEnumerable<Guid> ids, string? lastError,
        CancellationToken cancellationToken) =>
        Finish(Finishing.Fail, ownerToken, new Claimed(ids), cancellationToken, lastError);

    public Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages,
        CancellationToken cancellationToken) =>
        Finish(Finishing.Release, ownerToken, new Claimed(messages), cancellationToken);

    public Task<long> ReleaseAsync(
        Guid ownerToken, IEnumerable<Guid> ids, CancellationToken cancellationToken) =>
        Finish(Finishing.Release, ownerToken, new Claimed(ids), cancellationToken);

    public Task<long> RenewAsync(
        Guid ownerToken, IEnumerable<OutboxMessage> messages, TimeSpan lease,
        CancellationToken cancellationToken) =>
        Finish(Finishing.Renew, ownerToken, new Claimed(messages), cancellationToken,
               ms: Times.ToMs(lease));

    public Task<long> ReapExpiredAsync(CancellationToken cancellationToken) =>
        Own(store.Reap, cancellationToken);

    private Task<long> Abandon(
        Guid ownerToken, Claimed claimed, string? lastError, TimeSpan? delay,
        CancellationToken cancellationToken)
    {
        if (delay == TimeSpan.Zero)
            throw new ArgumentOutOfRangeException(
                nameof(delay), "delay is 0: give a longer one, or null for the backoff");
        return Finish(Finishing.Abandon, ownerToken, claimed, cancellationToken, lastError,
                      Times.DelayMs(delay));
    }

    private Task<long> Finish(
        Finishing how, Guid ownerToken, Claimed claimed, CancellationToken cancellationToken,
        string? text = null, long ms = 0) =>
        Own(() => store.Finish(how, ownerToken, claimed, text, ms), cancellationToken);

    // ---- looking ----------------------------------------------------------------------------

    public Task<OutboxMessageInfo?> FindAsync(Guid id, CancellationToken cancellationToken) =>
        Own(() => store.Find(id), cancellationToken);

    public async Task<OutboxMessageInfo> GetAsync(Guid id, CancellationToken cancellationToken) =>
        await FindAsync(id, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"there is no message {id}", default);

    public Task<OutboxStats> GetStatsAsync(bool finished, CancellationToken cancellationToken) =>
        Own(() => store.Stats(finished), cancellationToken);

    /// <summary>On the core's own connections, whose calls block.</summary>
    private static Task<T> Own<T>(Func<T> call, CancellationToken cancellationToken) =>
        Task.Run(call, cancellationToken);
}
