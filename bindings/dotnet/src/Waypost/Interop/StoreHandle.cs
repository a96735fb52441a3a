// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class StoreHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_store_close(pointer);

    public static StoreHandle Open(ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(Native.wp_store_open(out StoreHandle handle, config, &error), error);
        return handle;
    }

    public static void Deploy(ConfigHandle config)
    {
        nint error = 0;
        Failure.Check(Native.wp_schema_deploy(config, &error), error);
    }

    public string Id => Utf8.Text(Native.wp_store_id(this));

    public string Location => Utf8.Text(Native.wp_store_location(this));

    public string Engine => Utf8.Text(Native.wp_store_engine(this));

    public EnqueueResult[] Enqueue(IEnumerable<NewOutboxMessage> messages)
    {
        using var handles = new MessageHandles(messages);
        int count = handles.Count;
        var ids = new WpId[count];
        var duplicates = new int[count];
        nint error = 0;
        fixed (nint* pointers = handles.Pointers)
        fixed (WpId* id = ids)
        fixed (int* duplicate = duplicates)
            Failure.Check(
                Native.wp_outbox_enqueue_many(id, duplicate, this, 0, pointers, (nuint)count,
                                              &error), error);
        return Enumerable.Zip(ids, duplicates, (id, d) => new EnqueueResult(id, d != 0)).ToArray();
    }

    public OperationHandle EnqueueOperation(IEnumerable<NewOutboxMessage> messages)
    {
        using var handles = new MessageHandles(messages);
        nint error = 0;
        OperationHandle operation;
        fixed (nint* pointers = handles.Pointers)
            Failure.Check(
                Native.wp_outbox_enqueue_op(out operation, this, pointers,
                                            (nuint)handles.Count, &error), error);
        return operation;
    }

    public OutboxMessage[] Claim(Guid owner, string[]? topics, long batch, long leaseMs)
    {
        nint error = 0;
        WpId id = owner;
        ClaimHandle claim;
        using (var names = new Names(topics))
            Failure.Check(
                Native.wp_outbox_claim(out claim, this, &id, names.Pointers, names.Count, batch,
                                       leaseMs, &error), error);
        using (claim)
            return claim.Messages();
    }

    /// <summary>Finish what was claimed; returns how many rows changed.</summary>
    public long Finish(Finishing how, Guid owner, Claimed claimed, string? text = null, long ms = 0)
    {
        nint error = 0;
        WpId id = owner;
        nuint changed = 0;
        var count = (nuint)claimed.Ids.Length;
        byte[]? encoded = how == Finishing.Ack ? Utf8.OptionalName("worker", text) : Utf8.Reason(text);
        fixed (WpId* ids = claimed.Ids)
        fixed (long* claims = claimed.ClaimNumbers)
        fixed (byte* t = encoded)
        {
            WpId nobody; // an empty list is not a null one
            WpId* these = ids == null ? &nobody : ids;
            Failure.Check(how switch
            {
                Finishing.Ack => Native.wp_outbox_ack(
                    &changed, this, 0, &id, these, claims, count, t, &error),
                Finishing.Abandon => Native.wp_outbox_abandon(
                    &changed, this, 0, &id, these, claims, count, ms, t, &error),
                Finishing.Fail => Native.wp_outbox_fail(
                    &changed, this, 0, &id, these, claims, count, t, &error),
                Finishing.Release => Native.wp_outbox_release(
                    &changed, this, 0, &id, these, claims, count, &error),
                _ => Native.wp_outbox_renew(
                    &changed, this, 0, &id, these, claims, count, ms, &error),
            }, error);
        }
        return (long)changed;
    }

    public OperationHandle AckOperation(Guid owner, Claimed claimed, string? worker)
    {
        nint error = 0;
        WpId id = owner;
        OperationHandle operation;
        fixed (WpId* ids = claimed.Ids)
        fixed (long* claims = claimed.ClaimNumbers)
        fixed (byte* name = Utf8.OptionalName("worker", worker))
        {
            WpId nobody;
            Failure.Check(
                Native.wp_outbox_ack_op(out operation, this, &id, ids == null ? &nobody : ids,
                                        claims, (nuint)claimed.Ids.Length, name, &error), error);
        }
        return operation;
    }

    public long Reap()
    {
        nint error = 0;
        nuint changed = 0;
        Failure.Check(Native.wp_outbox_reap(&changed, this, &error), error);
        return (long)changed;
    }

    /// <summary>Null: there is no such message.</summary>
    public OutboxMessageInfo? Find(Guid id)
    {
        nint error = 0;
        WpId key = id;
        wp_status status = Native.wp_outbox_get(out InfoHandle info, this, &key, &error);
        if (status == wp_status.WP_E_NOT_FOUND)
        {
            Native.wp_error_free(error);
            return null;
        }
        Failure.Check(status, error);
        using (info)
            return info.Read();
    }

    public OutboxStats Stats(bool finished)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_outbox_stats_read(out StatsHandle stats, this, finished ? 1 : 0, &error),
            error);
        using (stats)
            return stats.Read();
    }
}

