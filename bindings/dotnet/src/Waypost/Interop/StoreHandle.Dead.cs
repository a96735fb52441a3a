// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class DeadFilterHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_dead_filter_free(pointer);

    public static DeadFilterHandle New(DeadLetterFilter? filter)
    {
        nint error = 0;
        Failure.Check(Native.wp_dead_filter_new(out DeadFilterHandle handle, &error), error);
        try
        {
            if (filter is not null)
                handle.Fill(filter);
            return handle;
        }
        catch
        {
            handle.Dispose();
            throw;
        }
    }

    private void Fill(DeadLetterFilter filter)
    {
        nint error = 0;
        fixed (byte* topic = Utf8.OptionalName("topic", filter.Topic))
            Failure.Check(Native.wp_dead_filter_set_topic(this, topic, &error), error);
        fixed (byte* reason = Utf8.OptionalName("reason", filter.Reason))
            Failure.Check(Native.wp_dead_filter_set_reason(this, reason, &error), error);
        long from = filter.FromUtc is { } f ? Times.ToUs(f) : 0;
        long until = Times.ToUs(filter.UntilUtc ?? DateTimeOffset.MaxValue);
        Failure.Check(Native.wp_dead_filter_set_time_us(this, from, until, &error), error);
        if (filter.Ids is null)
            return;
        WpId[] ids = filter.Ids.Select(id => (WpId)id).ToArray();
        if (ids.Length == 0)
            throw new ArgumentException("Ids is empty: null stands for all", nameof(filter));
        fixed (WpId* i = ids)
            Failure.Check(
                Native.wp_dead_filter_set_ids(this, i, (nuint)ids.Length, &error), error);
    }
}

internal sealed unsafe class DeadListHandle : Handle
{
    /// <summary>Passed as NULL.</summary>
    public static readonly DeadListHandle None = new();

    protected override void Free(nint pointer) => Native.wp_dead_list_free(pointer);

    public OutboxMessageInfo[] Messages()
    {
        var infos = new OutboxMessageInfo[(int)Native.wp_dead_list_count(this)];
        for (int i = 0; i < infos.Length; i++)
        {
            NativeInfo native;
            Native.wpn_dead_read(&native, this, (nuint)i);
            infos[i] = native.Read();
        }
        return infos;
    }
}

/// <summary>Dead letters and cleanup.</summary>
internal sealed unsafe partial class StoreHandle
{
    public DeadListHandle DeadList(
        wp_source queue, DeadLetterFilter? filter, DeadListHandle? after, long limit)
    {
        nint error = 0;
        using DeadFilterHandle f = DeadFilterHandle.New(filter);
        Failure.Check(
            Native.wp_dead_list_read(out DeadListHandle list, this, queue, f,
                                     after ?? DeadListHandle.None, limit, &error), error);
        return list;
    }

    public long DeadReplay(
        wp_source queue, DeadLetterFilter? filter, long limit, long perSecond, string? by)
    {
        nint error = 0;
        nuint replayed = 0;
        using DeadFilterHandle f = DeadFilterHandle.New(filter);
        fixed (byte* name = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                Native.wp_dead_replay(&replayed, this, queue, f, limit, perSecond, name, &error),
                error);
        return (long)replayed;
    }

    public long DeadPurge(wp_source queue, DeadLetterFilter? filter, long limit, string? by)
    {
        nint error = 0;
        nuint purged = 0;
        using DeadFilterHandle f = DeadFilterHandle.New(filter);
        fixed (byte* name = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                Native.wp_dead_purge_by(&purged, this, queue, f, limit, name, &error), error);
        return (long)purged;
    }

    public bool DeadEdit(wp_source queue, Guid id, string payload, string? by)
    {
        nint error = 0;
        int edited = 0;
        byte nothing = 0; // an empty payload is not a null one
        byte[] utf8 = Utf8.Encode(nameof(payload), payload);
        WpId key = id;
        fixed (byte* data = utf8, name = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                Native.wp_dead_edit(&edited, this, queue, &key, data is null ? &nothing : data,
                                    (nuint)utf8.Length, name, &error), error);
        return edited != 0;
    }

    public long Cleanup(wp_source queue, long olderThanMs)
    {
        nint error = 0;
        nuint removed = 0;
        Failure.Check(Native.wp_cleanup(&removed, this, queue, olderThanMs, &error), error);
        return (long)removed;
    }
}
