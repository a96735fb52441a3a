// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;

namespace Waypost.Interop;

internal sealed unsafe class LeaseInfoHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_lease_info_free(pointer);

    public LeaseInfo Read() => new(
        Native.wp_lease_info_granted(this) != 0,
        Native.wp_lease_info_fence(this),
        Times.FromUs(Native.wp_lease_info_until_us(this)),
        Times.FromUs(Native.wp_lease_info_now_us(this)),
        Utf8.Text(Native.wp_lease_info_owner(this)),
        Native.wp_lease_info_limit(this),
        Native.wp_lease_info_holders(this));

    public TimeSpan RetryAfter(uint attempt) =>
        TimeSpan.FromMilliseconds(Native.wp_lease_retry_ms(this, attempt));
}

internal sealed unsafe class LeasesHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_leases_free(pointer);

    /// <summary>The name of the last one on the page; null: there is none.</summary>
    public string? Last => Native.wp_leases_count(this) is var count and > 0
        ? Utf8.Text(Native.wp_leases_name(this, count - 1))
        : null;

    public ListedLease[] Entries()
    {
        var leases = new ListedLease[(int)Native.wp_leases_count(this)];
        for (int i = 0; i < leases.Length; i++)
        {
            nuint at = (nuint)i;
            leases[i] = new ListedLease(
                Utf8.Text(Native.wp_leases_name(this, at)),
                Utf8.OptionalText(Native.wp_leases_owner(this, at)),
                Times.FromOptionalUs(Native.wp_leases_until_us(this, at)),
                Native.wp_leases_limit(this, at),
                Native.wp_leases_holders(this, at));
        }
        return leases;
    }
}

internal sealed unsafe class LeaseHandle : Handle
{
    private bool _ended;

    /// <summary>One that was forgotten is released on the pool: the thread that collects it must not
    /// wait for a database.</summary>
    protected override void Free(nint pointer)
    {
        if (_ended)
            Native.wp_lease_free(pointer);
        else
            ThreadPool.UnsafeQueueUserWorkItem(Native.wp_lease_free, pointer, preferLocal: false);
    }

    public string Name => Utf8.Text(Native.wp_lease_name(this));
    public string Owner => Utf8.Text(Native.wp_lease_owner(this));
    public long Fence => Native.wp_lease_fence(this);
    public long RemainingMs => Native.wp_lease_remaining_ms(this);

    public wp_status Status => Native.wp_lease_check(this, null);

    public void Check()
    {
        nint error = 0;
        Failure.Check(Native.wp_lease_check(this, &error), error);
    }

    public void Renew()
    {
        nint error = 0;
        Failure.Check(Native.wp_lease_renew_now(this, &error), error);
    }

    public void End()
    {
        nint error = 0;
        wp_status status = Native.wp_lease_end(this, &error);
        _ended = true;
        Failure.Check(status, error);
    }
}

/// <summary>Tells the holders of a core store's leases when they are lost, on a thread that is there while
/// any are held; and those who wait when one is released.</summary>
internal sealed unsafe class LeaseWatch
{
    private const long WaitMs = 10_000;

    private static readonly Dictionary<nint, WeakReference<LeaseWatch>> OfStores = [];

    private readonly ConcurrentDictionary<nint, WeakReference<Lease>> _held = new();
    private readonly object _gate = new();
    private bool _running;

    /// <summary>The one of a core store, which tells each loss once, to one caller. A later store at the same
    /// address may get it, too: it is idle then.</summary>
    public static LeaseWatch Of(StoreHandle store)
    {
        lock (OfStores)
        {
            if (OfStores.TryGetValue(store.Pointer, out WeakReference<LeaseWatch>? known)
                && known.TryGetTarget(out LeaseWatch? watch))
                return watch;
            foreach (nint key in OfStores.Keys.ToArray())
                if (!OfStores[key].TryGetTarget(out _))
                    OfStores.Remove(key);
            watch = new LeaseWatch();
            OfStores[store.Pointer] = new WeakReference<LeaseWatch>(watch);
            return watch;
        }
    }

    public Turns Turns { get; } = new();

    public void Add(nint key, Lease lease, StoreHandle store)
    {
        _held[key] = new WeakReference<Lease>(lease);
        lock (_gate)
        {
            if (_running)
                return;
            _running = true;
            StoreHandle kept = Native.wp_store_ref(store); // leases outlive the app's
            new Thread(() => Watch(kept)) { Name = "waypost-leases", IsBackground = true }.UnsafeStart();
        }
    }

    public void Remove(nint key) => _held.TryRemove(key, out _);

    private void Watch(StoreHandle kept)
    {
        using (kept)
        {
            while (true)
            {
                wp_status status = Native.wp_lease_next_lost(out LeaseHandle lost, kept, WaitMs, null);
                if (status == wp_status.WP_OK)
                    Tell(lost);
                else if (status == wp_status.WP_E_STOPPED && Ends())
                    return;
                else if (status != wp_status.WP_E_TIMEOUT)
                    Thread.Sleep(10); // one that is being acquired
            }
        }
    }