/// <summary>What finishes a claim by hand.</summary>
internal enum Finishing { Ack, Abandon, Fail, Release, Renew }

/// <summary>Which messages to finish: by their ids, and where known by their claims' numbers.</summary>
internal readonly struct Claimed
{
    public Claimed(IEnumerable<Guid> ids)
    {
        ArgumentNullException.ThrowIfNull(ids);
        Ids = ids.Select(id => (WpId)id).ToArray();
    }

    public Claimed(IEnumerable<OutboxMessage> messages)
    {
        ArgumentNullException.ThrowIfNull(messages);
        OutboxMessage[] all = messages.ToArray();
        Ids = Array.ConvertAll(all, message => (WpId)message.Id);
        ClaimNumbers = Array.ConvertAll(all, message => message.ClaimNumber);
    }

    public WpId[] Ids { get; }
    public long[]? ClaimNumbers { get; }
}

/// <summary>An array of C texts; null stands for all.</summary>
internal sealed unsafe class Names : IDisposable
{
    private readonly System.Buffers.MemoryHandle[] _pins;
    private readonly byte*[] _pointers;
    private System.Runtime.InteropServices.GCHandle _array;

    public Names(string[]? names)
    {
        byte[][] encoded = Array.ConvertAll(names ?? [], name => Utf8.Name("topic", name));
        _pins = Array.ConvertAll(encoded, text => text.AsMemory().Pin());
        _pointers = new byte*[encoded.Length + 1];
        for (int i = 0; i < encoded.Length; i++)
            _pointers[i] = (byte*)_pins[i].Pointer;
        _array = System.Runtime.InteropServices.GCHandle.Alloc(
            _pointers, System.Runtime.InteropServices.GCHandleType.Pinned);
        Count = (nuint)encoded.Length;
        Pointers = names is null ? null : (byte**)_array.AddrOfPinnedObject();
    }

    public byte** Pointers { get; }
    public nuint Count { get; }

    public void Dispose()
    {
        _array.Free();
        foreach (System.Buffers.MemoryHandle pin in _pins)
            pin.Dispose();
    }
}

internal sealed unsafe class ClaimHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_claim_free(pointer);

    public OutboxMessage[] Messages()
    {
        var messages = new OutboxMessage[(int)Native.wp_claim_count(this)];
        for (int i = 0; i < messages.Length; i++)
        {
            NativeMessage native;
            Native.wpn_read(&native, Native.wp_claim_at(this, (nuint)i));
            messages[i] = new OutboxMessage(in native);
        }
        return messages;
    }
}

internal sealed unsafe class InfoHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_outbox_info_free(pointer);

    public OutboxMessageInfo Read()
    {
        NativeMessage native;
        Native.wpn_read(&native, Native.wp_outbox_info_message(this));
        return new OutboxMessageInfo(
            (OutboxMessageStatus)Native.wp_outbox_info_status(this),
            new OutboxMessage(in native),
            Times.FromOptionalUs(Native.wp_outbox_info_next_attempt_us(this)),
            Times.FromOptionalUs(Native.wp_outbox_info_locked_until_us(this)),
            Times.FromOptionalUs(Native.wp_outbox_info_finished_us(this)),
            Utf8.OptionalText(Native.wp_outbox_info_finished_by(this)),
            Utf8.OptionalText(Native.wp_outbox_info_last_error(this)));
    }
}

internal sealed unsafe class StatsHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_outbox_stats_free(pointer);

    public OutboxStats Read()
    {
        var topics = new Dictionary<string, TopicStats>();
        for (nuint i = 0; i < Native.wp_outbox_stats_count(this); i++)
        {
            nuint index = i;
            topics[Utf8.Text(Native.wp_outbox_stats_topic(this, i))] =
                Make(stat => Native.wp_outbox_stats_value(this, index, stat));
        }
        return new OutboxStats(topics, Make(stat => Native.wp_outbox_stats_total(this, stat)));
    }

    private static TopicStats Make(Func<wp_outbox_stat, long> value) => new(
        value(wp_outbox_stat.WP_STAT_READY),
        value(wp_outbox_stat.WP_STAT_SCHEDULED),
        value(wp_outbox_stat.WP_STAT_IN_PROGRESS),
        value(wp_outbox_stat.WP_STAT_BLOCKED),
        value(wp_outbox_stat.WP_STAT_DONE),
        value(wp_outbox_stat.WP_STAT_FAILED),
        TimeSpan.FromMicroseconds(value(wp_outbox_stat.WP_STAT_OLDEST_READY_AGE_US)));
}
