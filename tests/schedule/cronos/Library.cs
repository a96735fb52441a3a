// SPDX-License-Identifier: Apache-2.0
using System.Runtime.InteropServices;

namespace ScheduleCronos;

/// <summary>The little of the C library that is needed here.</summary>
internal static partial class Library
{
    private const int Ok = 0, NotFound = 4;

    public sealed class Schedule(nint handle) : IDisposable
    {
        public DateTime? Next(DateTime from)
        {
            var status = wp_schedule_next(out var us, handle, (from - DateTime.UnixEpoch).Ticks / 10, 0);
            return status switch
            {
                Ok => DateTime.UnixEpoch.AddTicks(us * 10),
                NotFound => null,
                _ => throw new InvalidOperationException($"status {status}"),
            };
        }

        public void Dispose() => wp_schedule_free(handle);
    }

    public static Schedule? New(string expression, string zone, out string error)
    {
        nint err = 0;
        error = "";
        if (wp_schedule_new(out var handle, expression, zone, 0, ref err) == Ok)
            return new Schedule(handle);
        error = Marshal.PtrToStringUTF8(wp_error_message(err)) ?? "";
        wp_error_free(err);
        return null;
    }

    [LibraryImport("waypost", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int wp_schedule_new(out nint handle, string expression, string zone, nint config,
        ref nint err);

    [LibraryImport("waypost")]
    private static partial int wp_schedule_next(out long us, nint schedule, long after, nint err);

    [LibraryImport("waypost")]
    private static partial void wp_schedule_free(nint schedule);

    [LibraryImport("waypost")]
    private static partial nint wp_error_message(nint err);

    [LibraryImport("waypost")]
    private static partial void wp_error_free(nint err);
}
