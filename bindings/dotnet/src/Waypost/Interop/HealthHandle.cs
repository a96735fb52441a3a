// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class HealthHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_health_free(pointer);

    public static WaypostHealth Read(
        StoreHandle store, HealthScope scope, TimeSpan? maxAge, TimeSpan? limit)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_health_read(
                out HealthHandle handle, store, (wp_health_scope)scope, OptionalMs(maxAge, nameof(maxAge)),
                OptionalMs(limit, nameof(limit)), &error),
            error);
        using (handle)
            return handle.Read();
    }

    public static WaypostHealth Read(
        WorkerHandle worker, HealthScope scope, TimeSpan? maxAge, TimeSpan? limit)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_health_read_worker(
                out HealthHandle handle, worker, (wp_health_scope)scope,
                OptionalMs(maxAge, nameof(maxAge)), OptionalMs(limit, nameof(limit)), &error),
            error);
        using (handle)
            return handle.Read();
    }

    /// <summary>-1 leaves it to the options.</summary>
    private static long OptionalMs(TimeSpan? value, string name) =>
        value is { } given ? Times.WaitMs(given, name) : -1;

    private WaypostHealth Read()
    {
        var stores = new WaypostStoreHealth[(int)Native.wp_health_store_count(this)];
        for (int i = 0; i < stores.Length; i++)
            stores[i] = ReadStore((nuint)i);
        return new WaypostHealth(
            (WaypostHealthStatus)Native.wp_health_get_status(this), Utf8.Text(Native.wp_health_reason(this)),
            stores, Utf8.Text(Native.wp_health_json(this)));
    }

    private WaypostStoreHealth ReadStore(nuint index)
    {
        var queues = new Dictionary<WaypostQueue, TopicStats>();
        foreach (WaypostQueue queue in Enum.GetValues<WaypostQueue>())
        {
            long? Stat(wp_outbox_stat stat) =>
                Known(Native.wp_health_queue_value(this, index, (wp_source)queue, stat));
            if (Stat(wp_outbox_stat.WP_STAT_READY) is { } ready)
                queues[queue] = new TopicStats(
                    ready, Stat(wp_outbox_stat.WP_STAT_SCHEDULED)!.Value,
                    Stat(wp_outbox_stat.WP_STAT_IN_PROGRESS)!.Value,
                    Stat(wp_outbox_stat.WP_STAT_BLOCKED)!.Value, 0, 0,
                    TimeSpan.FromMicroseconds(Stat(wp_outbox_stat.WP_STAT_OLDEST_READY_AGE_US)!.Value),
                    Stat(wp_outbox_stat.WP_STAT_LEASE_EXPIRED)!.Value,
                    Stat(wp_outbox_stat.WP_STAT_PAUSED)!.Value);
        }
        long? Value(wp_health_value value) => Known(Native.wp_health_store_value(this, index, value));
        TimeSpan? Time(wp_health_value value) =>
            Value(value) is { } us ? TimeSpan.FromMicroseconds(us) : null;
        return new WaypostStoreHealth(
            Utf8.Text(Native.wp_health_store_id(this, index)),
            (WaypostHealthStatus)Native.wp_health_store_status(this, index),
            Time(wp_health_value.WP_HEALTH_LATENCY_US), Value(wp_health_value.WP_HEALTH_SCHEMA),
            Value(wp_health_value.WP_HEALTH_STALE), Time(wp_health_value.WP_HEALTH_OLDEST_US),
            Time(wp_health_value.WP_HEALTH_JOBS_LATE_US), Value(wp_health_value.WP_HEALTH_OVERDUE), queues);
    }

    private static long? Known(long value) => value == long.MinValue ? null : value;
}
