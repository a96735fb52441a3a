// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class ScheduleHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_schedule_free(pointer);

    public static ScheduleHandle New(string expression, string zone, string? zoneDirectory)
    {
        using ConfigHandle config = ConfigHandle.New();
        if (zoneDirectory is not null)
            config.Set("schedule.zone_directory", zoneDirectory);
        nint error = 0;
        ScheduleHandle handle;
        fixed (byte* e = Utf8.Name(nameof(expression), expression), z = Utf8.Name(nameof(zone), zone))
            Failure.Check(Native.wp_schedule_new(out handle, e, z, config, &error), error);
        return handle;
    }

    /// <summary>Null: there is none by the end of 9999.</summary>
    public long? NextUs(long afterUs)
    {
        nint error = 0;
        long us;
        wp_status status = Native.wp_schedule_next(&us, this, afterUs, &error);
        if (status == wp_status.WP_E_NOT_FOUND)
        {
            Native.wp_error_free(error);
            return null;
        }
        Failure.Check(status, error);
        return us;
    }

    public long[] PreviewUs(long afterUs, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, Native.WP_PREVIEW_MAX);
        nint error = 0;
        nuint found;
        long[] all = new long[count + 1]; // none is not NULL
        fixed (long* us = all)
            Failure.Check(
                Native.wp_schedule_preview(us, &found, this, afterUs, (nuint)count, &error), error);
        return all[..(int)found];
    }
}
