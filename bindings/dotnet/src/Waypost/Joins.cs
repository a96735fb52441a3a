// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

internal sealed class Joins(StoreHandle store, string engine) : IJoins
{
    public Task<Guid> StartJoinAsync(
        long expectedSteps, string? groupingKey, string? metadata, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        StartJoinAsync(
            new NewJoin(expectedSteps) { GroupingKey = groupingKey, Metadata = metadata }, transaction,
            cancellationToken);

    public Task<Guid> StartJoinAsync(
        NewJoin join, DbTransaction? transaction, CancellationToken cancellationToken) =>
        RunAsync(
            transaction, () => store.JoinStart(join), () => store.JoinStartOperation(join),
            op => op.Results()[0].Id, cancellationToken);

    // ---- members ----------------------------------------------------------------------------

    public Task<long> AttachMessagesToJoinAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction,
        CancellationToken cancellationToken)
    {
        WpId[] ids = Ids(messageIds);
        return RunAsync(
            transaction, () => store.JoinAttach(joinId, ids), () => store.JoinAttachOperation(joinId, ids),
            op => op.ResultCount, cancellationToken);
    }

    public Task<long> ReportStepsCompletedAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        ReportAsync(joinId, messageIds, failed: false, transaction, cancellationToken);

    public Task<long> ReportStepsFailedAsync(
        Guid joinId, IEnumerable<Guid> messageIds, DbTransaction? transaction,
        CancellationToken cancellationToken) =>
        ReportAsync(joinId, messageIds, failed: true, transaction, cancellationToken);

    private Task<long> ReportAsync(
        Guid joinId, IEnumerable<Guid> messageIds, bool failed, DbTransaction? transaction,
        CancellationToken cancellationToken)
    {
        WpId[] ids = Ids(messageIds);
        return RunAsync(
            transaction, () => store.JoinReport(joinId, ids, failed),
            () => store.JoinReportOperation(joinId, ids, failed), op => op.ResultCount, cancellationToken);
    }

    private static WpId[] Ids(IEnumerable<Guid> messageIds)
    {
        ArgumentNullException.ThrowIfNull(messageIds);
        return messageIds.Select(id => (WpId)id).ToArray();
    }

    // ---- end it otherwise -------------------------------------------------------------------

    public Task<bool> CancelJoinAsync(
        Guid joinId, DbTransaction? transaction, CancellationToken cancellationToken) =>
        RunAsync(
            transaction, () => store.JoinCancel(joinId), () => store.JoinCancelOperation(joinId),
            op => op.ResultCount > 0, cancellationToken);

    public Task<long> ReapExpiredJoinsAsync(CancellationToken cancellationToken) =>
        Task.Run(store.JoinReap, cancellationToken);

    public Task<long> CleanupJoinsAsync(TimeSpan olderThan, CancellationToken cancellationToken) =>
        Task.Run(() => store.JoinCleanup(Times.ToMs(olderThan)), cancellationToken);

    // ---- looking ----------------------------------------------------------------------------

    public Task<JoinInfo?> FindJoinAsync(Guid joinId, CancellationToken cancellationToken) =>
        Task.Run(() => store.JoinFind(joinId), cancellationToken);

    public async Task<JoinInfo> GetJoinAsync(Guid joinId, CancellationToken cancellationToken) =>
        await FindJoinAsync(joinId, cancellationToken).ConfigureAwait(false)
        ?? throw new NotFoundException($"there is no join {joinId}", default);

    public Task<Page<JoinInfo>> ListJoinsAsync(
        string? groupingKey, Page<JoinInfo>? after, int limit, CancellationToken cancellationToken) =>
        Task.Run(() => Page<JoinInfo>.Read<JoinsHandle>(
                     after, place => store.JoinList(groupingKey, place, limit), joins => joins.Infos()),
                 cancellationToken);

    public Task<Page<JoinMember>> ListJoinMembersAsync(
        Guid joinId, Page<JoinMember>? after, int limit, CancellationToken cancellationToken) =>
        Task.Run(() => Page<JoinMember>.Read<JoinMembersHandle>(
                     after, place => store.JoinMembers(joinId, place, limit), members => members.Members()),
                 cancellationToken);

    /// <summary>On the core's own connections, or on the app's transaction.</summary>
    private Task<T> RunAsync<T>(
        DbTransaction? transaction, Func<T> own, Func<OperationHandle> make,
        Func<OperationHandle, T> result, CancellationToken cancellationToken) =>
        transaction is null
            ? Task.Run(own, cancellationToken)
            : OnApps.RunAsync(transaction, engine, make(), result, cancellationToken);
}