    private bool Ends()
    {
        lock (_gate)
        {
            foreach ((nint key, WeakReference<Lease> lease) in _held)
                if (!lease.TryGetTarget(out _))
                    Remove(key);
            _running = !_held.IsEmpty;
            return !_running;
        }
    }

    private void Tell(LeaseHandle lost)
    {
        using (lost) // while it is held, its address is nobody else's
        {
            if (_held.TryRemove(lost.Pointer, out WeakReference<Lease>? known)
                && known.TryGetTarget(out Lease? lease))
                lease.SetLost();
        }
    }
}

/// <summary>Leases and semaphores.</summary>
internal sealed unsafe partial class StoreHandle
{
    public LeasesHandle Leases(wp_lease_kind kind, LeasesHandle? after, long limit)
    {
        nint error = 0;
        LeasesHandle page;
        fixed (byte* name = Utf8.OptionalName(nameof(after), after?.Last))
            Failure.Check(Native.wp_lease_list(out page, this, kind, name, limit, &error), error);
        return page;
    }

    private LeaseWatch? _watch;

    /// <summary>Of all that are held by this store.</summary>
    public LeaseWatch LeaseWatch => LazyInitializer.EnsureInitialized(ref _watch, () => LeaseWatch.Of(this));

    /// <summary>How long to wait after an error that may pass.</summary>
    public static TimeSpan LeaseRetryAfterError(uint attempt)
    {
        using var none = new LeaseInfoHandle();
        return none.RetryAfter(attempt);
    }

    /// <summary>Null: it was refused, for the reason that is given.</summary>
    public LeaseHandle? LeaseHold(
        wp_lease_kind kind, string name, string? owner, long durationMs, out LeaseInfoHandle refused)
    {
        nint error = 0;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.OptionalName(nameof(owner), owner))
        {
            wp_status status = Native.wp_lease_hold(
                out LeaseHandle lease, out refused, this, kind, n, o, durationMs, 0, &error);
            if (status == wp_status.WP_E_TIMEOUT)
            {
                Native.wp_error_free(error);
                return null;
            }
            Failure.Check(status, error);
            return lease;
        }
    }

    public LeaseInfo LeaseAcquire(wp_lease_kind kind, string name, string owner, long durationMs)
    {
        nint error = 0;
        LeaseInfoHandle info;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_acquire(out info, this, 0, kind, n, o, durationMs, &error), error);
        return Take(info);
    }

    public OperationHandle LeaseAcquireOperation(
        wp_lease_kind kind, string name, string owner, long durationMs)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_acquire_op(out operation, this, kind, n, o, durationMs, &error), error);
        return operation;
    }

    public LeaseInfo LeaseRenew(
        wp_lease_kind kind, string name, string owner, long fence, long durationMs)
    {
        nint error = 0;
        LeaseInfoHandle info;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_renew(out info, this, 0, kind, n, o, fence, durationMs, &error), error);
        return Take(info);
    }

    public OperationHandle LeaseRenewOperation(
        wp_lease_kind kind, string name, string owner, long fence, long durationMs)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_renew_op(out operation, this, kind, n, o, fence, durationMs, &error),
                error);
        return operation;
    }

    public bool LeaseRelease(wp_lease_kind kind, string name, string owner, long fence)
    {
        nint error = 0;
        int released = 0;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_release(&released, this, 0, kind, n, o, fence, &error), error);
        return released != 0;
    }

    public OperationHandle LeaseReleaseOperation(
        wp_lease_kind kind, string name, string owner, long fence)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* n = Utf8.Name(nameof(name), name), o = Utf8.Name(nameof(owner), owner))
            Failure.Check(
                Native.wp_lease_release_op(out operation, this, kind, n, o, fence, &error), error);
        return operation;
    }

    public LeaseInfo LeaseGet(wp_lease_kind kind, string name)
    {
        nint error = 0;
        LeaseInfoHandle info;
        fixed (byte* n = Utf8.Name(nameof(name), name))
            Failure.Check(Native.wp_lease_get(out info, this, 0, kind, n, &error), error);
        return Take(info);
    }

    public OperationHandle LeaseGetOperation(wp_lease_kind kind, string name)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* n = Utf8.Name(nameof(name), name))
            Failure.Check(Native.wp_lease_get_op(out operation, this, kind, n, &error), error);
        return operation;
    }

    public void SemaphoreSetLimit(string name, long limit)
    {
        nint error = 0;
        fixed (byte* n = Utf8.Name(nameof(name), name))
            Failure.Check(Native.wp_semaphore_set_limit(this, 0, n, limit, &error), error);
    }

    public OperationHandle SemaphoreSetLimitOperation(string name, long limit)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* n = Utf8.Name(nameof(name), name))
            Failure.Check(
                Native.wp_semaphore_set_limit_op(out operation, this, n, limit, &error), error);
        return operation;
    }

    public long LeaseCleanup(long keepMs)
    {
        nint error = 0;
        nuint removed = 0;
        Failure.Check(Native.wp_lease_cleanup(&removed, this, keepMs, &error), error);
        return (long)removed;
    }

    public long LeaseCounter(wp_lease_counter counter) => Native.wp_lease_counter_read(this, counter);

    private static LeaseInfo Take(LeaseInfoHandle info)
    {
        using (info)
            return info.Read();
    }
}
