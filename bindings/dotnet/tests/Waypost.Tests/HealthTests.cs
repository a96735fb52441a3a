// SPDX-License-Identifier: Apache-2.0
// Health: scenarios HLT-101 to HLT-105 of tests/conformance/scenarios.md.
namespace Waypost.Tests;

public abstract class HealthTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

    protected Bed Bed { get; } = new(engine);

    public void Dispose() => Bed.Dispose();

    private Task<WaypostHealth> Of(HealthScope scope = HealthScope.All, TimeSpan? maxAge = null) =>
        Bed.Store.CheckHealthAsync(scope, maxAge, TimeSpan.FromMinutes(1));

    // scenario: HLT-101
    // proves: HLT-001
    [Fact]
    public async Task Nothing_to_do_is_healthy_and_has_its_data()
    {
        WaypostHealth health = await Bed.Store.CheckHealthAsync();
        Assert.Equal((WaypostHealthStatus.Healthy, ""), (health.Status, health.Reason));
        WaypostStoreHealth store = Assert.Single(health.Stores);
        Assert.Equal((Bed.Store.Id, 0L, 0L), (store.Id, store.Stale, store.Queues[WaypostQueue.Outbox].Ready));
        Assert.True(store.Latency > TimeSpan.Zero && store.SchemaVersion > 0);
        Assert.Contains("\"status\":\"healthy\"", health.Json);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Bed.Store.CheckHealthAsync(limit: TimeSpan.FromHours(2)));
    }

    // scenario: HLT-102
    // proves: HLT-001
    [Fact]
    public async Task Lease_that_is_over_is_degraded_until_it_is_reaped()
    {
        await Bed.Outbox.EnqueueAsync("t", "x");
        Assert.Single(await Bed.Outbox.ClaimAsync(WaypostStore.NewId(), Second, 10));
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of()).Status);
        Bed.Clock.Advance(Second + Microsecond);
        WaypostHealth health = await Of();
        Assert.Equal((WaypostHealthStatus.Degraded, 1L), (health.Status, health.Stores[0].Stale));
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of(HealthScope.Scheduler)).Status);
        await Bed.Outbox.ReapExpiredAsync();
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of()).Status);
    }

    // scenario: HLT-103
    // proves: HLT-001
    [Fact]
    public async Task Ready_for_longer_than_the_limit_is_overdue()
    {
        await Bed.Store.Scheduler.ScheduleTimerAsync("t", "x", Bed.Now);
        await Bed.Outbox.EnqueueAsync("t", "x");
        Bed.Clock.Advance(5 * Second);
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of(maxAge: 5 * Second)).Status);
        Bed.Clock.Advance(Microsecond);
        WaypostHealth health = await Of(maxAge: 5 * Second);
        Assert.Equal((WaypostHealthStatus.Degraded, 2L), (health.Status, health.Stores[0].Overdue));
        Assert.Equal(1L, (await Of(HealthScope.Scheduler, 5 * Second)).Stores[0].Overdue);
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of(maxAge: TimeSpan.Zero)).Status);
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of()).Status);
        Bed.Clock.Advance(300 * Second);
        Assert.Equal(WaypostHealthStatus.Degraded, (await Of()).Status);
    }

    // scenario: HLT-104
    // proves: HLT-001
    [Fact]
    public async Task Due_job_whose_run_nobody_makes_is_overdue()
    {
        await Bed.Store.Scheduler.CreateOrUpdateJobAsync(new JobDefinition("hourly", "t") { Cron = "0 * * * *" });
        Assert.Equal(WaypostHealthStatus.Healthy, (await Of(HealthScope.Scheduler, 5 * Second)).Status);
        Bed.Clock.Advance(3605 * Second + Microsecond);
        WaypostHealth health = await Of(HealthScope.Scheduler, 5 * Second);
        Assert.Equal(
            (WaypostHealthStatus.Degraded, 5 * Second + Microsecond), (health.Status, health.Stores[0].JobsLate));
    }

    // scenario: HLT-105
    // proves: HLT-001
    [Fact]
    public async Task Worker_is_healthy_only_while_it_runs()
    {
        using OutboxWorker worker = Bed.Store.CreateWorker();
        worker.Handle("t", (_, _) => Task.CompletedTask);
        Assert.Equal("the worker is not running", (await worker.CheckHealthAsync()).Reason);
        worker.Start();
        await Bed.UntilAsync(async () => (await worker.CheckHealthAsync()).Status == WaypostHealthStatus.Healthy);
        await worker.StopAsync(Second);
        Assert.Equal(WaypostHealthStatus.Unhealthy, (await worker.CheckHealthAsync()).Status);
    }
}

public sealed class HealthOnSqlite() : HealthTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class HealthOnPostgreSql() : HealthTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class HealthOnMariaDb() : HealthTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class HealthOnSqlServer() : HealthTests(Engine.SqlServer);
