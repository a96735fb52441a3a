// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// A lease that renews itself, or a semaphore's slot. Thread-safe. Dispose of it to release it; one that is
/// forgotten is released some time after it was collected.
/// <para>When it was lost (another one took it, or it could not be renewed in time),
/// <see cref="Lost"/> is cancelled and every check refuses, once and for all, before anyone else can hold
/// it. A process that was suspended between its last check and its write is stopped by nothing: give
/// <see cref="Fence"/> along with every write, and refuse a smaller one than the last.</para>
/// </summary>
public sealed class Lease : IAsyncDisposable, IDisposable
{
    private readonly LeaseHandle _handle;
    private readonly LeaseWatch _watch;
    private readonly CancellationTokenSource _lost = new();
    private readonly nint _key;
    private readonly wp_lease_kind _kind;

    internal Lease(LeaseHandle handle, StoreHandle store, wp_lease_kind kind)
    {
        (_handle, _watch, _key, _kind) = (handle, store.LeaseWatch, handle.Pointer, kind);
        (Name, Owner, Fence, Lost) = (handle.Name, handle.Owner, handle.Fence, _lost.Token);
        _watch.Add(_key, this, store);
        if (_handle.Status != wp_status.WP_E_LEASE_LOST)
            return;
        _watch.Remove(_key); // lost before it was known here
        SetLost();
    }

    /// <summary>What is held.</summary>
    public string Name { get; }

    /// <summary>Who holds it.</summary>
    public string Owner { get; }

    /// <summary>The number of this acquisition: greater than that of every earlier one of the name.</summary>
    public long Fence { get; }

    /// <summary>Cancelled when it is lost. Not when it is released.</summary>
    public CancellationToken Lost { get; }

    /// <summary>Whether work under it may go on. No I/O.</summary>
    public bool IsHeld => Ask(handle => handle.Status == wp_status.WP_OK);

    /// <summary>How long work may go on if it cannot be renewed; zero: lost or released.</summary>
    public TimeSpan Remaining => Ask(handle => TimeSpan.FromMilliseconds(handle.RemainingMs));

    /// <summary>Of one that was released: no, none.</summary>
    private T Ask<T>(Func<LeaseHandle, T> question) where T : struct
    {
        try
        {
            return question(_handle);
        }
        catch (ObjectDisposedException)
        {
            return default;
        }
    }

    /// <summary>Before each step of the work. No I/O.</summary>
    /// <exception cref="LeaseLostException">Stop the work.</exception>
    /// <exception cref="ObjectDisposedException">It was released.</exception>
    public void ThrowIfLost() => Open.Check();

    /// <summary>Renew it now, to its whole duration.</summary>
    /// <exception cref="LeaseLostException">Stop the work.</exception>
    public Task RenewAsync(CancellationToken cancellationToken = default) =>
        Task.Run(() => Open.Renew(), cancellationToken);

    private LeaseHandle Open
    {
        get
        {
            ObjectDisposedException.ThrowIf(_handle.IsClosed, this);
            return _handle;
        }
    }

    internal void SetLost() => _ = _lost.CancelAsync(); // the app's callbacks run on the pool

    /// <summary>Free it for others. Only the first call does anything. Where the database cannot be reached,
    /// it expires.</summary>
    public async ValueTask DisposeAsync()
    {
        if (!_handle.IsClosed)
            await Task.Run(Release).ConfigureAwait(false);
    }

    /// <summary>The same, on the calling thread.</summary>
    public void Dispose()
    {
        if (!_handle.IsClosed)
            Release();
    }

    private void Release()
    {
        _watch.Remove(_key);
        try
        {
            _handle.End();
        }
        catch (Exception e) when (e is WaypostException or ObjectDisposedException)
        {
            // It expires; or another thread released it at the same time.
        }
        _handle.Dispose();
        _watch.Turns.Next((_kind, Name));
    }

    /// <summary>Whether it was lost, not released.</summary>
    internal bool IsLost => Ask(handle => handle.Status == wp_status.WP_E_LEASE_LOST);

    /// <summary>The name and the fence.</summary>
    public override string ToString() => $"{Name} {Fence}";
}

/// <summary>A lease or a semaphore in a list, also one that nobody holds.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Owner">Who holds the lease, or held it last; null: nobody, or it is a semaphore.</param>
/// <param name="UntilUtc">Until when it is held, or was; of a semaphore the first of its holders. Null: it has
/// none.</param>
/// <param name="Limit">How many may hold it: 1, or the semaphore's limit.</param>
/// <param name="Holders">How many hold it.</param>
public sealed record ListedLease(
    string Name, string? Owner, DateTimeOffset? UntilUtc, long Limit, long Holders);

/// <summary>What a call about a lease found or did.</summary>
/// <param name="Granted">The call acquired or renewed it; false: it was refused, or only asked.</param>
/// <param name="Fence">The number of the acquisition; 0: of a semaphore that was not granted.</param>
/// <param name="UntilUtc">When it ends unless renewed, by the database's clock. Refused: when the holder's
/// ends, of a semaphore the first one's; not after <paramref name="NowUtc"/>: nobody holds it.</param>
/// <param name="NowUtc">The database's time of the call.</param>
/// <param name="Owner">Who holds it, or held it last; empty: nobody, or a semaphore's holders.</param>
/// <param name="Limit">How many may hold it; 0 after a renewal of a slot.</param>
/// <param name="Holders">How many hold it; 0 after a renewal of a slot.</param>
public sealed record LeaseInfo(
    bool Granted, long Fence, DateTimeOffset UntilUtc, DateTimeOffset NowUtc, string Owner, long Limit,
    long Holders);

/// <summary>What a store counts of the leases that it keeps.</summary>
/// <param name="Held">Held now.</param>
/// <param name="Renewed">Renewals that succeeded.</param>
/// <param name="Lost">Leases that were lost.</param>
/// <param name="Errors">Renewals that failed, to be tried again.</param>
/// <param name="Batches">Statements sent to renew: one renews many leases.</param>
public readonly record struct LeaseCounters(long Held, long Renewed, long Lost, long Errors, long Batches);

/// <summary>Another one holds it, and the time to wait was up. Nothing was changed.</summary>
public sealed class LeaseHeldException : TimeoutException
{
    internal LeaseHeldException(string name, LeaseInfo holder)
        : base(holder.Owner.Length > 0
                   ? $"\"{name}\" is held by {holder.Owner} until {holder.UntilUtc:O}"
                   : $"\"{name}\" has {holder.Holders} holders of {holder.Limit}") =>
        Holder = holder;

    /// <summary>Who has it, and until when.</summary>
    public LeaseInfo Holder { get; }
}
