// SPDX-License-Identifier: Apache-2.0
// Dead letters and cleanup: scenarios DED-001 to DED-004 of tests/conformance/scenarios.md.
namespace Waypost.Tests;

public abstract class DeadLetterTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly DateTimeOffset Now = Bed.Now;

    protected Bed Bed { get; } = new(engine);

    public void Dispose() => Bed.Dispose();

    private async Task<Guid> DeadAsync(string queue, string topic, string payload, string reason)
    {
        Guid owner = WaypostStore.NewId();
        if (queue == "outbox")
            await Bed.Outbox.EnqueueAsync(topic, payload);
        else
            await Bed.Store.Inbox.EnqueueAsync(topic, "src", payload, payload);
        return queue == "outbox" ? await FailAsync(Bed.Outbox, owner, reason)
                                 : await FailAsync(Bed.Store.Inbox, owner, reason);
    }

    private static async Task<Guid> FailAsync<T>(IWorkQueue<T> queue, Guid owner, string reason)
        where T : OutboxMessage
    {
        T got = Assert.Single(await queue.ClaimAsync(owner, 30 * Second, 10));
        Assert.Equal(1, await queue.FailAsync(owner, [got], reason));
        return got.Id;
    }

    private static IEnumerable<string> Payloads(IEnumerable<OutboxMessageInfo> infos) =>
        infos.Select(info => info.Message.Payload);

    // scenario: DED-001
    // proves: DLQ-001
    [Fact]
    public async Task Listed_in_pages_and_by_topic_reason_time_and_ids()
    {
        var ids = new List<Guid>();
        for (int n = 0; n < 5; n++)
        {
            ids.Add(await DeadAsync("outbox", n < 3 ? "a" : "b", $"{n}", n == 2 ? "card expired" : "no"));
            Bed.Clock.Advance(Second);
        }
        await Bed.Outbox.EnqueueAsync("a", "alive");
        var seen = new List<string>();
        Page<OutboxMessageInfo>? page = null;
        do
        {
            page = await Bed.Outbox.ListDeadLettersAsync(null, page, 2);
            seen.AddRange(Payloads(page));
        } while (page.Count == 2);
        Assert.Equal(["0", "1", "2", "3", "4"], seen);
        page.Dispose();
        Assert.Equal("4", page[0].Message.Payload);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => Bed.Outbox.ListDeadLettersAsync(null, page));
        OutboxMessageInfo expired = Assert.Single(await Bed.Outbox.ListDeadLettersAsync(new() { Reason = "expired" }));
        Assert.Equal((OutboxMessageStatus.Failed, "card expired", ids[2], Now + 2 * Second),
                     (expired.Status, expired.LastError, expired.Message.Id, expired.ProcessedAtUtc!.Value));
        Assert.Equal(["3", "4"], Payloads(await Bed.Outbox.ListDeadLettersAsync(new() { Topic = "b" })));
        Assert.Equal(["1", "2"], Payloads(await Bed.Outbox.ListDeadLettersAsync(
            new() { FromUtc = Now + Second, UntilUtc = Now + 2 * Second })));
        Assert.Equal(["0", "4"], Payloads(await Bed.Outbox.ListDeadLettersAsync(new() { Ids = [ids[4], ids[0]] })));
        Assert.Empty(await Bed.Outbox.ListDeadLettersAsync(new() { Topic = "b", Reason = "expired" }));
        await Assert.ThrowsAsync<ArgumentException>(() => Bed.Outbox.ListDeadLettersAsync(new() { Ids = [] }));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Bed.Outbox.ListDeadLettersAsync(limit: 0));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Bed.Outbox.ListDeadLettersAsync(limit: 1001));
    }

    // scenario: DED-001, DED-002, DED-003
    // proves: DLQ-001
    [Theory]
    [InlineData(WaypostQueue.Timer)]
    [InlineData(WaypostQueue.Job)]
    public async Task Those_of_timers_and_runs_are_listed_replayed_and_purged_too(WaypostQueue which)
    {
        ISchedulerClient scheduler = Bed.Store.Scheduler;
        IWorkQueue<OutboxMessage> queue = which == WaypostQueue.Timer ? scheduler.Timers : scheduler.JobRuns;
        await scheduler.CreateOrUpdateJobAsync(
            new JobDefinition("j", "a", "1") { Cron = "@daily", Overlap = JobOverlap.Allow });
        for (int n = 0; n < 2; n++)
        {
            await scheduler.ScheduleTimerAsync("a", "1", Now);
            await scheduler.TriggerJobAsync("j");
        }
        Guid owner = WaypostStore.NewId();
        Assert.Equal(2, await queue.FailAsync(owner, await queue.ClaimAsync(owner, 30 * Second, 10), "no"));
        Page<OutboxMessageInfo> page = await queue.ListDeadLettersAsync(limit: 1);
        Page<OutboxMessageInfo> next = await queue.ListDeadLettersAsync(null, page, 1);
        Assert.Equal(["1"], Payloads(next));
        Assert.NotEqual(page[0].Message.Id, next[0].Message.Id);
        Assert.Empty(await queue.ListDeadLettersAsync(null, next, 1));
        Assert.Equal(1, await queue.ReplayDeadLettersAsync(new() { Ids = [page[0].Message.Id] }));
        OutboxMessage again = Assert.Single(await queue.ClaimAsync(owner, 30 * Second, 10));
        Assert.Equal((page[0].Message.Id, 0), (again.Id, again.Attempt));
        Assert.Equal(1, await queue.PurgeDeadLettersAsync());
        Assert.Empty(await queue.ListDeadLettersAsync());
        Assert.Equal(1, (await queue.GetStatsAsync()).Total.InProgress);
    }

    // scenario: DED-001
    // proves: DLQ-001
    [Fact]
    public async Task Those_of_the_inbox_say_where_they_come_from()
    {
        await DeadAsync("inbox", "a", "1", "no");
        OutboxMessageInfo dead = Assert.Single(await Bed.Store.Inbox.ListDeadLettersAsync());
        Assert.Equal(("src", "1", "no"), (dead.Inbox!.Source, dead.Inbox.MessageId, dead.LastError));
        Assert.Empty(await Bed.Outbox.ListDeadLettersAsync());
    }

    // scenario: DED-002
    // proves: DLQ-001
    [Theory]
    [InlineData("outbox")]
    [InlineData("inbox")]
    public async Task Replayed_they_are_ready_with_no_attempts_and_handled(string queue)
    {
        await DeadAsync(queue, "a", "1", "no");
        await DeadAsync(queue, "b", "2", "no");
        var got = new List<OutboxDelivery>();
        WaypostQueue source = queue == "outbox" ? WaypostQueue.Outbox : WaypostQueue.Inbox;
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        worker.Handle("a", (delivery, _) =>
        {
            got.Add(delivery);
            return Task.CompletedTask;
        }, queue: source);
        var filter = new DeadLetterFilter { Topic = "a" };
        Assert.Equal(1, queue == "outbox" ? await Bed.Outbox.ReplayDeadLettersAsync(filter, by: "me")
                                          : await Bed.Store.Inbox.ReplayDeadLettersAsync(filter, by: "me"));
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal(("1", 0), (Assert.Single(got).Payload, got[0].Attempt));
    }

    // scenario: DED-002
    // proves: DLQ-001
    [Fact]
    public async Task Replayed_at_a_rate_they_are_due_one_after_the_other()
    {
        for (int n = 0; n < 4; n++)
            await DeadAsync("outbox", "a", $"{n}", "no");
        Assert.Equal(3, await Bed.Outbox.ReplayDeadLettersAsync(limit: 3, perSecond: 1));
        for (int n = 0; n < 3; n++)
        {
            Assert.Equal([$"{n}"], await Bed.ClaimPayloadsAsync());
            Bed.Clock.Advance(Second);
        }
        Assert.Equal(["3"], Payloads(await Bed.Outbox.ListDeadLettersAsync()));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Bed.Outbox.ReplayDeadLettersAsync(limit: 0));
    }

    // scenario: DED-003
    // proves: DLQ-001
    [Fact]
    public async Task Purged_they_are_gone_and_the_rest_stays()
    {
        foreach (string queue in new[] { "outbox", "inbox" })
            for (int n = 0; n < 3; n++)
                await DeadAsync(queue, n == 0 ? "a" : "b", $"{n}", "no");
        Assert.Equal(1, await Bed.Outbox.PurgeDeadLettersAsync(new() { Topic = "a" }));
        Assert.Equal(1, await Bed.Outbox.PurgeDeadLettersAsync(limit: 1));
        Assert.Equal(["2"], Payloads(await Bed.Outbox.ListDeadLettersAsync()));
        Assert.Equal(3, await Bed.Store.Inbox.PurgeDeadLettersAsync());
        Assert.Equal(InboxState.New, (await Bed.Store.Inbox.CheckAsync(new("0", "src"))).Found);
    }

    // scenario: DED-005
    // proves: DLQ-001
    [Fact]
    public async Task Those_of_all_queues_are_one_list()
    {
        foreach (string topic in new[] { "early", "late" })
        {
            foreach (string queue in new[] { "outbox", "inbox" })
            {
                await DeadAsync(queue, topic, topic, "no");
                Bed.Clock.Advance(Second);
            }
            await Bed.Store.Scheduler.ScheduleTimerAsync(topic, topic, Now);
            await FailAsync(Bed.Store.Scheduler.Timers, WaypostStore.NewId(), "no");
            Bed.Clock.Advance(Second);
        }
        IDeadLetters all = Bed.Store.AllQueues;
        Page<OutboxMessageInfo> page = await all.ListDeadLettersAsync(limit: 4);
        Page<OutboxMessageInfo> next = await all.ListDeadLettersAsync(null, page, 4);
        WaypostQueue[] queues = [WaypostQueue.Outbox, WaypostQueue.Inbox, WaypostQueue.Timer];
        Assert.Equal([.. queues, .. queues], page.Concat(next).Select(info => info.Queue));
        Assert.Equal(["early", "early", "early", "late"], Payloads(page));
        Assert.Equal(0, await all.PurgeDeadLettersAsync(new() { Topic = "other" }));
        Assert.Equal(3, await all.ReplayDeadLettersAsync(new() { Topic = "early" }, perSecond: 1, by: "me"));
        Guid owner = WaypostStore.NewId();
        Assert.Single(await Bed.Outbox.ClaimAsync(owner, 30 * Second, 10));
        Assert.Empty(await Bed.Store.Inbox.ClaimAsync(owner, 30 * Second, 10)); // one a second, of all
        Bed.Clock.Advance(Second);
        Assert.Single(await Bed.Store.Inbox.ClaimAsync(owner, 30 * Second, 10));
        Assert.Equal(2, await all.PurgeDeadLettersAsync(limit: 2));
        Assert.Equal(1, await all.PurgeDeadLettersAsync());
        Assert.Equal(0, await all.CleanupAsync(TimeSpan.Zero));
    }

    // scenario: DED-004
    // proves: IBX-098..101
    [Fact]
    public async Task Cleanup_removes_what_was_finished_long_enough_ago_alone()
    {
        Guid owner = WaypostStore.NewId();
        async Task<Guid> Done()
        {
            await Bed.Outbox.EnqueueAsync("a", "1");
            OutboxMessage got = Assert.Single(await Bed.ClaimAsync(owner: owner));
            await Bed.Outbox.AckAsync(owner, [got]);
            return got.Id;
        }

        Guid old = await Done();
        await DeadAsync("outbox", "a", "dead", "no");
        Bed.Clock.Advance(10 * Second);
        Guid young = await Done();
        await Bed.Outbox.EnqueueAsync("a", "ready");
        Assert.Equal(1, await Bed.Outbox.CleanupAsync(10 * Second));
        Assert.Null(await Bed.Outbox.FindAsync(old));
        Assert.Equal(OutboxMessageStatus.Done, await Bed.StatusAsync(young));
        TopicStats total = (await Bed.Outbox.GetStatsAsync()).Total;
        Assert.Equal((1, 1, 1), (total.Done, total.Failed, total.Ready));
        await Bed.Store.Inbox.CheckAsync(new("1", "src"));
        await Bed.Store.Inbox.MarkProcessedAsync("1", "src");
        Assert.Equal(1, await Bed.Store.Inbox.CleanupAsync(TimeSpan.Zero));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Bed.Outbox.CleanupAsync(-Second));
    }
}

public sealed class DeadLettersOnSqlite() : DeadLetterTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class DeadLettersOnPostgreSql() : DeadLetterTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class DeadLettersOnMariaDb() : DeadLetterTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class DeadLettersOnSqlServer() : DeadLetterTests(Engine.SqlServer);
