// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>
/// Joins: so many messages of the outbox are steps of one thing; when the last of them is finished, the join
/// is over, and a message that says so is enqueued, once, in the same transaction. Thread-safe.
/// <para>A member counts once: as completed when it is acknowledged, as failed when it is failed for ever, in
/// the transaction that does that. A retry or a lost lease counts nothing, nor does a dead letter that is
/// replayed. What is over never changes again. <c>docs/joins.md</c>.</para>
/// <para>Transactions are as <see cref="IOutbox"/> has them. Ids may repeat; there may be 10,000 in a
/// call.</para>
/// </summary>
public interface IJoins
{
    /// <summary>Start a join; gives its id.</summary>
    /// <param name="expectedSteps">How many messages are to finish, 1 to 1,000,000,000.</param>
    /// <param name="groupingKey">By which joins are found; up to 255 characters (UTF-16 code
    /// units).</param>
    /// <param name="metadata">Text of the app's own, up to 64 KiB of UTF-8.</param>
    /// <param name="transaction">The app's.</param>
    /// <param name="cancellationToken">Cancels the statement.</param>
    Task<Guid> StartJoinAsync(
        long expectedSteps, string? groupingKey = null, string? metadata = null,
        DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>Start a join with all that one can have.</summary>
    Task<Guid> StartJoinAsync(
        NewJoin join, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    // ---- members --------------------------------------------------------------------------------

    /// <summary>Make messages members of a join; gives how many became so. Those that are members stay so. One
    /// that is finished counts at once. <see cref="NewOutboxMessage.Joins"/> does it as a message is
    /// enqueued.</summary>
    /// <exception cref="NotFoundException">There is no such join, or no such message; nothing was
    /// changed.</exception>
    /// <exception cref="InvalidOperationException">The join is over, and one of them is no
    /// member.</exception>
    Task<long> AttachMessagesToJoinAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Count members as completed, whatever their messages do; gives how many counted now. What is
    /// no member or has counted is ignored, and so is all of a join that is over.</summary>
    /// <exception cref="NotFoundException">There is no such join.</exception>
    Task<long> ReportStepsCompletedAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Count members as failed, likewise.</summary>
    Task<long> ReportStepsFailedAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    // ---- end it otherwise -----------------------------------------------------------------------

    /// <summary>Cancel a join that is open. Its messages go on, and none is enqueued for it. False: there is
    /// none, or it is over; then nothing is changed.</summary>
    Task<bool> CancelJoinAsync(
        Guid joinId, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>Fail the joins that are past their deadline, as workers do; gives how many.</summary>
    Task<long> ReapExpiredJoinsAsync(CancellationToken cancellationToken = default);

    /// <summary>Delete joins that were over this long ago or earlier, with all that is known of their
    /// members; gives how many. Workers do so after <c>join.keep_ms</c>.</summary>
    Task<long> CleanupJoinsAsync(TimeSpan olderThan, CancellationToken cancellationToken = default);

    // ---- looking --------------------------------------------------------------------------------

    /// <summary>Look a join up; null if there is none.</summary>
    Task<JoinInfo?> FindJoinAsync(Guid joinId, CancellationToken cancellationToken = default);

    /// <summary>Look a join up that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<JoinInfo> GetJoinAsync(Guid joinId, CancellationToken cancellationToken = default);

    /// <summary>List joins in the order in which they were started.</summary>
    /// <param name="groupingKey">Those that have it; null: all.</param>
    /// <param name="after">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<JoinInfo>> ListJoinsAsync(
        string? groupingKey = null, Page<JoinInfo>? after = null, int limit = 100,
        CancellationToken cancellationToken = default);

    /// <summary>List the members of a join in the order in which they were enqueued; none, if there is no such
    /// join.</summary>
    /// <param name="joinId">The join.</param>
    /// <param name="after">The page before this one; null: the first.</param>
    /// <param name="limit">The length of a page, 1 to 10,000.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task<Page<JoinMember>> ListJoinMembersAsync(
        Guid joinId, Page<JoinMember>? after = null, int limit = 100,
        CancellationToken cancellationToken = default);
}

/// <summary>Other forms of the calls for joins.</summary>
public static class JoinExtensions
{
    /// <summary>The topic of messages that wait for a join: their handler gets them when it is over.</summary>
    public const string WaitTopic = "join.wait";

    /// <summary>Enqueue a message that waits for a join; gives its id. The handler of <see cref="WaitTopic"/>
    /// gets it when the join is over. To wait is no failed attempt; without such a join it is failed. A message
    /// of that topic may also be enqueued like any other: its payload is a JSON object whose "join" is the
    /// join's id.</summary>
    public static Task<Guid> EnqueueJoinWaitAsync(
        this IOutbox outbox, Guid joinId, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(outbox);
        return outbox.EnqueueAsync(
            WaitTopic, $$"""{"join":"{{joinId}}"}""", transaction, cancellationToken: cancellationToken);
    }

    /// <summary>Make one message a member of a join; false: it is one.</summary>
    public static async Task<bool> AttachMessageToJoinAsync(
        this IJoins joins, Guid joinId, Guid messageId, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(joins);
        return await joins.AttachMessagesToJoinAsync(
            joinId, [messageId], transaction, cancellationToken).ConfigureAwait(false) > 0;
    }

    /// <summary>Count one member as completed; false: it is none, or has counted.</summary>
    public static async Task<bool> ReportStepCompletedAsync(
        this IJoins joins, Guid joinId, Guid messageId, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(joins);
        return await joins.ReportStepsCompletedAsync(
            joinId, [messageId], transaction, cancellationToken).ConfigureAwait(false) > 0;
    }

    /// <summary>Count one member as failed; false: it is none, or has counted.</summary>
    public static async Task<bool> ReportStepFailedAsync(
        this IJoins joins, Guid joinId, Guid messageId, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(joins);
        return await joins.ReportStepsFailedAsync(
            joinId, [messageId], transaction, cancellationToken).ConfigureAwait(false) > 0;
    }
}
