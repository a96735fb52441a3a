// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;

namespace Waypost;

/// <summary>Times and durations as the core counts them.</summary>
internal static class Times
{
    /// <summary>Microseconds UTC since 1970, cut.</summary>
    public static long ToUs(DateTimeOffset value) =>
        Math.DivRem(value.UtcTicks - DateTime.UnixEpoch.Ticks, TimeSpan.TicksPerMicrosecond,
                    out long rest) - (rest < 0 ? 1 : 0);

    public static DateTimeOffset FromUs(long us) =>
        new(DateTime.UnixEpoch.Ticks + us * TimeSpan.TicksPerMicrosecond, TimeSpan.Zero);

    /// <summary>0 stands for "none".</summary>
    public static DateTimeOffset? FromOptionalUs(long us) => us == 0 ? null : FromUs(us);

    /// <summary>Milliseconds, rounded up so that nothing is early.</summary>
    public static long ToMs(TimeSpan value)
    {
        long ms = Math.DivRem(value.Ticks, TimeSpan.TicksPerMillisecond, out long rest);
        return rest > 0 ? ms + 1 : ms;
    }

    /// <summary>The delay of a retry for the core, where 0 stands for the backoff.</summary>
    public static long DelayMs(TimeSpan? delay) =>
        delay is null ? 0 : Math.Max(ToMs(delay.Value), delay.Value < TimeSpan.Zero ? -1 : 1);

    /// <summary>A wait for the core, where a negative number stands for ever.</summary>
    public static long WaitMs(
        TimeSpan wait, [CallerArgumentExpression(nameof(wait))] string? name = null) =>
        wait == Timeout.InfiniteTimeSpan ? -1
        : wait < TimeSpan.Zero ? throw new ArgumentOutOfRangeException(name)
        : ToMs(wait);
}
