// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using System.Diagnostics;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Waypost.Interop;

namespace Waypost;

internal sealed class Leases(StoreHandle store, string engine, wp_lease_kind kind, ILogger? logger)
    : ISemaphores
{
    private readonly ILogger _logger = logger ?? NullLogger.Instance;

    // ---- kept -------------------------------------------------------------------------------

    public Task<Lease> AcquireAsync(
        string name, TimeSpan duration, TimeSpan wait, CancellationToken cancellationToken,
        string? owner) =>
        AcquireAsync(name, duration, wait, owner, patient: false, cancellationToken);

    /// <summary>With patience also for errors that may pass.</summary>
    private async Task<Lease> AcquireAsync(
        string name, TimeSpan duration, TimeSpan wait, string? owner, bool patient,
        CancellationToken cancellationToken)
    {
        long waitMs = Times.WaitMs(wait);
        owner ??= WaypostStore.NewId().ToString(); // of all tries: what one acquired whose answer was lost is the next one's
        var watch = Stopwatch.StartNew();
        using var turn = new Turn(store.LeaseWatch.Turns, (kind, name));
        for (uint attempt = 0; ; attempt++)
        {
            turn.Take();
            TimeSpan pause;
            try
            {
                (Lease? lease, LeaseInfoHandle refused) =
                    await Task.Run(() => Hold(name, owner, duration), cancellationToken).ConfigureAwait(false);
                using (refused)
                {
                    if (lease is not null)
                        return lease;
                    if (waitMs >= 0 && watch.ElapsedMilliseconds >= waitMs)
                        throw new LeaseHeldException(name, refused.Read());
                    pause = refused.RetryAfter(attempt);
                }
            }
            catch (WaypostException e) when (patient && e.IsRetriable)
            {
                if (_logger.IsEnabled(LogLevel.Warning))
                    _logger.LogWarning(e, "Leader of {Lease} could not be elected, will try again", name);
                pause = StoreHandle.LeaseRetryAfterError(attempt);
            }
            TimeSpan left = TimeSpan.FromMilliseconds(waitMs) - watch.Elapsed;
            if (waitMs >= 0 && left < pause)
                pause = left > TimeSpan.Zero ? left : TimeSpan.Zero;
            await turn.WaitAsync(pause, cancellationToken).ConfigureAwait(false);
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
        return (handle is null ? null : new Lease(handle, store, kind), refused);
    }

    public async Task RunAsLeaderAsync(
        string name, TimeSpan duration, Func<Lease, CancellationToken, Task> work,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(work);
        while (true)
        {
            Lease lease = await AcquireAsync(
                name, duration, Timeout.InfiniteTimeSpan, null, patient: true, cancellationToken)
                .ConfigureAwait(false);
            await using (lease.ConfigureAwait(false))
            {
                using var stop = CancellationTokenSource.CreateLinkedTokenSource(
                    lease.Lost, cancellationToken);
                try
                {
                    await work(lease, stop.Token).ConfigureAwait(false);
                    if (!lease.IsLost)
                        return;
                    cancellationToken.ThrowIfCancellationRequested();
                }
                catch (Exception e) when (e is OperationCanceledException or LeaseLostException
                                          && lease.IsLost && !cancellationToken.IsCancellationRequested)
                {
                    // Another one may lead now.
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

    public Task<Page<ListedLease>> ListAsync(
        Page<ListedLease>? after, int limit, CancellationToken cancellationToken) =>
        Task.Run(() => Page<ListedLease>.Read<LeasesHandle>(
                after, place => store.Leases(kind, place, limit), list => list.Entries()),
            cancellationToken);

    public Task<long> CleanupAsync(TimeSpan keep, CancellationToken cancellationToken) =>
        Task.Run(() => store.LeaseCleanup(Times.ToMs(keep)), cancellationToken);

    public LeaseCounters Counters => new(
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_HELD),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_RENEWED),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_LOST),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_ERRORS),
        store.LeaseCounter(wp_lease_counter.WP_LEASE_COUNTER_BATCHES));
}
