// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class JoinHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_join_free(pointer);

    public static JoinHandle New(NewJoin join)
    {
        ArgumentNullException.ThrowIfNull(join);
        nint error = 0;
        Failure.Check(Native.wp_join_new(out JoinHandle handle, join.ExpectedSteps, &error), error);
        try
        {
            handle.Fill(join);
            return handle;
        }
        catch
        {
            handle.Dispose();
            throw;
        }
    }

    private void Fill(NewJoin join)
    {
        nint error = 0;
        if (join.DeadlineUtc is not null && join.Timeout is not null)
            throw new ArgumentException("DeadlineUtc and Timeout are both set");
        fixed (byte* key = Utf8.OptionalName("groupingKey", join.GroupingKey))
            Failure.Check(Native.wp_join_set_grouping_key(this, key, &error), error);
        fixed (byte* metadata = Utf8.OptionalName("metadata", join.Metadata))
            Failure.Check(Native.wp_join_set_metadata(this, metadata, &error), error);
        Failure.Check(
            Native.wp_join_set_fail_if_any(this, join.FailIfAnyStepFailed ? 1 : 0, &error), error);
        if (join.OnSuccess is { } success)
            using (MessageHandle message = MessageHandle.New(success))
                Failure.Check(Native.wp_join_set_success(this, message, &error), error);
        if (join.OnFailure is { } failure)
            using (MessageHandle message = MessageHandle.New(failure))
                Failure.Check(Native.wp_join_set_failure(this, message, &error), error);
        if (join.DeadlineUtc is { } deadline)
            Failure.Check(Native.wp_join_set_deadline_us(this, Times.ToUs(deadline), &error), error);
        if (join.Timeout is { } timeout)
            Failure.Check(Native.wp_join_set_timeout_ms(this, Times.ToMs(timeout), &error), error);
    }
}

internal sealed unsafe class JoinInfoHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_join_info_free(pointer);

    /// <summary>One that a handle lends, which the caller keeps alive.</summary>
    public static JoinInfo Read(nint info)
    {
        WpId* continuation = Native.wp_join_info_continuation(info);
        return new JoinInfo(
            *Native.wp_join_info_id(info),
            (JoinStatus)Native.wp_join_info_status(info),
            Native.wp_join_info_expected(info),
            Native.wp_join_info_completed(info),
            Native.wp_join_info_failed(info),
            Native.wp_join_info_fail_if_any(info) != 0,
            Utf8.OptionalText(Native.wp_join_info_grouping_key(info)),
            Utf8.OptionalText(Native.wp_join_info_metadata(info)),
            Times.FromUs(Native.wp_join_info_created_us(info)),
            Times.FromOptionalUs(Native.wp_join_info_deadline_us(info)),
            Times.FromOptionalUs(Native.wp_join_info_ended_us(info)),
            Utf8.OptionalText(Native.wp_join_info_reason(info)),
            continuation is null ? null : *continuation);
    }
}

internal sealed unsafe class JoinsHandle : Handle
{
    /// <summary>Passed as NULL.</summary>
    public static readonly JoinsHandle None = new();

    protected override void Free(nint pointer) => Native.wp_joins_free(pointer);

    public JoinInfo[] Infos()
    {
        var infos = new JoinInfo[(int)Native.wp_joins_count(this)];
        for (int i = 0; i < infos.Length; i++)
            infos[i] = JoinInfoHandle.Read(Native.wp_joins_at(this, (nuint)i));
        return infos;
    }
}

internal sealed unsafe class JoinMembersHandle : Handle
{
    /// <summary>Passed as NULL.</summary>
    public static readonly JoinMembersHandle None = new();

    protected override void Free(nint pointer) => Native.wp_join_members_free(pointer);

    public JoinMember[] Members()
    {
        var members = new JoinMember[(int)Native.wp_join_members_count(this)];
        for (int i = 0; i < members.Length; i++)
            members[i] = new JoinMember(
                *Native.wp_join_members_id(this, (nuint)i),
                (JoinMemberStatus)Native.wp_join_members_status(this, (nuint)i));
        return members;
    }
}

