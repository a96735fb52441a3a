// SPDX-License-Identifier: Apache-2.0
// Several stores in one worker: scenarios WRK-120 to WRK-125 of tests/conformance/scenarios.md.
using System.Collections.Concurrent;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public abstract class StoresTests : IDisposable
{
    private readonly Bed _bed;
    private readonly WaypostOptions _app;
    private readonly WaypostOptions _side;
    private readonly WaypostRouter _router;
    private readonly ConcurrentQueue<(string Store, string Payload)> _seen = new();

    protected StoresTests(Engine engine)
    {
        _bed = new Bed(engine);
        _app = new WaypostOptions { Url = _bed.Url, StoreId = "app" };
        _side = new WaypostOptions
        {
            Url = Engine.Sqlite.NewUrl(_bed.Folder),
            StoreId = "side",
            Deploy = true,
        };
        _router = _bed.Keep(new WaypostRouter(Options(), Quiet.Instance));
        _router.Set([_app, _side]);
    }

    private static WaypostOptions Options() => new()
    {
        Worker = { PollMin = TimeSpan.FromMilliseconds(10), PollMax = TimeSpan.FromMilliseconds(50) },
    };

    public void Dispose() => _bed.Dispose();

    private OutboxWorker Note(OutboxWorker worker) => _bed.Keep(worker).Handle("t", (delivery, _) =>
    {
        _seen.Enqueue((delivery.StoreId, delivery.Payload));
        return Task.CompletedTask;
    });

    private string Order => string.Concat(_seen.Select(one => one.Store[0]));

    private async Task SendAsync(string store, int times = 1)
    {
        for (int i = 0; i < times; i++)
            await _router.GetOutbox(store).EnqueueAsync("t", store);
    }

    private async Task<TopicStats> TotalAsync(string store) =>
        (await _router.GetOutbox(store).GetStatsAsync()).Total;

    private static async Task UntilAsync(Func<Task<bool>> condition)
    {
        DateTime limit = DateTime.UtcNow + Bed.Patience;
        while (!await condition())
        {
            Assert.True(DateTime.UtcNow < limit, "in time");
            await Task.Delay(1);
        }
    }

    private Task UntilDoneAsync(string store, long count) =>
        UntilAsync(async () => (await TotalAsync(store)).Done == count);

    // scenario: WRK-120
    // proves: MDB-001, OBX-066, OBX-070
    [Fact]
    public async Task Stores_of_two_engines_each_message_once_and_from_its_own()
    {
        OutboxWorker worker = Note(_router.CreateWorker());
        worker.Start();
        for (int i = 0; i < 20; i++)
        {
            await SendAsync("app");
            await SendAsync("side");
        }
        await UntilDoneAsync("app", 20);
        await UntilDoneAsync("side", 20);
        Assert.Equal(40, _seen.Count);
        Assert.All(_seen, one => Assert.Equal(one.Store, one.Payload));
    }

    // proves: MDB-001
    [Fact]
    public void Store_that_was_removed_ends_with_the_last_one_who_uses_it()
    {
        WeakReference used = Used();
        _router.Set([_side]);
        for (int i = 0; i < 10 && used.IsAlive; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.False(used.IsAlive);
        Assert.Throws<NotFoundException>(() => _router.GetStore("app"));

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        WeakReference Used() => new(_router.GetStore("app"));
    }

    // scenario: WRK-121
    // proves: MDB-001
    [Fact]
    public async Task Store_that_fails_holds_up_none_of_the_others()
    {
        var dead = new WaypostOptions
        {
            Url = "postgresql://nobody@127.0.0.1:1/none",
            StoreId = "dead",
        };
        _router.Set([dead, _app, _side]);
        Note(_router.CreateWorker()).Start();
        await SendAsync("app", 5);
        await SendAsync("side", 5);
        await UntilDoneAsync("app", 5);
        await UntilDoneAsync("side", 5);
        Assert.Throws<UnavailableException>(() => _router.GetStore("dead"));
    }

    // scenario: WRK-122
    // proves: OBX-078
    [Fact]
    public async Task Store_removed_and_added_again_loses_nothing()
    {
        OutboxWorker worker = Note(_router.GetStore("side").CreateWorker());
        WaypostStore app = _router.GetStore("app");
        worker.AddStore(app);
        Assert.ThrowsAny<InvalidOperationException>(() => worker.AddStore(app));
        await Assert.ThrowsAsync<NotFoundException>(
            () => worker.RemoveStoreAsync("none", TimeSpan.Zero));
        await SendAsync("app", 30);
        worker.Start();
        await UntilAsync(() => Task.FromResult(!_seen.IsEmpty));
        Assert.Equal(0, await worker.RemoveStoreAsync("app", Bed.Patience));
        TopicStats stats = await TotalAsync("app");
        Assert.Equal((0, 30), (stats.InProgress, stats.Ready + stats.Done));
        await SendAsync("side");
        await UntilDoneAsync("side", 1);
        worker.AddStore(app, "app");
        await UntilDoneAsync("app", 30);
        await UntilAsync(() => Task.FromResult(
            worker.CountersOf("app").Acked == 30 - stats.Done));
        Assert.Equal(31, _seen.Count);
    }

    // scenario: WRK-123
    // proves: OBX-072, OBX-073, OBX-074
    [Fact]
    public async Task Router_key_its_outbox_or_not_found()
    {
        Guid key = Guid.NewGuid();
        Assert.Equal("app", _router.GetStore("app").Id);
        Assert.Same(_router.GetOutbox("app"), _router.GetOutbox("app"));
        _router.Set([_app, new WaypostOptions { Url = _side.Url, Deploy = true, StoreId = key.ToString() }]);
        await _router.GetOutbox(key).EnqueueAsync("t", "x");
        Assert.Equal(1, (await TotalAsync(key.ToString())).Ready);
        Assert.Equal(0, (await TotalAsync("app")).Ready);
        Assert.Contains("none", Assert.Throws<InvalidOperationException>(
            () => _router.GetOutbox("none")).Message);
        Assert.ThrowsAny<ArgumentException>(() => _router.Set([_app, _app]));
        Assert.Contains("store \"bad\"", Assert.ThrowsAny<WaypostException>(() => _router.Set(
            [new WaypostOptions { Url = "sqlit:typo.db", StoreId = "bad" }])).Message);
        Assert.Equal(2, _router.Count);
        Assert.Equal(["app", key.ToString()], _router.StoreIds);
    }

    private sealed class Found(params WaypostOptions[] stores) : IInboxDatabaseDiscovery
    {
        public volatile WaypostOptions[]? Stores = stores; // null: it fails
        public int Failed;

        public Task<IEnumerable<WaypostOptions>> DiscoverDatabasesAsync(CancellationToken _)
        {
            if (Stores is { } now)
                return Task.FromResult<IEnumerable<WaypostOptions>>(now);
            Interlocked.Increment(ref Failed);
            throw new IOException("the catalogue cannot be read");
        }
    }

    // scenario: WRK-124
    // proves: OBX-075, OBX-076, OBX-077, OBX-078, OBX-079
    [Fact]
    public async Task Discovery_is_followed_and_keeps_what_it_had_when_it_fails()
    {
        Note(_router.CreateWorker()).Start();
        var found = new Found(_app);
        using var end = new CancellationTokenSource();
        Task running = _router.RunDiscoveryAsync(found, TimeSpan.FromMilliseconds(1), end.Token);
        await UntilAsync(() => Task.FromResult(_router.Count == 1));
        WaypostStore app = _router.GetStore("app");
        await SendAsync("app");
        await UntilDoneAsync("app", 1);
        found.Stores = [_app, _side];
        await UntilAsync(() => Task.FromResult(_router.Count == 2));
        Assert.Same(app, _router.GetStore("app"));
        await SendAsync("side");
        await UntilDoneAsync("side", 1);
        found.Stores = null;
        await UntilAsync(() => Task.FromResult(found.Failed > 2));
        Assert.Equal(2, _router.Count);
        await SendAsync("app");
        await UntilDoneAsync("app", 2);
        await end.CancelAsync();
        await running;
        _router.Set([_side]);
        Assert.Throws<NotFoundException>(() => _router.GetStore("app"));
        await SendAsync("side");
        await UntilDoneAsync("side", 2);
    }

    private sealed class PreferApp : IOutboxSelectionStrategy
    {
        public string? SelectNext(IReadOnlyList<StoreCandidate> candidates)
        {
            Assert.All(candidates, one => Assert.True(one is { Ready: > 0, Running: 0 }));
            return "app";
        }
    }

    private sealed class Fails : IOutboxSelectionStrategy
    {
        public string? SelectNext(IReadOnlyList<StoreCandidate> candidates) =>
            throw new InvalidDataException("no choice");
    }

    // scenario: WRK-125
    // proves: OBX-067, OBX-068, OBX-069, IBX-086, IBX-087, IBX-088
    [Fact]
    public async Task Selection_decides_whose_turn_it_is()
    {
        await TakesTurnsAsync("asasas", null, null);
        await TakesTurnsAsync("aassas", new OutboxWorkerOptions { Turn = 2 }, null);
        await TakesTurnsAsync("aaasss", new OutboxWorkerOptions { DrainFirst = true }, null);
        await TakesTurnsAsync("asasas", null, new RoundRobinOutboxSelectionStrategy());
        await TakesTurnsAsync("aaasss", null, new DrainFirstOutboxSelectionStrategy());
        await TakesTurnsAsync("asasas", null, new RoundRobinInboxSelectionStrategy());
        await TakesTurnsAsync("aaasss", null, new DrainFirstInboxSelectionStrategy());
        await TakesTurnsAsync("aaasss", null, new PreferApp());
        await TakesTurnsAsync("asasas", null, new Fails());
    }

    private async Task TakesTurnsAsync(
        string order, OutboxWorkerOptions? options, IOutboxSelectionStrategy? strategy)
    {
        _seen.Clear();
        OutboxWorker worker = Note(_router.CreateWorker(options, null, strategy));
        await SendAsync("app", 3);
        await SendAsync("side", 3);
        Assert.Equal(6, await worker.DrainAsync());
        Assert.Equal(order, Order);
    }

    // proves: OBX-067, OBX-075, IBX-086, IBX-093
    [Fact]
    public async Task Host_with_stores_or_discovery_routes_and_runs_one_worker()
    {
        foreach ((bool dynamic, bool inbox) in new[] { (false, false), (true, false), (true, true) })
        {
            HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
            if (inbox)
                builder.Services
                    .AddSingleton<IInboxDatabaseDiscovery>(new Found(_app, _side))
                    .AddSingleton<IInboxSelectionStrategy>(new DrainFirstInboxSelectionStrategy());
            else
                builder.Services
                    .AddSingleton<IOutboxDatabaseDiscovery>(new Found(_app, _side))
                    .AddSingleton<IOutboxSelectionStrategy>(new RoundRobinOutboxSelectionStrategy());
            WaypostBuilder waypost = dynamic
                ? builder.Services.AddDynamicWaypost(TimeSpan.FromMilliseconds(10))
                : builder.Services.AddWaypost([_app, _side]);
            _seen.Clear();
            waypost.AddHandler("t", (_, delivery, _) =>
            {
                _seen.Enqueue((delivery.StoreId, delivery.Payload));
                return Task.CompletedTask;
            });
            using IHost host = builder.Build();
            await host.StartAsync();
            var router = host.Services.GetRequiredService<IOutboxRouter>();
            await UntilAsync(() => Task.FromResult(
                host.Services.GetRequiredService<WaypostRouter>().Count == 2));
            await router.GetOutbox("app").EnqueueAsync("t", "app");
            await router.GetOutbox("side").EnqueueAsync("t", "side");
            await UntilAsync(() => Task.FromResult(_seen.Count == 2));
            await host.StopAsync();
            Assert.Equal(["app", "side"], _seen.Select(one => one.Store).Order());
        }
    }

    // proves: IBX-086, IBX-093
    [Fact]
    public async Task Host_with_two_discoveries_or_strategies_does_not_guess()
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Services
            .AddSingleton<IOutboxDatabaseDiscovery>(new Found(_app))
            .AddSingleton<IInboxDatabaseDiscovery>(new Found(_side));
        builder.Services.AddDynamicWaypost();
        using IHost host = builder.Build();
        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync());
        Assert.Contains("IInboxDatabaseDiscovery are both registered", error.Message);
    }
}

public sealed class SqliteStoresTests() : StoresTests(Engine.Sqlite);

public sealed class PostgreSqlStoresTests() : StoresTests(Engine.PostgreSql);
