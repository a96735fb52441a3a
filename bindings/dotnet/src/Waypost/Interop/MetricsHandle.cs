// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class MetricsHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_metrics_free(pointer);

    public static WaypostMetrics Read(StoreHandle store, TimeSpan? limit)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_metrics_read_store(out MetricsHandle handle, store, Ms(limit), &error), error);
        using (handle)
            return handle.Read();
    }

    public static WaypostMetrics Read(WorkerHandle worker, TimeSpan? limit)
    {
        nint error = 0;
        Failure.Check(Native.wp_metrics_read(out MetricsHandle handle, worker, Ms(limit), &error), error);
        using (handle)
            return handle.Read();
    }

    /// <summary>-1 leaves it to the options.</summary>
    private static long Ms(TimeSpan? limit) => limit is { } given ? Times.WaitMs(given, nameof(limit)) : -1;

    private WaypostMetrics Read() => new(
        Utf8.Text(Native.wp_metrics_text(this)), Utf8.Text(Native.wp_metrics_json(this)));
}
