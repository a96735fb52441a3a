// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>What is left in a queue, or in all.</summary>
internal class DeadLetters(StoreHandle store, wp_source queue) : IDeadLetters
{
    protected StoreHandle Store => store;
    protected wp_source Queue => queue;

    public Task<Page<OutboxMessageInfo>> ListDeadLettersAsync(
        DeadLetterFilter? filter, Page<OutboxMessageInfo>? after, int limit,
        CancellationToken cancellationToken) =>
        Own(() => Page<OutboxMessageInfo>.Read<DeadListHandle>(
                after, place => store.DeadList(queue, filter, place, limit), list => list.Messages()),
            cancellationToken);

    public Task<long> ReplayDeadLettersAsync(
        DeadLetterFilter? filter, long limit, long perSecond, string? by,
        CancellationToken cancellationToken) =>
        Own(() => store.DeadReplay(queue, filter, limit, perSecond, by), cancellationToken);

    public Task<long> PurgeDeadLettersAsync(
        DeadLetterFilter? filter, long limit, string? by, CancellationToken cancellationToken) =>
        Own(() => store.DeadPurge(queue, filter, limit, by), cancellationToken);

    public Task<long> CleanupAsync(TimeSpan olderThan, CancellationToken cancellationToken) =>
        Own(() => store.Cleanup(queue, Times.ToMs(olderThan)), cancellationToken);

    /// <summary>On the core's own connections, whose calls block.</summary>
    protected static Task<T> Own<T>(Func<T> call, CancellationToken cancellationToken) =>
        Task.Run(call, cancellationToken);
}
