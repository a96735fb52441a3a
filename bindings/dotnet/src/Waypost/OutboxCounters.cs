// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>What a worker has done. Rows changed, not ids asked for.</summary>
public readonly record struct OutboxCounters
{
    internal OutboxCounters(Func<wp_counter, long> read)
    {
        Claimed = read(wp_counter.WP_COUNTER_CLAIMED);
        Acked = read(wp_counter.WP_COUNTER_ACKED);
        Abandoned = read(wp_counter.WP_COUNTER_ABANDONED);
        Failed = read(wp_counter.WP_COUNTER_FAILED);
        Released = read(wp_counter.WP_COUNTER_RELEASED);
        Reaped = read(wp_counter.WP_COUNTER_REAPED);
        LeasesLost = read(wp_counter.WP_COUNTER_LEASES_LOST);
        Renewed = read(wp_counter.WP_COUNTER_RENEWED);
        Polls = read(wp_counter.WP_COUNTER_POLLS);
        Wakes = read(wp_counter.WP_COUNTER_WAKES);
        Errors = read(wp_counter.WP_COUNTER_ERRORS);
        Cancelled = read(wp_counter.WP_COUNTER_CANCELLED);
    }

    /// <summary>Messages claimed.</summary>
    public long Claimed { get; }
    /// <summary>Finished with success.</summary>
    public long Acked { get; }
    /// <summary>Given back for a retry.</summary>
    public long Abandoned { get; }
    /// <summary>Made dead letters.</summary>
    public long Failed { get; }
    /// <summary>Given back with the attempt unchanged.</summary>
    public long Released { get; }
    /// <summary>Recovered from expired leases.</summary>
    public long Reaped { get; }
    /// <summary>Leases that were lost while a handler ran.</summary>
    public long LeasesLost { get; }
    /// <summary>Leases renewed.</summary>
    public long Renewed { get; }
    /// <summary>Claims sent, empty ones too.</summary>
    public long Polls { get; }
    /// <summary>Wake-ups by hint.</summary>
    public long Wakes { get; }
    /// <summary>Database errors met.</summary>
    public long Errors { get; }
    /// <summary>Runs that were cancelled while they ran.</summary>
    public long Cancelled { get; }
}