/// <summary>Joins.</summary>
internal sealed unsafe partial class StoreHandle
{
    public Guid JoinStart(NewJoin definition)
    {
        nint error = 0;
        WpId id;
        using JoinHandle join = JoinHandle.New(definition);
        Failure.Check(Native.wp_join_start(&id, this, 0, join, &error), error);
        return id;
    }

    public OperationHandle JoinStartOperation(NewJoin definition)
    {
        nint error = 0;
        using JoinHandle join = JoinHandle.New(definition);
        Failure.Check(
            Native.wp_join_start_op(out OperationHandle operation, this, join, &error), error);
        return operation;
    }

    public long JoinAttach(WpId join, WpId[] messages)
    {
        nint error = 0;
        nuint attached = 0;
        fixed (WpId* ids = Pinnable(messages))
            Failure.Check(
                Native.wp_join_attach(&attached, this, 0, &join, ids, (nuint)messages.Length, &error),
                error);
        return (long)attached;
    }

    public OperationHandle JoinAttachOperation(WpId join, WpId[] messages)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (WpId* ids = Pinnable(messages))
            Failure.Check(
                Native.wp_join_attach_op(out operation, this, &join, ids, (nuint)messages.Length, &error),
                error);
        return operation;
    }

    public long JoinReport(WpId join, WpId[] messages, bool failed)
    {
        nint error = 0;
        nuint counted = 0;
        fixed (WpId* ids = Pinnable(messages))
            Failure.Check(
                Native.wp_join_report(&counted, this, 0, &join, ids, (nuint)messages.Length,
                                      failed ? 1 : 0, &error), error);
        return (long)counted;
    }

    public OperationHandle JoinReportOperation(WpId join, WpId[] messages, bool failed)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (WpId* ids = Pinnable(messages))
            Failure.Check(
                Native.wp_join_report_op(out operation, this, &join, ids, (nuint)messages.Length,
                                         failed ? 1 : 0, &error), error);
        return operation;
    }

    public bool JoinCancel(WpId join)
    {
        nint error = 0;
        int cancelled = 0;
        Failure.Check(Native.wp_join_cancel(&cancelled, this, 0, &join, &error), error);
        return cancelled != 0;
    }

    public OperationHandle JoinCancelOperation(WpId join)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_join_cancel_op(out OperationHandle operation, this, &join, &error), error);
        return operation;
    }

    public long JoinReap()
    {
        nint error = 0;
        nuint failed = 0;
        Failure.Check(Native.wp_join_reap(&failed, this, &error), error);
        return (long)failed;
    }

    public long JoinCleanup(long olderThanMs)
    {
        nint error = 0;
        nuint removed = 0;
        Failure.Check(Native.wp_join_cleanup(&removed, this, olderThanMs, &error), error);
        return (long)removed;
    }

    /// <summary>Null: there is none.</summary>
    public JoinInfo? JoinFind(WpId join)
    {
        nint error = 0;
        wp_status status = Native.wp_join_get(out JoinInfoHandle info, this, &join, &error);
        if (IsNotFound(status, error))
            return null;
        using (info)
            return JoinInfoHandle.Read(info.Pointer);
    }

    public JoinsHandle JoinList(string? groupingKey, JoinsHandle? after, long limit)
    {
        nint error = 0;
        fixed (byte* key = Utf8.OptionalName(nameof(groupingKey), groupingKey))
        {
            Failure.Check(
                Native.wpn_join_list(out JoinsHandle joins, this, key, after ?? JoinsHandle.None, limit,
                                     &error), error);
            return joins;
        }
    }

    public JoinMembersHandle JoinMembers(WpId join, JoinMembersHandle? after, long limit)
    {
        nint error = 0;
        Failure.Check(
            Native.wp_join_members_list(out JoinMembersHandle members, this, &join,
                                        after ?? JoinMembersHandle.None, limit, &error), error);
        return members;
    }
}
