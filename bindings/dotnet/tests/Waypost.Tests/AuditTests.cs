// SPDX-License-Identifier: Apache-2.0
// What operators change and see: scenarios AUD-001, DED-006 and LEA-010 of tests/conformance/scenarios.md.
using System.Data.Common;

namespace Waypost.Tests;

public abstract class AuditTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;

    protected Bed Bed { get; } = new(engine);

    public void Dispose() => Bed.Dispose();

    private static async Task BuryAsync<T>(IWorkQueue<T> queue, Guid id) where T : OutboxMessage
    {
        Guid owner = WaypostStore.NewId();
        T got = Assert.Single(await queue.ClaimAsync(owner, 30 * Second, 10));
        Assert.Equal(id, got.Id);
        Assert.Equal(1, await queue.FailAsync(owner, [got], "broken"));
    }

    private async Task<List<AuditEntry>> NotesAsync()
    {
        var all = new List<AuditEntry>();
        Page<AuditEntry>? page = null;
        do
        {
            page = await Bed.Store.ListAuditAsync(page, 2);
            all.AddRange(page);
        } while (page.Count > 0);
        return all;
    }

    // scenario: AUD-001
    // proves: DLQ-001, WRK-008
    [Fact]
    public async Task What_is_changed_by_hand_is_noted()
    {
        IOutbox outbox = Bed.Outbox;
        Assert.Empty(await NotesAsync());
        Guid first = await outbox.EnqueueAsync("t", "1");
        await BuryAsync(outbox, first);
        await BuryAsync(outbox, await outbox.EnqueueAsync("t", "2"));
        Bed.Clock.Advance(Second);
        await outbox.PauseTopicAsync("t", "Ann");
        Assert.Equal(1, await outbox.ReplayDeadLettersAsync(new() { Ids = [first] }, by: "Bob"));
        var filter = new DeadLetterFilter { Topic = "t", Reason = "broken" };
        Assert.Equal(1, await outbox.PurgeDeadLettersAsync(filter, by: "Cid"));
        Assert.Equal(0, await outbox.PurgeDeadLettersAsync(filter, by: "Cid")); // not noted
        List<AuditEntry> told = await NotesAsync();
        Assert.Equal(["dead.purge", "dead.replay", "topic.pause"], told.Select(entry => entry.Action));
        Assert.True(told[0].Number > told[1].Number && told[1].Number > told[2].Number);
        Assert.Equal(
            new AuditEntry(told[0].Number, Bed.Now + Second, "Cid", "dead.purge", WaypostQueue.Outbox, null,
                           """{"count":1,"topic":"t","reason":"broken"}"""),
            told[0]);
        Assert.Equal(("Bob", $"{first}"), (told[1].By, told[1].Subject));
        Assert.Equal(("t", null), (told[2].Subject, told[2].Detail));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Bed.Store.ListAuditAsync(limit: 0));
    }

    private async Task EditAsync<T>(IWorkQueue<T> queue, WaypostQueue which, Func<string, Task<Guid>> send)
        where T : OutboxMessage
    {
        Guid dead = await send("t");
        await BuryAsync(queue, dead);
        Guid alive = await send("other");
        Assert.True(await queue.EditDeadLetterAsync(dead, "new \u2603", "Ann"));
        Assert.False(await queue.EditDeadLetterAsync(alive, "new"));
        Assert.False(await queue.EditDeadLetterAsync(WaypostStore.NewId(), ""));
        AuditEntry entry = (await Bed.Store.ListAuditAsync())[0];
        Assert.Equal(("Ann", "dead.edit", $"{dead}", which),
                     (entry.By, entry.Action, entry.Subject, entry.Queue!.Value));
        Assert.Contains("\"newBytes\":7", entry.Detail, StringComparison.Ordinal);
        Assert.Single(await queue.ListDeadLettersAsync());
        Assert.Equal(1, await queue.ReplayDeadLettersAsync());
        Dictionary<Guid, string> payloads = (await queue.ClaimAsync(WaypostStore.NewId(), 30 * Second, 10))
            .ToDictionary(message => message.Id, message => message.Payload);
        Assert.Equal("new \u2603", payloads[dead]);
        Assert.NotEqual("new", payloads[alive]);
        await Assert.ThrowsAnyAsync<ArgumentException>(() => queue.EditDeadLetterAsync(dead, "a\0b"));
        await Assert.ThrowsAnyAsync<ArgumentException>(() => queue.EditDeadLetterAsync(dead, "\ud800"));
        await Assert.ThrowsAsync<ArgumentNullException>(() => queue.EditDeadLetterAsync(dead, null!));
    }

    // proves: WRK-008
    [Fact]
    public async Task What_is_done_to_a_job_by_hand_is_noted_with_who_did_it()
    {
        ISchedulerClient scheduler = Bed.Store.Scheduler;
        await scheduler.CreateOrUpdateJobAsync("j", "t", "@daily");
        await scheduler.TriggerJobAsync("j");
        Assert.Empty(await NotesAsync()); // the app's own
        await scheduler.SetJobEnabledAsync("j", false, "Ann");
        await scheduler.SetJobEnabledAsync("j", true);
        await scheduler.TriggerJobAsync("j", "Bob");
        DbConnection connection = Bed.Connect();
        foreach (bool commit in new[] { false, true })
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await scheduler.TriggerJobAsync("j", "Cid", transaction);
            await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
        }

        Assert.Equal(
            [("job.trigger", "Cid", "j"), ("job.trigger", "Bob", "j"), ("job.resume", null, "j"),
             ("job.pause", "Ann", "j")],
            (await NotesAsync()).Select(entry => (entry.Action, entry.By, entry.Subject)));
        string tooLong = new('x', 256);
        await Assert.ThrowsAsync<ArgumentException>(() => scheduler.TriggerJobAsync("j", tooLong));
        await Assert.ThrowsAsync<ArgumentException>(
            () => scheduler.SetJobEnabledAsync("j", true, tooLong));
        await Assert.ThrowsAsync<ArgumentNullException>(() => scheduler.TriggerJobAsync("j", (string)null!));
    }

    // scenario: DED-006
    // proves: DLQ-001
    [Fact]
    public async Task Dead_letter_is_edited_and_replayed()
    {
        ISchedulerClient scheduler = Bed.Store.Scheduler;
        await EditAsync(Bed.Outbox, WaypostQueue.Outbox, topic => Bed.Outbox.EnqueueAsync(topic, "1"));
        await EditAsync(Bed.Store.Inbox, WaypostQueue.Inbox, async topic =>
            (await Bed.Store.Inbox.EnqueueAsync(new InboxKey("src", topic), new NewOutboxMessage(topic, "1"))).Id!.Value);
        await EditAsync(scheduler.Timers, WaypostQueue.Timer, topic =>
            scheduler.ScheduleTimerAsync(topic, "1", Bed.Now));
        await EditAsync(scheduler.JobRuns, WaypostQueue.Job, async topic =>
        {
            await scheduler.CreateOrUpdateJobAsync(new JobDefinition(topic, topic, "1") { Cron = "@yearly" });
            return await scheduler.TriggerJobAsync(topic);
        });
    }

    // scenario: LEA-010
    // proves: LSE-001
    [Fact]
    public async Task Leases_and_semaphores_are_listed_by_name()
    {
        ILeases leases = Bed.Store.Leases;
        ISemaphores semaphores = Bed.Store.Semaphores;
        Assert.Empty(await leases.ListAsync());
        foreach (string name in new[] { "b", "a", "C" })
            await leases.AcquireOnceAsync(name, "me", 10 * Second);
        Assert.True(await leases.ReleaseAsync("b", "me"));
        DateTimeOffset until = Bed.Now + 10 * Second;
        Page<ListedLease> page = await leases.ListAsync(limit: 2);
        Assert.Equal(["C", "a"], page.Select(lease => lease.Name));
        Assert.Equal(new ListedLease("C", "me", until, 1, 1), page[0]);
        ListedLease released = Assert.Single(await leases.ListAsync(page, 2));
        Assert.Equal(("b", 0), (released.Name, released.Holders));
        Bed.Clock.Advance(10 * Second);
        Assert.Equal(new ListedLease("C", "me", until, 1, 0), (await leases.ListAsync())[0]); // expired
        await semaphores.SetLimitAsync("s", 2);
        await semaphores.AcquireOnceAsync("s", "me", 5 * Second);
        Assert.Equal([new ListedLease("s", null, until + 5 * Second, 2, 1)], await semaphores.ListAsync());
        page.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => leases.ListAsync(page));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => leases.ListAsync(limit: 0));
    }
}

public sealed class AuditOnSqlite() : AuditTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class AuditOnPostgreSql() : AuditTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class AuditOnMariaDb() : AuditTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class AuditOnSqlServer() : AuditTests(Engine.SqlServer);
