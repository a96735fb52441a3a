// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>
/// Leases: who may do what only one may do at a time. Thread-safe. Names and owners have 1 to 255
/// characters (UTF-16 code units) and compare byte for byte; the database's clock decides what has expired.
/// </summary>
public interface ILeases
{
    /// <summary>Acquire a lease, wait for it if need be, and keep it: it renews itself until it is disposed
    /// of.</summary>
    /// <param name="name">What only one may hold.</param>
    /// <param name="duration">100 ms to a day: after which others may have it if this process dies.</param>
    /// <param name="wait">How long to wait for its holder; zero: not at all;
    /// <see cref="Timeout.InfiniteTimeSpan"/>: for ever.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="owner">Null: one of its own, that nobody else has.</param>
    /// <exception cref="LeaseHeldException">Another one holds it; says who.</exception>
    Task<Lease> AcquireAsync(
        string name, TimeSpan duration, TimeSpan wait = default,
        CancellationToken cancellationToken = default, string? owner = null);

    /// <summary>The same without waiting; null: another one holds it.</summary>
    Task<Lease?> TryAcquireAsync(
        string name, TimeSpan duration, CancellationToken cancellationToken = default);

    /// <summary>Do work while nobody else does it: acquire, work, release. If the lease was lost by the time the
    /// work returned or was cancelled, acquire it again and begin anew. One process of many is the leader.
    /// Errors of the database that may pass are waited out like a holder.</summary>
    /// <param name="name">What only one may hold.</param>
    /// <param name="duration">Of the lease.</param>
    /// <param name="work">Its token is cancelled when the lease is lost: it ends then, within the guard interval
    /// (<c>lease.guard_percent</c> of the duration), before anyone else can lead. What it throws ends this
    /// call, unless it was cancelled because of that.</param>
    /// <param name="cancellationToken">Ends the wait, and cancels the work.</param>
    Task RunAsLeaderAsync(
        string name, TimeSpan duration, Func<Lease, CancellationToken, Task> work,
        CancellationToken cancellationToken = default);

    // ---- by hand, and in the app's transaction --------------------------------------------------

    /// <summary>Acquire a name if it is free, expired, or the owner's already. In the app's transaction it is
    /// held when that commits; until then others who want it wait for the transaction.</summary>
    /// <param name="name">What only one may hold.</param>
    /// <param name="owner">Who acquires. Who acquires what he holds gets a new fence.</param>
    /// <param name="duration">1 ms to a day.</param>
    /// <param name="transaction">The app's.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    /// <returns>Also where it was refused: see <see cref="LeaseInfo.Granted"/>.</returns>
    Task<LeaseInfo> AcquireOnceAsync(
        string name, string owner, TimeSpan duration, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Extend it, from now on, if it is still held.</summary>
    /// <param name="name">The name.</param>
    /// <param name="owner">Its holder.</param>
    /// <param name="fence">That of the acquisition; 0: whichever one the owner has.</param>
    /// <param name="duration">1 ms to a day.</param>
    /// <param name="transaction">The app's.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    /// <exception cref="LeaseLostException">Expired, released, or another's; nothing was
    /// changed.</exception>
    Task<LeaseInfo> RenewAsync(
        string name, string owner, long fence, TimeSpan duration, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Free it at once; false: it was not held any more.</summary>
    Task<bool> ReleaseAsync(
        string name, string owner, long fence = 0, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Ask who holds it.</summary>
    /// <exception cref="NotFoundException">Nobody has held the name lately; no such semaphore.</exception>
    Task<LeaseInfo> GetAsync(
        string name, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>List all that there are by name, also those that nobody holds.</summary>
    /// <param name="after">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<ListedLease>> ListAsync(
        Page<ListedLease>? after = null, int limit = 100, CancellationToken cancellationToken = default);

    /// <summary>Delete what expired or was released this long ago or earlier; gives how many. Programs that
    /// hold leases do it by themselves now and then.</summary>
    Task<long> CleanupAsync(TimeSpan keep, CancellationToken cancellationToken = default);

    /// <summary>What the store counts of the leases and slots that it keeps.</summary>
    LeaseCounters Counters { get; }
}

/// <summary>Semaphores: what only so many may hold at a time. A slot is a lease like any other; a semaphore
/// knows its holders by their owner, the request for a slot.</summary>
public interface ISemaphores : ILeases
{
    /// <summary>Make a semaphore, or change its limit. A lower one ends nobody's hold: there are no new
    /// holders until there are fewer than it.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="limit">0 (nobody) to 1,000,000.</param>
    /// <param name="transaction">The app's.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    Task SetLimitAsync(
        string name, long limit, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);
}
