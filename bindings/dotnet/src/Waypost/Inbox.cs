// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

internal sealed class Inbox(StoreHandle store, string engine)
    : WorkQueue<InboxMessage>(store, engine, wp_source.WP_SOURCE_INBOX), IInbox
{
    // ---- arrival ----------------------------------------------------------------------------

    public Task<bool> AlreadyProcessedAsync(
        string messageId, string source, CancellationToken cancellationToken) =>
        AlreadyProcessedAsync(messageId, source, null, cancellationToken);

    public async Task<bool> AlreadyProcessedAsync(
        string messageId, string source, byte[]? hash, CancellationToken cancellationToken) =>
        (await CheckAsync(new InboxKey(messageId, source) { Hash = hash }, null, cancellationToken)
            .ConfigureAwait(false)).Found == InboxState.Done;

    public Task<InboxResult> CheckAsync(
        InboxKey key, DbTransaction? transaction, CancellationToken cancellationToken) =>
        transaction is null
            ? Own(() => Store.InboxCheck(key), cancellationToken)
            : OnApps(transaction, () => Store.InboxCheckOperation(key), op => op.InboxResults()[0],
                     cancellationToken);

    public Task EnqueueAsync(
        string topic, string source, string messageId, string payload, byte[]? hash,
        DateTimeOffset? dueTimeUtc, CancellationToken cancellationToken) =>
        EnqueueAsync(
            new InboxKey(messageId, source) { Hash = hash },
            new NewOutboxMessage(topic, payload) { DueTimeUtc = dueTimeUtc }, null, cancellationToken);

    public async Task<InboxResult> EnqueueAsync(
        InboxKey key, NewOutboxMessage message, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        (await EnqueueManyAsync([new NewInboxMessage(key, message)], transaction, cancellationToken)
            .ConfigureAwait(false))[0];

    public async Task<IReadOnlyList<InboxResult>> EnqueueManyAsync(
        IEnumerable<NewInboxMessage> messages, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        await Tracing.SendAsync<NewInboxMessage, IReadOnlyList<InboxResult>>(
            WaypostQueue.Inbox, messages, message => message.Message, async messages => transaction is null
                ? await Own(() => Store.InboxEnqueue(messages), cancellationToken).ConfigureAwait(false)
                : await OnApps(transaction, () => Store.InboxEnqueueOperation(messages),
                               op => op.InboxResults(), cancellationToken).ConfigureAwait(false))
            .ConfigureAwait(false);

    // ---- once -------------------------------------------------------------------------------

    public async Task<InboxResult> ProcessOnceAsync(
        InboxKey key, DbTransaction transaction, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(transaction);
        return await OnApps(transaction, () => Store.InboxOnceOperation(key),
                            op => op.InboxResults()[0], cancellationToken).ConfigureAwait(false);
    }

    public async Task<InboxResult> ProcessOnceAsync(
        InboxKey key, DbConnection connection, Func<DbTransaction, CancellationToken, Task> process,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(connection);
        ArgumentNullException.ThrowIfNull(process);
        DbTransaction transaction =
            await connection.BeginTransactionAsync(cancellationToken).ConfigureAwait(false);
        await using (transaction.ConfigureAwait(false)) // not committed: rolled back
        {
            InboxResult result =
                await ProcessOnceAsync(key, transaction, cancellationToken).ConfigureAwait(false);
            if (result.Proceed)
                await process(transaction, cancellationToken).ConfigureAwait(false);
            await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
            return result;
        }
    }

    // ---- states by key ----------------------------------------------------------------------

    public Task MarkProcessingAsync(
        InboxKey key, DbTransaction? transaction, CancellationToken cancellationToken) =>
        Mark(key, wp_inbox_mark.WP_INBOX_MARK_PROCESSING, null, transaction, cancellationToken);

    public Task MarkProcessingAsync(
        string messageId, string source, CancellationToken cancellationToken) =>
        MarkProcessingAsync(new InboxKey(messageId, source), null, cancellationToken);

    public Task MarkProcessedAsync(
        InboxKey key, DbTransaction? transaction, CancellationToken cancellationToken) =>
        Mark(key, wp_inbox_mark.WP_INBOX_MARK_PROCESSED, null, transaction, cancellationToken);

    public Task MarkProcessedAsync(
        string messageId, string source, CancellationToken cancellationToken) =>
        MarkProcessedAsync(new InboxKey(messageId, source), null, cancellationToken);

    public Task MarkDeadAsync(
        InboxKey key, string? reason, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        Mark(key, wp_inbox_mark.WP_INBOX_MARK_DEAD, reason, transaction, cancellationToken);

    public Task MarkDeadAsync(
        string messageId, string source, CancellationToken cancellationToken) =>
        MarkDeadAsync(new InboxKey(messageId, source), null, null, cancellationToken);

    public Task ReviveAsync(
        InboxKey key, DbTransaction? transaction, CancellationToken cancellationToken) =>
        Mark(key, wp_inbox_mark.WP_INBOX_MARK_REVIVED, null, transaction, cancellationToken);

    private Task Mark(
        InboxKey key, wp_inbox_mark mark, string? reason, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(() => Store.InboxMark(key, mark, reason), cancellationToken)
            : OnApps(transaction, () => Store.InboxMarkOperation(key, mark, reason), _ => true,
                     cancellationToken);

    // ---- by hand, and looking ---------------------------------------------------------------

    public Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<InboxMessage> messages, string? lastError, TimeSpan? delay,
        DbTransaction transaction, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(transaction);
        return Abandon(ownerToken, new Claimed(messages), lastError, delay, transaction,
                       cancellationToken);
    }

    public Task<long> FailAsync(
        Guid ownerToken, IEnumerable<InboxMessage> messages, string error, DbTransaction transaction,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(error);
        ArgumentNullException.ThrowIfNull(transaction);
        return Finish(wpn_finishing.WPN_FAIL, ownerToken, new Claimed(messages), cancellationToken,
                      error, transaction: transaction);
    }

    public Task<OutboxMessageInfo?> FindAsync(InboxKey key, CancellationToken cancellationToken) =>
        Own(() => Store.InboxFind(key), cancellationToken);

    public async Task<OutboxMessageInfo> GetAsync(InboxKey key, CancellationToken cancellationToken) =>
        await FindAsync(key, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"the inbox does not know {key}", default);

    public Task<OutboxMessageInfo> GetAsync(
        string messageId, string source, CancellationToken cancellationToken) =>
        GetAsync(new InboxKey(messageId, source), cancellationToken);

    public InboxCounters Counters => new(
        Store.InboxCounter(wp_inbox_counter_id.WP_INBOX_COUNTER_CHECKED),
        Store.InboxCounter(wp_inbox_counter_id.WP_INBOX_COUNTER_ENQUEUED),
        Store.InboxCounter(wp_inbox_counter_id.WP_INBOX_COUNTER_DUPLICATES),
        Store.InboxCounter(wp_inbox_counter_id.WP_INBOX_COUNTER_MISMATCHES));
}
