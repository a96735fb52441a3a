// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>What a handler answers.</summary>
public readonly struct Outcome
{
    internal Outcome(wp_outcome kind, string? reason = null, TimeSpan? delay = null) =>
        (Kind, Reason, Delay) = (kind, reason, delay);

    internal wp_outcome Kind { get; }
    internal string? Reason { get; }
    internal TimeSpan? Delay { get; }

    /// <summary>Finished with success.</summary>
    public static Outcome Done => new(wp_outcome.WP_OUTCOME_DONE);

    /// <summary>Failed: try again after the delay, by default the backoff; past the limit of
    /// attempts it is a dead letter.</summary>
    public static Outcome Retry(string? reason = null, TimeSpan? delay = null) =>
        new(wp_outcome.WP_OUTCOME_RETRY, reason, delay);

    /// <summary>Failed without asking for it: an exception, or no handler.</summary>
    internal static Outcome Failed(string reason) => new(wp_outcome.WP_OUTCOME_NONE, reason);

    /// <summary>A dead letter at once.</summary>
    public static Outcome Reject(string? reason = null) =>
        new(wp_outcome.WP_OUTCOME_REJECT, reason);

    /// <summary>Given back at once as if never started: its attempt stays as it was, and it may come
    /// again in the next moment. To wait, answer Retry with a delay.</summary>
    public static Outcome Release => new(wp_outcome.WP_OUTCOME_RELEASE);

    /// <summary>Kept open: Done(), Retry(), Reject() or Release() comes later, from any thread.
    /// Whoever finishes it must keep the delivery: one that is forgotten is tried again.</summary>
    public static Outcome Deferred => new(wp_outcome.WP_OUTCOME_DEFERRED);
}

/// <summary>Where deliveries come from. Each has handlers of its own.</summary>
public enum WaypostQueue
{
    /// <summary>Messages of the outbox.</summary>
    Outbox = wp_source.WP_SOURCE_OUTBOX,
    /// <summary>Messages of the inbox.</summary>
    Inbox = wp_source.WP_SOURCE_INBOX,
    /// <summary>Timers that are due.</summary>
    Timer = wp_source.WP_SOURCE_TIMER,
    /// <summary>Runs of jobs, by the topic of their job.</summary>
    Job = wp_source.WP_SOURCE_JOB,
}

/// <summary>Why a handler should stop.</summary>
public enum CancelReason
{
    /// <summary>It should not.</summary>
    None = wp_cancel.WP_CANCEL_NONE,
    /// <summary>Someone else may have the message; this outcome will not count.</summary>
    LeaseLost = wp_cancel.WP_CANCEL_LEASE_LOST,
    /// <summary>The handler's timeout passed; the message will be tried again.</summary>
    Timeout = wp_cancel.WP_CANCEL_TIMEOUT,
    /// <summary>The worker is stopping; finishing in time still counts.</summary>
    Stop = wp_cancel.WP_CANCEL_STOP,
    /// <summary>The job's run was cancelled: if it fails now, it is not tried again.</summary>
    Requested = wp_cancel.WP_CANCEL_REQUESTED,
}
