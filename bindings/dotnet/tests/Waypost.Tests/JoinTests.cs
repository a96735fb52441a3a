// SPDX-License-Identifier: Apache-2.0
// Joins: scenarios JNN-001 to JNN-016 of tests/conformance/scenarios.md.
using System.Data.Common;

namespace Waypost.Tests;

public abstract class JoinTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly DateTimeOffset Now = Bed.Now;

    private readonly Guid _owner = WaypostStore.NewId();

    protected Bed Bed { get; } = new(engine);
    private IJoins Joins => Bed.Store.Joins;
    private IOutbox Outbox => Bed.Outbox;

    public void Dispose() => Bed.Dispose();

    /// <summary>A join that enqueues "ok" when it completes and "bad" when it fails.</summary>
    private static NewJoin WithNext(long expected, bool failIfAny = true) => new(expected)
    {
        FailIfAnyStepFailed = failIfAny,
        OnSuccess = new("ok", "it went well")
        {
            CorrelationId = "order 7",
            Headers = new Dictionary<string, string> { ["kind"] = "news" },
        },
        OnFailure = new("bad", "it did not"),
    };

    private async Task<Guid> SendAsync(params Guid[] joins) =>
        (await Outbox.EnqueueAsync(new NewOutboxMessage("step", "x") { Joins = joins })).Id;

    private async Task<Guid[]> SendManyAsync(int count, params Guid[] joins) =>
        (await Outbox.EnqueueManyAsync(Enumerable.Range(0, count).Select(
            _ => new NewOutboxMessage("step", "x") { Joins = joins }))).Select(result => result.Id).ToArray();

    private Task<IReadOnlyList<OutboxMessage>> ClaimAsync(string topic = "step") =>
        Bed.ClaimAsync(60 * Second, topics: [topic], owner: _owner);

    private async Task<(int Ok, int Bad)> NextAsync() =>
        ((await ClaimAsync("ok")).Count, (await ClaimAsync("bad")).Count);

    private async Task AssertJoinAsync(Guid id, JoinStatus status, long completed, long failed)
    {
        JoinInfo join = await Joins.GetJoinAsync(id);
        Assert.Equal((status, completed, failed), (join.Status, join.CompletedSteps, join.FailedSteps));
        Assert.Equal(status == JoinStatus.Open, join.EndedAtUtc is null);
    }

    // ---- start ------------------------------------------------------------------------------

    // scenario: JNN-001
    // proves: JOIN-001, JOIN-003, JOIN-005, JOIN-006, JOIN-057
    [Fact]
    public async Task Started_with_all_that_it_has_it_is_found_again()
    {
        Guid id = await Joins.StartJoinAsync(new NewJoin(3)
        {
            GroupingKey = "batch \U0001f600",
            Metadata = "{\"from\":\"'test'\"}",
            FailIfAnyStepFailed = true,
            OnFailure = new("bad", ""),
            Timeout = 5 * Second,
        });
        Assert.Equal(
            new JoinInfo(id, JoinStatus.Open, 3, 0, 0, true, "batch \U0001f600", "{\"from\":\"'test'\"}", Now,
                         Now + 5 * Second, null, null, null),
            await Joins.GetJoinAsync(id));
        Guid plain = await Joins.StartJoinAsync(1, groupingKey: "", metadata: "");
        Assert.Equal(new JoinInfo(plain, JoinStatus.Open, 1, 0, 0, false, null, "", Now, null, null, null, null),
                     await Joins.FindJoinAsync(plain));
        Assert.Null(await Joins.FindJoinAsync(WaypostStore.NewId()));
        await Assert.ThrowsAsync<NotFoundException>(() => Joins.GetJoinAsync(WaypostStore.NewId()));
    }

    // scenario: JNN-002
    // proves: JOIN-002, JOIN-004, BND-004
    [Fact]
    public async Task Bad_arguments_are_errors_and_change_nothing()
    {
        Guid id = WaypostStore.NewId();
        foreach ((string name, Func<Task> call) in new (string, Func<Task>)[]
        {
            ("expected", () => Joins.StartJoinAsync(0)),
            ("expected", () => Joins.StartJoinAsync(-1)),
            ("expected", () => Joins.StartJoinAsync(1_000_000_001)),
            ("grouping_key", () => Joins.StartJoinAsync(1, new string('k', 256))),
            ("groupingKey", () => Joins.StartJoinAsync(1, "a\0b")),
            ("metadata", () => Joins.StartJoinAsync(1, metadata: "a\0b")),
            ("metadata", () => Joins.StartJoinAsync(1, metadata: new string('m', 65537))),
            ("timeout_ms", () => Joins.StartJoinAsync(new NewJoin(1) { Timeout = TimeSpan.Zero })),
            ("timeout_ms", () => Joins.StartJoinAsync(new NewJoin(1) { Timeout = TimeSpan.MaxValue })),
            ("deadline_us", () => Joins.StartJoinAsync(new NewJoin(1) { DeadlineUtc = DateTimeOffset.UnixEpoch - Second })),
            ("both", () => Joins.StartJoinAsync(new NewJoin(1) { DeadlineUtc = Now, Timeout = Second })),
            ("unique key", () => Joins.StartJoinAsync(new NewJoin(1) { OnSuccess = new("t", "") { UniqueKey = "k" } })),
            ("due time", () => Joins.StartJoinAsync(new NewJoin(1) { OnFailure = new("t", "") { Delay = Second } })),
            ("joins", () => Joins.StartJoinAsync(new NewJoin(1) { OnSuccess = new("t", "") { Joins = [id] } })),
            ("joins", () => SendAsync(Enumerable.Range(0, 17).Select(_ => WaypostStore.NewId()).ToArray())),
            ("join", () => Bed.Store.Scheduler.ScheduleTimerAsync(new NewOutboxMessage("t", "") { Joins = [id] })),
            ("join", () => Bed.Store.Inbox.EnqueueAsync(new("m", "s"), new NewOutboxMessage("t", "") { Joins = [id] })),
            ("limit", () => Joins.ListJoinsAsync(limit: 0)),
            ("limit", () => Joins.ListJoinMembersAsync(id, limit: 10_001)),
            ("older_than_ms", () => Joins.CleanupJoinsAsync(-Second)),
            ("count", () => Joins.AttachMessagesToJoinAsync(id, new Guid[10_001])),
        })
            Assert.Contains(name, (await Assert.ThrowsAnyAsync<ArgumentException>(call)).Message);
        foreach ((string name, Func<Task> call) in new (string, Func<Task>)[]
        {
            ("join", () => Joins.StartJoinAsync(null!)),
            ("messageIds", () => Joins.AttachMessagesToJoinAsync(id, null!)),
            ("messageIds", () => Joins.ReportStepsCompletedAsync(id, null!)),
            ("messageIds", () => Joins.ReportStepsFailedAsync(id, null!)),
            ("joins", () => JoinExtensions.AttachMessageToJoinAsync(null!, id, id)),
            ("joins", () => JoinExtensions.ReportStepCompletedAsync(null!, id, id)),
            ("joins", () => JoinExtensions.ReportStepFailedAsync(null!, id, id)),
            ("outbox", () => JoinExtensions.EnqueueJoinWaitAsync(null!, id)),
        })
            Assert.Equal(name, (await Assert.ThrowsAsync<ArgumentNullException>(call)).ParamName);
        Assert.Empty(await Joins.ListJoinsAsync());
        Assert.Empty(await Joins.ListJoinMembersAsync(id));
        Assert.Equal(0, await Bed.CountAsync());
        Guid longest = await Joins.StartJoinAsync(1_000_000_000, new string('k', 255), new string('m', 65536));
        Assert.Equal(longest, Assert.Single(await Joins.ListJoinsAsync(new string('k', 255))).Id);
    }

    // scenario: JNN-003
    // proves: JOIN-001, JOIN-060, BND-002
    [Fact]
    public async Task Started_in_the_apps_transaction_it_is_there_after_the_commit_alone()
    {
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Guid join = await Joins.StartJoinAsync(WithNext(2), transaction);
            Guid first = (await Outbox.EnqueueAsync(new("step", "1") { Joins = [join] }, transaction)).Id;
            Guid second = await Outbox.EnqueueAsync("step", "2", transaction);
            Assert.True(await Joins.AttachMessageToJoinAsync(join, second, transaction));
            Assert.False(await Joins.AttachMessageToJoinAsync(join, second, transaction));
            await Assert.ThrowsAsync<NotFoundException>(
                () => Joins.AttachMessageToJoinAsync(join, WaypostStore.NewId(), transaction));
            await Assert.ThrowsAsync<NotFoundException>(() => Outbox.EnqueueAsync(
                new NewOutboxMessage("step", "3") { Joins = [WaypostStore.NewId()] }, transaction));
            Assert.True(await Joins.ReportStepCompletedAsync(join, first, transaction));
            Assert.Null(await Joins.FindJoinAsync(join));
            if (n == 0)
                await transaction.RollbackAsync();
            else
                await transaction.CommitAsync();
            Assert.Equal(n == 1, await Joins.FindJoinAsync(join) is not null);
            Assert.Equal(2 * n, (await ClaimAsync()).Count);
            if (n == 0)
                continue;
            Assert.Equal(2, await Outbox.AckAsync(_owner, [first, second]));
            await AssertJoinAsync(join, JoinStatus.Completed, 2, 0);
        }
        Assert.Equal((1, 0), await NextAsync());
    }

    // ---- members ----------------------------------------------------------------------------

    // scenario: JNN-004
    // proves: JOIN-010, JOIN-011, JOIN-012, JOIN-013, JOIN-043
    [Fact]
    public async Task Attached_again_unknown_or_over_changes_nothing()
    {
        Guid join = await Joins.StartJoinAsync(2), unknown = WaypostStore.NewId();
        Guid[] ids = await SendManyAsync(2);
        Assert.Equal(0, await Joins.AttachMessagesToJoinAsync(join, []));
        Assert.True(await Joins.AttachMessageToJoinAsync(join, ids[0]));
        Assert.Equal(1, await Joins.AttachMessagesToJoinAsync(join, [ids[0], ids[1], ids[0]]));
        Assert.False(await Joins.AttachMessageToJoinAsync(join, ids[1]));
        Assert.Contains("message", (await Assert.ThrowsAsync<NotFoundException>(
            () => Joins.AttachMessagesToJoinAsync(join, [ids[0], unknown]))).Message);
        Assert.Contains("join", (await Assert.ThrowsAsync<NotFoundException>(
            () => Joins.AttachMessagesToJoinAsync(unknown, ids))).Message);
        Assert.Contains("join", (await Assert.ThrowsAsync<NotFoundException>(() => SendAsync(join, unknown))).Message);
        await AssertJoinAsync(join, JoinStatus.Open, 0, 0);
        Assert.Equal(2, (await ClaimAsync()).Count);
        await Outbox.AckAsync(_owner, ids);
        await AssertJoinAsync(join, JoinStatus.Completed, 2, 0);
        Assert.Equal(0, await Joins.AttachMessagesToJoinAsync(join, ids));
        Guid late = await SendAsync();
        Assert.Contains("over", (await Assert.ThrowsAsync<InvalidOperationException>(
            () => Joins.AttachMessagesToJoinAsync(join, [ids[0], late]))).Message);
        Assert.Contains("over", (await Assert.ThrowsAsync<InvalidOperationException>(() => SendAsync(join))).Message);
        Assert.Equal(late, Assert.Single(await ClaimAsync()).Id);
    }

    // scenario: JNN-005
    // proves: JOIN-014, JOIN-041, JOIN-043
    [Fact]
    public async Task Attached_after_it_was_finished_it_counts_at_once()
    {
        Guid join = await Joins.StartJoinAsync(WithNext(2));
        Guid[] ids = await SendManyAsync(4);
        await ClaimAsync();
        await Outbox.AckAsync(_owner, ids[..2]);
        await Outbox.FailAsync(_owner, [ids[2]]);
        Assert.True(await Joins.AttachMessageToJoinAsync(join, ids[0]));
        Assert.False(await Joins.AttachMessageToJoinAsync(join, ids[0]));
        await AssertJoinAsync(join, JoinStatus.Open, 1, 0);
        Assert.Equal(2, await Joins.AttachMessagesToJoinAsync(join, ids[2..]));
        await AssertJoinAsync(join, JoinStatus.Failed, 1, 1);
        Assert.Equal((0, 1), await NextAsync());
        await Outbox.AckAsync(_owner, [ids[3]]);
        await AssertJoinAsync(join, JoinStatus.Failed, 1, 1);
    }

    // scenario: JNN-006
    // proves: JOIN-020, JOIN-021, JOIN-022, JOIN-033, JOIN-034, JOIN-042
    [Fact]
    public async Task Ack_and_failure_count_once_and_abandon_and_lost_leases_never()
    {
        Guid join = await Joins.StartJoinAsync(3);
        Guid[] ids = await SendManyAsync(3, join);
        IReadOnlyList<OutboxMessage> claimed = await ClaimAsync();
        Assert.Equal(0, await Outbox.AckAsync(WaypostStore.NewId(), claimed));
        await Outbox.AbandonAsync(_owner, [claimed[1]], "later", Second);
        await AssertJoinAsync(join, JoinStatus.Open, 0, 0);
        Assert.Equal(1, await Outbox.AckAsync(_owner, claimed.Take(2)));
        Assert.Equal(0, await Outbox.AckAsync(_owner, [claimed[0]]));
        await AssertJoinAsync(join, JoinStatus.Open, 1, 0);
        Bed.Clock.Advance(61 * Second);
        await Outbox.ReapExpiredAsync();
        Assert.Equal(0, await Outbox.AckAsync(_owner, [claimed[2]]));
        await AssertJoinAsync(join, JoinStatus.Open, 1, 0);
        Bed.Clock.Advance(600 * Second);
        Assert.Equal(2, (await ClaimAsync()).Count);
        await Outbox.FailAsync(_owner, [ids[1]]);
        await AssertJoinAsync(join, JoinStatus.Open, 1, 1);
        await Outbox.AckAsync(_owner, [ids[2]]);
        await AssertJoinAsync(join, JoinStatus.Completed, 2, 1); // it does not fail if any fails
    }

    // scenario: JNN-007
    // proves: JOIN-023, JOIN-026, JOIN-027, JOIN-061
    [Fact]
    public async Task One_batch_of_members_of_many_joins_counts_each_once_in_each()
    {
        var joins = new Guid[3];
        for (int n = 0; n < 3; n++)
            joins[n] = await Joins.StartJoinAsync(WithNext(6));
        var ids = new Guid[9];
        for (int n = 0; n < 9; n++)
            ids[n] = await SendAsync(joins[n % 3], joins[(n + 1) % 3], joins[n % 3]);
        Assert.Equal(9, (await ClaimAsync()).Count);
        Assert.Equal(7, await Outbox.AckAsync(_owner, ids[..7]));
        for (int n = 0; n < 3; n++)
            await AssertJoinAsync(joins[n], JoinStatus.Open, n == 2 ? 4 : 5, 0);
        Assert.Equal(2, await Outbox.FailAsync(_owner, ids[7..]));
        for (int n = 0; n < 3; n++)
            await AssertJoinAsync(joins[n], JoinStatus.Failed, n == 2 ? 4 : 5, n == 2 ? 2 : 1);
        Assert.Equal((0, 3), await NextAsync());
    }

    // scenario: JNN-008
    // proves: JOIN-028, JOIN-029, JOIN-030, JOIN-031
    [Fact]
    public async Task Reported_by_hand_it_counts_as_if_it_were_finished()
    {
        Guid join = await Joins.StartJoinAsync(WithNext(3, failIfAny: false));
        Guid[] ids = await SendManyAsync(3, join);
        Guid stranger = await SendAsync();
        Assert.Equal(1, await Joins.ReportStepsCompletedAsync(join, [ids[2], stranger, ids[2]]));
        Assert.False(await Joins.ReportStepFailedAsync(join, ids[2]));
        await AssertJoinAsync(join, JoinStatus.Open, 1, 0);
        await ClaimAsync();
        await Outbox.AckAsync(_owner, [ids[2]]);
        await AssertJoinAsync(join, JoinStatus.Open, 1, 0);
        DbConnection connection = Bed.Connect();
        for (int n = 0; n < 2; n++)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Assert.True(await Joins.ReportStepFailedAsync(join, ids[0], transaction));
            if (n == 1)
                await transaction.CommitAsync();
        }
        await Outbox.AckAsync(_owner, [ids[1]]);
        await AssertJoinAsync(join, JoinStatus.Completed, 2, 1);
        Assert.Equal((1, 0), await NextAsync());
        Assert.Equal(0, await Joins.ReportStepsFailedAsync(join, [.. ids, stranger]));
        await Assert.ThrowsAsync<NotFoundException>(() => Joins.ReportStepCompletedAsync(stranger, ids[0]));
    }

    // scenario: JNN-009
    // proves: JOIN-021, JOIN-022, JOIN-034
    [Fact]
    public async Task Expired_out_of_attempts_and_replayed_it_counts_once_as_failed()
    {
        Guid join = await Joins.StartJoinAsync(WithNext(2));
        var brief = new NewOutboxMessage("step", "x") { Joins = [join], ExpiresAtUtc = Now + Second };
        Guid first = (await Outbox.EnqueueAsync(brief)).Id, second = await SendAsync(join);
        Bed.Clock.Advance(2 * Second);
        await Outbox.ReapExpiredAsync();
        await AssertJoinAsync(join, JoinStatus.Open, 0, 1);
        for (int n = 0; await Bed.StatusAsync(second) != OutboxMessageStatus.Failed; n++)
        {
            Assert.True(n < 20);
            await ClaimAsync();
            Bed.Clock.Advance(600 * Second);
            await Outbox.ReapExpiredAsync();
        }
        await AssertJoinAsync(join, JoinStatus.Failed, 0, 2);
        Assert.Equal(2, await Outbox.ReplayDeadLettersAsync());
        Assert.Equal(2, (await ClaimAsync()).Count);
        Assert.Equal(2, await Outbox.AckAsync(_owner, [first, second]));
        await AssertJoinAsync(join, JoinStatus.Failed, 0, 2);
        Assert.Equal((0, 1), await NextAsync());
    }

    // ---- the end ----------------------------------------------------------------------------

    // scenario: JNN-010
    // proves: JOIN-040, JOIN-050, JOIN-052, JOIN-053
    [Fact]
    public async Task Over_its_message_comes_whole_and_once()
    {
        if (Abilities.AreMissing(Bed.Engine, Ability.EscapesInJson))
            return;
        var got = new List<OutboxMessage>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("step", (_, _) => Task.CompletedTask).Handle("ok", (message, _) =>
        {
            got.Add(message);
            return Task.CompletedTask;
        });
        Guid join = await Joins.StartJoinAsync(WithNext(2));
        await SendManyAsync(2, join);
        Bed.Clock.Advance(Second);
        Assert.Equal(3, await worker.DrainAsync());
        OutboxMessage next = Assert.Single(got);
        Assert.Equal(("it went well", "order 7", "news"), (next.Payload, next.CorrelationId, next.Headers["kind"]));
        JoinInfo over = await Joins.GetJoinAsync(join);
        Assert.Equal((JoinStatus.Completed, next.Id, Now + Second), (over.Status, over.ContinuationId, over.EndedAtUtc));
        Assert.Equal((0, 0), await NextAsync());
    }

    // scenario: JNN-011
    // proves: JOIN-051, JOIN-043, JOIN-100
    [Fact]
    public async Task Past_its_deadline_it_fails_with_timeout_and_is_frozen()
    {
        Guid join = await Joins.StartJoinAsync(new NewJoin(2)
        {
            DeadlineUtc = Now + Second,
            OnSuccess = new("ok", ""),
            OnFailure = new("bad", ""),
        });
        Guid[] ids = await SendManyAsync(2, join);
        await ClaimAsync();
        await Outbox.AckAsync(_owner, [ids[0]]);
        Assert.Equal(0, await Joins.ReapExpiredJoinsAsync());
        Bed.Clock.Advance(Second);
        Assert.Equal(1, await Joins.ReapExpiredJoinsAsync());
        Assert.Equal("timeout", (await Joins.GetJoinAsync(join)).Reason);
        Assert.Equal((0, 1), await NextAsync());
        await Outbox.AckAsync(_owner, [ids[1]]);
        await AssertJoinAsync(join, JoinStatus.Failed, 1, 0);
        Assert.Equal(0, await Joins.ReapExpiredJoinsAsync());
        Assert.Equal((0, 0), await NextAsync());
    }

    // scenario: JNN-012
    // proves: JOIN-100
    [Fact]
    public async Task Cancelled_while_it_is_open_once_and_nothing_is_enqueued()
    {
        Guid join = await Joins.StartJoinAsync(WithNext(1)), message = await SendAsync(join);
        Assert.False(await Joins.CancelJoinAsync(message));
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            Assert.True(await Joins.CancelJoinAsync(join, transaction));
            await transaction.RollbackAsync();
        }
        await AssertJoinAsync(join, JoinStatus.Open, 0, 0);
        Assert.True(await Joins.CancelJoinAsync(join));
        Assert.False(await Joins.CancelJoinAsync(join));
        await ClaimAsync();
        Assert.Equal(1, await Outbox.AckAsync(_owner, [message]));
        await AssertJoinAsync(join, JoinStatus.Cancelled, 0, 0);
        Assert.Equal((0, 0), await NextAsync());
    }

    // ---- messages that wait -----------------------------------------------------------------

    // scenario: JNN-014
    // proves: JOIN-054, JOIN-055
    [Fact]
    public async Task Waiting_for_a_join_it_is_given_out_when_that_is_over()
    {
        Guid join = await Joins.StartJoinAsync(2), cancelled = await Joins.StartJoinAsync(2);
        Guid waits = await Outbox.EnqueueJoinWaitAsync(join);
        DbConnection connection = Bed.Connect();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await Outbox.EnqueueJoinWaitAsync(join, transaction);
            await transaction.RollbackAsync();
        }
        await Outbox.EnqueueAsync(JoinExtensions.WaitTopic, $$"""{"mine":[1,2],"join":"{{cancelled}}"}""");
        Guid[] ids = await SendManyAsync(2, join);
        Assert.Empty(await ClaimAsync(JoinExtensions.WaitTopic));
        Assert.Equal(OutboxMessageStatus.Ready, await Bed.StatusAsync(waits));
        Assert.Equal(2, (await ClaimAsync()).Count);
        await Outbox.AckAsync(_owner, [ids[0]]);
        Bed.Clock.Advance(40 * Second);
        Assert.Empty(await ClaimAsync(JoinExtensions.WaitTopic));
        await Outbox.AckAsync(_owner, [ids[1]]);
        Bed.Clock.Advance(Second);
        OutboxMessage given = Assert.Single(await ClaimAsync(JoinExtensions.WaitTopic));
        Assert.Equal((waits, 0), (given.Id, given.Attempt));
        await Joins.CancelJoinAsync(cancelled);
        given = Assert.Single(await ClaimAsync(JoinExtensions.WaitTopic));
        Assert.Equal(($$"""{"mine":[1,2],"join":"{{cancelled}}"}""", 0), (given.Payload, given.Attempt));
    }

    // scenario: JNN-015
    // proves: JOIN-056
    [Fact]
    public async Task Waiting_for_no_join_it_is_a_dead_letter()
    {
        Guid unknown = await Outbox.EnqueueJoinWaitAsync(WaypostStore.NewId());
        Guid none = await Outbox.EnqueueAsync(JoinExtensions.WaitTopic, "{}");
        Assert.Empty(await ClaimAsync(JoinExtensions.WaitTopic));
        Page<OutboxMessageInfo> dead = await Outbox.ListDeadLettersAsync();
        Assert.Equal([unknown, none], dead.Select(info => info.Message.Id).Order());
        Assert.All(dead, info => Assert.Contains("join", info.LastError));
    }

    // scenario: JNN-016
    // proves: JOIN-041, JOIN-042, JOIN-050, JOIN-051, JOIN-054, BND-003
    [Fact]
    public async Task Worker_handles_all_members_and_what_comes_after_them()
    {
        int steps = 0;
        var got = new List<string>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("step", (_, _) => Interlocked.Increment(ref steps) % 2 == 0
            ? throw new RejectException("no") : Task.CompletedTask);
        foreach (string topic in new[] { "ok", "bad", JoinExtensions.WaitTopic })
            worker.Handle(topic, (_, _) =>
            {
                lock (got)
                    got.Add(topic);
                return Task.CompletedTask;
            });
        Guid lenient = await Joins.StartJoinAsync(WithNext(6, failIfAny: false));
        Guid strict = await Joins.StartJoinAsync(WithNext(6));
        await Outbox.EnqueueJoinWaitAsync(strict);
        await SendManyAsync(6, lenient, strict);
        Assert.Equal(9, await worker.DrainAsync());
        await AssertJoinAsync(lenient, JoinStatus.Completed, 3, 3);
        await AssertJoinAsync(strict, JoinStatus.Failed, 3, 3);
        Assert.Equal(["bad", "join.wait", "ok"], got.Order(StringComparer.Ordinal));
    }

    // ---- looking ----------------------------------------------------------------------------

    // scenario: JNN-013
    // proves: JOIN-003, JOIN-100
    [Fact]
    public async Task Listed_by_grouping_key_and_cleaned_up_when_over_long_ago()
    {
        var joins = new Guid[5];
        for (int n = 0; n < 5; n++)
            joins[n] = await Joins.StartJoinAsync(n < 2 ? 1 : 3, n % 2 == 0 ? "even" : "odd");
        Page<JoinInfo> page = await Joins.ListJoinsAsync("even", limit: 2);
        Assert.Equal([joins[0], joins[2]], page.Select(join => join.Id));
        page = await Joins.ListJoinsAsync("even", page, 2);
        Assert.Equal(joins[4], Assert.Single(page).Id);
        page = await Joins.ListJoinsAsync("even", page, 2);
        Assert.Empty(page);
        Assert.Empty(await Joins.ListJoinsAsync("even", page, 2));

        Guid[] ids = await SendManyAsync(3, joins[4]);
        Assert.True(await Joins.ReportStepFailedAsync(joins[4], ids[1]));
        Page<JoinMember> members = await Joins.ListJoinMembersAsync(joins[4], limit: 2);
        Assert.Equal([new(ids[0], JoinMemberStatus.Waiting), new(ids[1], JoinMemberStatus.Failed)], members);
        members = await Joins.ListJoinMembersAsync(joins[4], members, 2);
        Assert.Equal([new(ids[2], JoinMemberStatus.Waiting)], members);

        Assert.True(await Joins.ReportStepCompletedAsync(joins[0], await SendAsync(joins[0])));
        Bed.Clock.Advance(Second);
        Assert.True(await Joins.CancelJoinAsync(joins[1]));
        Assert.Equal(1, await Joins.CleanupJoinsAsync(Second));
        Assert.Null(await Joins.FindJoinAsync(joins[0]));
        Assert.Empty(await Joins.ListJoinMembersAsync(joins[0]));
        Assert.Equal(1, await Joins.CleanupJoinsAsync(TimeSpan.Zero));
        Assert.Equal(joins[2..], (await Joins.ListJoinsAsync()).Select(join => join.Id));
    }
}

public sealed class JoinsOnSqlite() : JoinTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class JoinsOnPostgreSql() : JoinTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class JoinsOnMariaDb() : JoinTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class JoinsOnSqlServer() : JoinTests(Engine.SqlServer);
