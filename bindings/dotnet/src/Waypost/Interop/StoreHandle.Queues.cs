// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

/// <summary>What all queues have.</summary>
internal sealed unsafe partial class StoreHandle
{
    public OutboxMessage[] Claim(
        wp_source queue, Guid owner, string[]? topics, long batch, long leaseMs)
    {
        nint error = 0;
        WpId id = owner;
        ClaimHandle claim;
        using (var names = new Names(topics))
            Failure.Check(
                Native.wpn_claim(out claim, this, queue, &id, names.Pointers, names.Count, batch,
                                 leaseMs, &error), error);
        using (claim)
            return claim.Messages();
    }

    /// <summary>Finish what was claimed; returns how many rows changed.</summary>
    public long Finish(
        wp_source queue, wpn_finishing how, Guid owner, Claimed claimed, string? text = null,
        long ms = 0)
    {
        nint error = 0;
        WpId id = owner;
        nuint changed = 0;
        fixed (WpId* ids = claimed.Pinnable)
        fixed (long* claims = claimed.ClaimNumbers)
        fixed (byte* t = TextOf(how, text))
            Failure.Check(
                Native.wpn_finish(&changed, this, queue, how, &id, ids, claims, claimed.Count, t,
                                  ms, &error), error);
        return (long)changed;
    }

    /// <summary>The same on a connection of the app's; of the inbox also what is not an ack.</summary>
    public OperationHandle FinishOperation(
        wp_source queue, wpn_finishing how, Guid owner, Claimed claimed, string? text = null,
        long ms = 0)
    {
        nint error = 0;
        WpId id = owner;
        OperationHandle operation;
        nuint count = claimed.Count;
        fixed (WpId* ids = claimed.Pinnable)
        fixed (long* claims = claimed.ClaimNumbers)
        fixed (byte* t = TextOf(how, text))
            Failure.Check((queue, how) switch
            {
                (wp_source.WP_SOURCE_OUTBOX, wpn_finishing.WPN_ACK) => Native.wp_outbox_ack_op(
                    out operation, this, &id, ids, claims, count, t, &error),
                (wp_source.WP_SOURCE_TIMER, wpn_finishing.WPN_ACK) => Native.wp_timer_ack_op(
                    out operation, this, &id, ids, claims, count, t, &error),
                (wp_source.WP_SOURCE_JOB, wpn_finishing.WPN_ACK) => Native.wp_job_run_ack_op(
                    out operation, this, &id, ids, claims, count, t, &error),
                (wp_source.WP_SOURCE_INBOX, wpn_finishing.WPN_ACK) => Native.wp_inbox_ack_op(
                    out operation, this, &id, ids, claims, count, t, &error),
                (wp_source.WP_SOURCE_INBOX, wpn_finishing.WPN_ABANDON) => Native.wp_inbox_abandon_op(
                    out operation, this, &id, ids, claims, count, ms, t, &error),
                (wp_source.WP_SOURCE_INBOX, wpn_finishing.WPN_FAIL) => Native.wp_inbox_fail_op(
                    out operation, this, &id, ids, claims, count, t, &error),
                _ => throw new InvalidOperationException(
                    "this queue's claims are not ended in a transaction of the app's"),
            }, error);
        return operation;
    }

    /// <summary>No ids are not NULL.</summary>
    public static WpId[] Pinnable(WpId[] ids) => ids.Length == 0 ? new WpId[1] : ids;

    private static byte[]? TextOf(wpn_finishing how, string? text) =>
        how == wpn_finishing.WPN_ACK ? Utf8.OptionalName("worker", text) : Utf8.Reason(text);

    public long Reap(wp_source queue)
    {
        nint error = 0;
        nuint changed = 0;
        Failure.Check(Native.wpn_reap(&changed, this, queue, &error), error);
        return (long)changed;
    }

    /// <summary>Null: there is no such message.</summary>
    public OutboxMessageInfo? Find(wp_source queue, Guid id)
    {
        nint error = 0;
        WpId key = id;
        InfoHandle info;
        wp_status status = queue switch
        {
            wp_source.WP_SOURCE_INBOX => Native.wp_inbox_get_by_id(out info, this, &key, &error),
            wp_source.WP_SOURCE_TIMER => Native.wp_timer_get(out info, this, &key, &error),
            _ => Native.wp_outbox_get(out info, this, &key, &error),
        };
        return Found(status, info, error);
    }

    private static OutboxMessageInfo? Found(wp_status status, InfoHandle info, nint error)
    {
        if (IsNotFound(status, error))
            return null;
        using (info)
            return info.Read();
    }

    /// <summary>Throws on any other error.</summary>
    private static bool IsNotFound(wp_status status, nint error)
    {
        if (status != wp_status.WP_E_NOT_FOUND)
            Failure.Check(status, error);
        else
            Native.wp_error_free(error);
        return status == wp_status.WP_E_NOT_FOUND;
    }

    public OutboxStats Stats(wp_source queue, bool finished)
    {
        nint error = 0;
        Failure.Check(
            Native.wpn_stats(out StatsHandle stats, this, queue, finished ? 1 : 0, &error), error);
        using (stats)
            return stats.Read();
    }
}

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

    private WpId[] Ids { get; }
    public long[]? ClaimNumbers { get; }
    public nuint Count => (nuint)Ids.Length;

    public WpId[] Pinnable => StoreHandle.Pinnable(Ids);
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
            messages[i] = OutboxMessage.Of(in native);
        }
        return messages;
    }
}

internal sealed unsafe class InfoHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_outbox_info_free(pointer);

    public OutboxMessageInfo Read()
    {
        NativeInfo native;
        Native.wpn_info_read(&native, this);
        return native.Read();
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
        TimeSpan.FromMicroseconds(value(wp_outbox_stat.WP_STAT_OLDEST_READY_AGE_US)),
        value(wp_outbox_stat.WP_STAT_LEASE_EXPIRED),
        value(wp_outbox_stat.WP_STAT_PAUSED));
}
