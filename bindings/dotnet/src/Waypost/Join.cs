// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>A join to start.</summary>
/// <param name="expectedSteps">How many messages are to finish, 1 to 1,000,000,000.</param>
public sealed class NewJoin(long expectedSteps)
{
    /// <summary>How many messages are to finish.</summary>
    public long ExpectedSteps { get; } = expectedSteps;

    /// <summary>By which joins are found; up to 255 characters (UTF-16 code units). Empty: none.</summary>
    public string? GroupingKey { get; init; }

    /// <summary>Text of the app's own, up to 64 KiB of UTF-8.</summary>
    public string? Metadata { get; init; }

    /// <summary>Whether the join fails if any step failed. Without, it completes all the same.</summary>
    public bool FailIfAnyStepFailed { get; init; }

    /// <summary>Enqueued when the join completes. It has no due time, expiry, unique key or joins.</summary>
    public NewOutboxMessage? OnSuccess { get; init; }

    /// <summary>Enqueued when the join fails, likewise; also when its deadline passes.</summary>
    public NewOutboxMessage? OnFailure { get; init; }

    /// <summary>The join fails with the reason "timeout" if it is not over at this instant ...</summary>
    public DateTimeOffset? DeadlineUtc { get; init; }

    /// <summary>... or after this time from the start on, by the database's clock; up to 365 days.</summary>
    public TimeSpan? Timeout { get; init; }
}

/// <summary>Where a join stands.</summary>
public enum JoinStatus
{
    /// <summary>It waits for steps.</summary>
    Open = wp_join_status.WP_JOIN_OPEN,
    /// <summary>Over: as many as expected are finished.</summary>
    Completed = wp_join_status.WP_JOIN_COMPLETED,
    /// <summary>Over: the same, but one failed; or the deadline passed.</summary>
    Failed = wp_join_status.WP_JOIN_FAILED,
    /// <summary>Over: it was cancelled.</summary>
    Cancelled = wp_join_status.WP_JOIN_CANCELLED,
}

/// <summary>A join as it was when it was looked at.</summary>
/// <param name="Id">Its id.</param>
/// <param name="Status">Where it stands.</param>
/// <param name="ExpectedSteps">How many steps are to finish.</param>
/// <param name="CompletedSteps">How many counted as completed. Never more, together with the failed ones,
/// than are expected.</param>
/// <param name="FailedSteps">How many counted as failed.</param>
/// <param name="FailIfAnyStepFailed">Whether it fails if any step failed.</param>
/// <param name="GroupingKey">Its grouping key, or null.</param>
/// <param name="Metadata">Its metadata, or null.</param>
/// <param name="CreatedAtUtc">When it was started, by the database's clock.</param>
/// <param name="DeadlineUtc">When it fails if it is not over; null: never.</param>
/// <param name="EndedAtUtc">When it was over; null: it is open.</param>
/// <param name="Reason">Why it failed, where that is not in its members: "timeout"; else null.</param>
/// <param name="ContinuationId">The message that was enqueued for it; null: none was.</param>
public sealed record JoinInfo(
    Guid Id, JoinStatus Status, long ExpectedSteps, long CompletedSteps, long FailedSteps,
    bool FailIfAnyStepFailed, string? GroupingKey, string? Metadata, DateTimeOffset CreatedAtUtc,
    DateTimeOffset? DeadlineUtc, DateTimeOffset? EndedAtUtc, string? Reason, Guid? ContinuationId);

/// <summary>How a member of a join counted.</summary>
public enum JoinMemberStatus
{
    /// <summary>It did not; in a join that is over, it never will.</summary>
    Waiting = wp_join_member_status.WP_JOIN_MEMBER_WAITING,
    /// <summary>As completed.</summary>
    Completed = wp_join_member_status.WP_JOIN_MEMBER_COMPLETED,
    /// <summary>As failed.</summary>
    Failed = wp_join_member_status.WP_JOIN_MEMBER_FAILED,
}

/// <summary>A member of a join.</summary>
/// <param name="MessageId">Its message, which may have been cleaned up.</param>
/// <param name="Status">How it counted.</param>
public readonly record struct JoinMember(Guid MessageId, JoinMemberStatus Status);
