// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using System.Diagnostics;
using Waypost.Interop;

namespace Waypost;

internal sealed class Leases(StoreHandle store, string engine, wp_lease_kind kind) : ISemaphores
{
    // ---- kept -------------------------------------------------------------------------------

    public async Task<Lease> AcquireAsync(
        string name, TimeSpan duration, TimeSpan wait, CancellationToken cancellationToken,
        string? owner)
    {
        long waitMs = Times.WaitMs(wait);
        var watch = Stopwatch.StartNew();
        for (uint attempt = 0; ; attempt++)
        {
            (Lease? lease, LeaseInfoHandle refused) =
                await Task.Run(() => Hold(name, owner, duration), cancellationToken).ConfigureAwait(false);
            using (refused)
            {
                if (lease is not null)
                    return lease;
                TimeSpan pause = refused.RetryAfter(attempt);
                TimeSpan left = TimeSpan.FromMilliseconds(waitMs) - watch.Elapsed;
                if (waitMs >= 0 && left <= TimeSpan.Zero)
                    throw new LeaseHeldException(name, refused.Read());
                await Task.Delay(waitMs < 0 || pause < left ? pause : left, cancellationToken)
                    .ConfigureAwait(false);
            }
        }
    }

    public Task<Lease?> TryAcquireAsync(
        string name, TimeSpan duration, CancellationToken cancellationToken) =>
        Task.Run(() =>
        {
            (Lease? lease, LeaseInfoHandle refused) = Hold(name, null, duration);
            refused.Dispose();
            return lease;
        }, cancellationToken);

    private (Lease?, LeaseInfoHandle) Hold(string name, string? owner, TimeSpan duration)
    {
        LeaseHandle? handle = store.LeaseHold(
            kind, name, owner, Times.ToMs(duration), out LeaseInfoHandle refused);
        return (handle is null ? null : new Lease(handle, store.LeaseWatch), refused);
    }

    public async Task RunAsLeaderAsync(
        string name, TimeSpan duration, Func<Lease, CancellationToken, Task> work,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(work);
        while (true)
        {
            Lease lease = await AcquireAsync(
                name, duration, Timeout.InfiniteTimeSpan, cancellationToken, null).ConfigureAwait(false);
            await using (lease.ConfigureAwait(false))
            {
                using var stop = CancellationTokenSource.CreateLinkedTokenSource(
                    lease.Lost, cancellationToken);
                try
                {
                    await work(lease, stop.Token).ConfigureAwait(false);
                    return;
                }
                catch (Exception e) when (e is OperationCanceledException or LeaseLostException
                                          && !lease.IsHeld && !cancellationToken.IsCancellationRequested)
                {
                    // Lost: another one leads now.
                }
            }
        }
    }

    // ---- by hand ----------------------------------------------------------------------------

    public Task<LeaseInfo> AcquireOnceAsync(
        string name, string owner, TimeSpan duration, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(() => store.LeaseAcquire(kind, name, owner, Times.ToMs(duration)), cancellationToken)
            : OnApps.RunAsync(
                transaction, engine, store.LeaseAcquireOperation(kind, name, owner, Times.ToMs(duration)),
                op => op.ResultLease(), cancellationToken);

    public Task<LeaseInfo> RenewAsync(
        string name, string owner, long fence, TimeSpan duration, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(
                () => store.LeaseRenew(kind, name, owner, fence, Times.ToMs(duration)), cancellationToken)
            : OnApps.RunAsync(
                transaction, engine, store.LeaseRenewOperation(kind, name, owner, fence, Times.ToMs(duration)),
                op => op.ResultLease(), cancellationToken);

    public Task<bool> ReleaseAsync(
        string name, string owner, long fence, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(() => store.LeaseRelease(kind, name, owner, fence), cancellationToken)
            : OnApps.RunAsync(
                transaction, engine, store.LeaseReleaseOperation(kind, name, owner, fence),
                op => op.ResultCount > 0, cancellationToken);

    public Task<LeaseInfo> GetAsync(
        string name, DbTransaction? transaction, CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(() => store.LeaseGet(kind, name), cancellationToken)
            : OnApps.RunAsync(
                transaction, engine, store.LeaseGetOperation(kind, name),
                op => op.ResultLease(), cancellationToken);

    public Task SetLimitAsync(
        string name, long limit, DbTransaction? transaction, CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(() => store.SemaphoreSetLimit(name, limit), cancellationToken)
            : OnApps.RunAsync(
                transaction, engine, store.SemaphoreSetLimitOperation(name, limit),
                _ => true, cancellationToken);

    public Task<long> CleanupAsync(TimeSpan keep, CancellationToken cancellationToken) =>
        Task.Run(() => store.LeaseCleanup(Times.ToMs(keep)), cancellationToken);

    public LeaseCounters Counters => new(
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_HELD),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_RENEWED),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_LOST),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_ERRORS),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_BATCHES));
}
