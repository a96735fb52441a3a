// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>A clock that only moves when told to, for tests. Thread-safe.</summary>
public sealed class ManualClock : IDisposable
{
    /// <summary>A clock that stands at an instant.</summary>
    public ManualClock(DateTimeOffset now) => Handle = ClockHandle.New(Times.ToUs(now));

    internal ClockHandle Handle { get; }

    /// <summary>The clock's wall time.</summary>
    public DateTimeOffset UtcNow => Times.FromUs(Handle.UtcUs);

    /// <summary>Move wall clock and elapsed time forward; whatever waits for that, wakes.</summary>
    public void Advance(TimeSpan time) => Handle.AdvanceUs(time.Ticks / TimeSpan.TicksPerMicrosecond);

    /// <summary>Move the wall clock alone, forward or back, as when an administrator sets it.</summary>
    public void Jump(TimeSpan time) => Handle.JumpUs(time.Ticks / TimeSpan.TicksPerMicrosecond);

    /// <summary>Let go of it. Stores that were opened with it keep it.</summary>
    public void Dispose() => Handle.Dispose();
}
