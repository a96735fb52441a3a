// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

internal sealed class Outbox(StoreHandle store, string engine)
    : WorkQueue<OutboxMessage>(store, engine, wp_source.WP_SOURCE_OUTBOX), IOutbox
{
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
        await Tracing.SendAsync<NewOutboxMessage, IReadOnlyList<EnqueueResult>>(
            WaypostQueue.Outbox, messages, message => message, async messages => transaction is null
                ? await Own(() => Store.Enqueue(messages), cancellationToken).ConfigureAwait(false)
                : await OnApps(transaction, () => Store.EnqueueOperation(messages), op => op.Results(),
                               cancellationToken).ConfigureAwait(false)).ConfigureAwait(false);

    public async Task<IReadOnlyList<EnqueueResult>> EnqueueManyAsync(
        IEnumerable<NewOutboxMessage> messages, DbConnection connection,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return await Tracing.SendAsync<NewOutboxMessage, IReadOnlyList<EnqueueResult>>(
            WaypostQueue.Outbox, messages, message => message, async messages => await OnApps(
                connection, null, () => Store.EnqueueOperation(messages), op => op.Results(),
                cancellationToken).ConfigureAwait(false)).ConfigureAwait(false);
    }
}
