// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;

namespace Waypost.Interop;

internal sealed unsafe class WorkerHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_worker_free(pointer);

    public static WorkerHandle New(StoreHandle store, ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(Native.wp_worker_new(out WorkerHandle handle, store, config, &error), error);
        return handle;
    }

    public static WorkerHandle New(RouterHandle router, ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_worker_new_on_router(out WorkerHandle handle, router, config, &error), error);
        return handle;
    }

    public void AddStore(StoreHandle store, string id)
    {
        nint error = 0;
        fixed (byte* name = Utf8.Name(nameof(id), id))
            Failure.Check(Native.wp_worker_add_store(this, store, name, &error), error);
    }

    public long RemoveStore(string id, long deadlineMs)
    {
        nint error = 0;
        nuint abandoned = 0;
        fixed (byte* name = Utf8.Name(nameof(id), id))
            Failure.Check(
                Native.wp_worker_remove_store(&abandoned, this, name, deadlineMs, &error), error);
        return (long)abandoned;
    }

    public void SetSelector(IOutboxSelectionStrategy strategy, ILogger logger)
    {
        Func<IReadOnlyList<StoreCandidate>, string?> select = candidates =>
        {
            try
            {
                return strategy.SelectNext(candidates);
            }
            catch (Exception e)
            {
                logger.LogError(e, "The selection strategy failed");
                return null;
            }
        };
        nint user = GCHandle.ToIntPtr(GCHandle.Alloc(select));
        delegate* unmanaged[Cdecl]<nint, nint, nuint> call = &OnSelect;
        delegate* unmanaged[Cdecl]<nint, void> destroy = &ConfigHandle.OnDestroy;
        nint error = 0;
        Failure.Check(
            Native.wp_worker_set_selector(this, (nint)call, user, (nint)destroy, &error), error);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static nuint OnSelect(nint list, nint user)
    {
        try
        {
            var select =
                (Func<IReadOnlyList<StoreCandidate>, string?>)GCHandle.FromIntPtr(user).Target!;
            var candidates = new StoreCandidate[(int)Native.wp_candidates_count(list)];
            for (int i = 0; i < candidates.Length; i++)
                candidates[i] = new StoreCandidate(
                    Utf8.Text(Native.wp_candidates_store_id(list, (nuint)i)),
                    (long)Native.wp_candidates_ready(list, (nuint)i),
                    (long)Native.wp_candidates_running(list, (nuint)i));
            string? chosen = select(candidates);
            return (nuint)Array.FindIndex(candidates, candidate => candidate.StoreId == chosen);
        }
        catch (Exception)
        {
            return nuint.MaxValue; // nothing unwinds through C
        }
    }

    public long Counter(string storeId, wp_counter counter)
    {
        fixed (byte* id = Utf8.Name(nameof(storeId), storeId))
            return Native.wp_worker_store_counter(this, id, counter);
    }

    /// <summary>Register a topic. `dispatch` runs its handler where the core asks for it, inside
    /// Drain() and Step(), and returns the outcome; deliveries of Next() do not go through it.</summary>
    public void Handle(wp_source queue, string topic, Func<OutboxDelivery, wp_outcome>? dispatch)
    {
        nint error = 0;
        byte[] name = Utf8.Name(nameof(topic), topic);
        nint user = dispatch is null ? 0 : GCHandle.ToIntPtr(GCHandle.Alloc(dispatch));
        delegate* unmanaged[Cdecl]<nint, nint, int> handle = &OnDelivery;
        delegate* unmanaged[Cdecl]<nint, void> destroy = &ConfigHandle.OnDestroy;
        fixed (byte* t = name)
            Failure.Check(
                Native.wp_worker_handle(this, queue, t,
                                        dispatch is null ? 0 : (nint)handle, user,
                                        dispatch is null ? 0 : (nint)destroy, &error), error);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int OnDelivery(nint delivery, nint user)
    {
        try
        {
            NativeMessage native;
            var dispatch = (Func<OutboxDelivery, wp_outcome>)GCHandle.FromIntPtr(user).Target!;
            DeliveryHandle lent = Native.wpn_lent(delivery, &native);
            return (int)dispatch(new OutboxDelivery(in native, lent));
        }
        catch (Exception)
        {
            return (int)wp_outcome.WP_OUTCOME_RETRY; // nothing unwinds through C
        }
    }

    public void TopicSet(wp_source queue, string topic, string key, string value)
    {
        nint error = 0;
        fixed (byte* t = Utf8.Name(nameof(topic), topic), k = Utf8.Name(nameof(key), key),
               v = Utf8.Name(key, value))
            Failure.Check(
                Native.wp_worker_topic_set(this, queue, t, k, v, &error), error);
    }

    /// <summary>Wait for the next delivery. Ends with OK, TIMEOUT, STOPPED or an error's status.</summary>
    public wp_status Next(out OutboxDelivery? delivery, long timeoutMs)
    {
        NativeMessage native;
        wp_status status = Native.wpn_next(out DeliveryHandle handle, &native, this, timeoutMs);
        delivery = status == wp_status.WP_OK ? new OutboxDelivery(in native, handle) : null;
        return status;
    }

    /// <summary>Wait for the next delivery whose handler should stop; passes its address,
    /// which is the key of the one that Next() gave.</summary>
    public wp_status NextCancelled(Action<nint> cancel, long timeoutMs)
    {
        wp_status status = Native.wpn_next_cancelled(out DeliveryHandle delivery, this, timeoutMs);
        using (delivery) // while it is held, its address is nobody else's
        {
            if (status == wp_status.WP_OK)
                cancel(delivery.Pointer);
        }
        return status;
    }

    public long Drain(long timeoutMs)
    {
        nint error = 0;
        nuint handled = 0;
        Failure.Check(Native.wp_worker_drain(&handled, this, timeoutMs, &error), error);
        return (long)handled;
    }

    public long Step()
    {
        nint error = 0;
        nuint handled = 0;
        Failure.Check(Native.wp_worker_step(&handled, this, &error), error);
        return (long)handled;
    }

    public long Stop(long deadlineMs)
    {
        nint error = 0;
        nuint abandoned = 0;
        Failure.Check(Native.wp_worker_stop(&abandoned, this, deadlineMs, &error), error);
        return (long)abandoned;
    }

    public void Wake() => Native.wp_worker_wake(this);

    public long Counter(wp_counter counter) => Native.wp_worker_counter(this, counter);
}

internal sealed unsafe class DeliveryHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_delivery_free(pointer);

    public string StoreId => Utf8.Text(Native.wp_delivery_store_id(this));

    public string Engine => Utf8.Text(Native.wpn_delivery_engine(this));

    public wp_cancel Cancelled => Native.wp_delivery_cancelled(this);

    /// <summary>Finish it; the status says whether that counts.</summary>
    public wp_status TryFinish(wp_outcome outcome, string? reason, long delayMs)
    {
        fixed (byte* text = Utf8.Reason(reason))
            return Native.wp_delivery_finish(this, outcome, text, delayMs, null);
    }

    public void Finish(wp_outcome outcome, string? reason, long delayMs)
    {
        nint error = 0;
        fixed (byte* text = Utf8.Reason(reason))
            Failure.Check(
                Native.wp_delivery_finish(this, outcome, text, delayMs, &error), error);
    }

    public void SetOutput(string output) => SetOutput(Utf8.Encode(nameof(output), output));

    public void SetOutput(byte[] text)
    {
        nint error = 0;
        fixed (byte* data = text.Length == 0 ? new byte[1] : text)
            Failure.Check(
                Native.wp_delivery_set_output(this, data, (nuint)text.Length, &error), error);
    }

    public void Settle(long timeoutMs)
    {
        nint error = 0;
        Failure.Check(Native.wp_delivery_settle(this, timeoutMs, &error), error);
    }

    public OperationHandle CompleteOperation()
    {
        nint error = 0;
        Failure.Check(
            Native.wp_delivery_complete_op(out OperationHandle operation, this, &error), error);
        return operation;
    }
}
