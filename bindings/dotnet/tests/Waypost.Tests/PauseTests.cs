// SPDX-License-Identifier: Apache-2.0
// Paused topics: scenarios PAU-001 and PAU-002 of tests/conformance/scenarios.md.
using System.Data.Common;

namespace Waypost.Tests;

public abstract class PauseTests(Engine engine) : IDisposable
{
    protected Bed Bed { get; } = new(engine);

    public void Dispose() => Bed.Dispose();

    // scenario: PAU-001
    // proves: WRK-008
    [Fact]
    public async Task Paused_it_is_left_alone_until_it_is_resumed()
    {
        var seen = new List<string>();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker());
        foreach (string topic in new[] { "left", "other" })
            worker.Handle(topic, (message, _) =>
            {
                seen.Add(message.Topic);
                return Task.CompletedTask;
            });
        Assert.True(await Bed.Outbox.PauseTopicAsync("left", "me"));
        Assert.False(await Bed.Outbox.PauseTopicAsync("left"));
        Assert.Equal([new PausedTopic("left", Bed.Now, "me")], await Bed.Outbox.ListPausedTopicsAsync());
        Assert.Empty(await Bed.Store.Scheduler.Timers.ListPausedTopicsAsync());
        await Bed.Outbox.EnqueueAsync("left", "1");
        await Bed.Outbox.EnqueueAsync("other", "1");
        Assert.Equal(1, await worker.DrainAsync());
        TopicStats stats = (await Bed.Outbox.GetStatsAsync()).Topics["left"];
        Assert.Equal((0L, 1L), (stats.Ready, stats.Paused));
        Assert.True(await Bed.Outbox.ResumeTopicAsync("left"));
        Assert.False(await Bed.Outbox.ResumeTopicAsync("left"));
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal(["other", "left"], seen);
        await Assert.ThrowsAnyAsync<ArgumentException>(() => Bed.Outbox.PauseTopicAsync(""));
        await Assert.ThrowsAsync<ArgumentNullException>(() => Bed.Outbox.PauseTopicAsync(null!));
    }

    // scenario: PAU-002
    // proves: WRK-008, BND-002
    [Fact]
    public async Task Paused_in_the_apps_transaction_goes_with_its_rollback()
    {
        IWorkQueue<OutboxMessage> timers = Bed.Store.Scheduler.Timers;
        DbConnection connection = Bed.Connect();
        foreach (bool commit in new[] { false, true })
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Assert.True(await timers.PauseTopicAsync("t", null, transaction));
            await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
            Assert.Equal(commit ? 1 : 0, (await timers.ListPausedTopicsAsync()).Count);
        }
    }
}

public sealed class PauseOnSqlite() : PauseTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class PauseOnPostgreSql() : PauseTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class PauseOnMariaDb() : PauseTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class PauseOnSqlServer() : PauseTests(Engine.SqlServer);
