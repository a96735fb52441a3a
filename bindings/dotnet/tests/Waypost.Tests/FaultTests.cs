// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a binding: the collector, the order of closing, use after closing, errors in
// odd places, the end of the process.
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public sealed class FaultTests : IDisposable
{
    private static readonly TimeSpan Patience = Bed.Patience;
    private readonly Bed _bed = new(Engine.Sqlite);
    private IOutbox Outbox => _bed.Outbox;

    public void Dispose() => _bed.Dispose();

    /// <summary>Collects all the time, on another thread.</summary>
    private sealed class Collecting : IDisposable
    {
        private readonly Thread _thread;
        private volatile bool _stop;

        public Collecting()
        {
            _thread = new Thread(() =>
            {
                while (!_stop)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
            });
            _thread.Start();
        }

        public void Dispose()
        {
            _stop = true;
            _thread.Join();
        }
    }

    // proves: BND-003
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Handles_and_handlers_survive_garbage_collection(bool later)
    {
        const int count = 3000;
        WaypostStore live = _bed.Live();
        var payloads = new ConcurrentQueue<string>();
        var kept = new ConcurrentQueue<OutboxDelivery>();
        OutboxWorker worker = _bed.Keep(live.CreateWorker());
        AddHandler(worker); // as a lambda that nothing else refers to
        await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, count).Select(n => new NewOutboxMessage("a", $"{n}")));
        using (new Collecting())
        {
            worker.Start();
            await Bed.UntilAsync(() => worker.Counters.Acked == count);
        }
        Assert.Equal(Enumerable.Range(0, count).Select(n => $"{n}").Order(), payloads.Order());
        Assert.All(kept, delivery => Assert.Contains(delivery.Payload, payloads));
        Assert.All(kept, delivery => Assert.ThrowsAny<Exception>(delivery.Done));
        Assert.All(kept, delivery => Assert.Equal(CancelReason.None, delivery.CancelReason));

        [MethodImpl(MethodImplOptions.NoInlining)]
        void AddHandler(OutboxWorker to) => to.Handle("a", async (d, _) =>
        {
            if (later)
                await Task.Yield();
            payloads.Enqueue(d.Payload);
            if (kept.Count < 50)
                kept.Enqueue(d);
        });
    }

    // proves: BND-003
    [Fact]
    public async Task Callbacks_of_drain_survive_garbage_collection()
    {
        OutboxWorker worker = _bed.Keep(_bed.Store.CreateWorker());
        int handled = 0;
        worker.Handle("a", async (_, _) =>
        {
            await Task.Yield();
            handled++;
        });
        await Outbox.EnqueueManyAsync(Enumerable.Range(0, 1000).Select(n => new NewOutboxMessage("a", $"{n}")));
        using (new Collecting())
            Assert.Equal(1000, await worker.DrainAsync());
        Assert.Equal(1000, handled);
    }

    [Fact]
    public async Task Stores_workers_and_handlers_are_freed()
    {
        for (int n = 0; n < 3; n++)
        {
            WeakReference[] references = await UseAsync();
            await Bed.UntilAsync(() =>
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                return references.All(reference => !reference.IsAlive);
            });
        }
    }

    private sealed class Counting : IOutboxHandler
    {
        public int Count;
        public string Topic => "a";

        public Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref Count);
            return Task.CompletedTask;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private async Task<WeakReference[]> UseAsync()
    {
        var handler = new Counting();
        var logger = new Records();
        var store = WaypostStore.Open(new WaypostOptions { Url = _bed.Url }, logger);
        OutboxWorker worker = store.CreateWorker().Handle(handler);
        await store.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await Bed.UntilAsync(() => handler.Count == 1);
        await worker.DisposeAsync();
        store.Dispose();
        OutboxWorker forgotten = _bed.Store.CreateWorker().Handle(handler); // neither run nor disposed of
        return [new(handler), new(logger), new(store), new(worker), new(forgotten)];
    }

    [Fact]
    public async Task Start_and_stop_leave_no_threads_behind()
    {
        WaypostStore live = _bed.Live();
        await Once();
        int before = Threads();
        for (int n = 0; n < 50; n++)
            await Once();
        await Bed.UntilAsync(() => Threads() <= before + 8); // the pool's own come and go

        async Task Once()
        {
            await using OutboxWorker worker = live.CreateWorker(new() { Concurrency = 4 });
            worker.Handle("a", (_, _) => Task.CompletedTask).Start();
        }

        static int Threads()
        {
            using var process = Process.GetCurrentProcess();
            return process.Threads.Count;
        }
    }

    // ---- closing ----------------------------------------------------------------------------

    // proves: BND-004
    [Fact]
    public async Task Closed_in_the_wrong_order()
    {
        var started = new TaskCompletionSource();
        var release = new TaskCompletionSource();
        WaypostStore store = _bed.Open();
        OutboxWorker worker = store.CreateWorker().HandleWithOutcome("a", async (_, _) =>
        {
            started.SetResult();
            await release.Task;
            return Outcome.Deferred;
        });
        await store.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        store.Dispose(); // before its worker
        worker.Dispose(); // before its delivery
        release.SetResult();
        store.Dispose();
        worker.Dispose();
        await worker.DisposeAsync();
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    // proves: BND-004
    [Fact]
    public async Task Use_after_dispose_is_told()
    {
        WaypostStore store = _bed.Open();
        IOutbox outbox = store.Outbox;
        OutboxWorker worker = store.CreateWorker().Handle("a", (_, _) => Task.CompletedTask);
        store.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => outbox.EnqueueAsync("a", "1"));
        await Assert.ThrowsAsync<ObjectDisposedException>(() => outbox.GetStatsAsync());
        using var connection = _bed.Engine.Connect(_bed.Store);
        await Assert.ThrowsAsync<ObjectDisposedException>(
            () => outbox.EnqueueAsync(new NewOutboxMessage("a", "1"), connection));
        Assert.Throws<ObjectDisposedException>(() => store.CreateWorker());
        Assert.Equal(0, await worker.DrainAsync()); // workers keep what they need
        worker.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => worker.DrainAsync());
        Assert.ThrowsAny<ObjectDisposedException>(() => worker.Counters);
        Assert.Equal(0, await worker.StopAsync(Patience));
    }

    [Fact]
    public async Task Dispose_while_calls_are_under_way_waits_for_them()
    {
        for (int n = 0; n < 20; n++)
        {
            WaypostStore store = _bed.Open();
            Task[] calls = Enumerable.Range(0, 8).Select(_ => Record.ExceptionAsync(async () =>
            {
                while (true)
                    await store.Outbox.GetStatsAsync(false);
            })).ToArray();
            await Task.Yield();
            store.Dispose();
            foreach (Task<Exception?> call in calls.Cast<Task<Exception?>>())
                Assert.IsType<ObjectDisposedException>(await call.WaitAsync(Patience));
        }
    }

    // ---- errors in odd places ---------------------------------------------------------------

    private sealed class Throwing : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;
        public bool IsEnabled(LogLevel logLevel) => true;
        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter) => throw new InvalidOperationException("full");
    }

    // proves: BND-003
    [Fact]
    public async Task Logger_that_throws_does_no_harm()
    {
        WaypostStore live = _bed.Live(logger: new Throwing());
        OutboxWorker worker = _bed.Keep(live.CreateWorker());
        worker.Handle("good", (_, _) => Task.CompletedTask);
        worker.Handle("bad", (_, _) => throw new FormatException("text"));
        Guid good = await live.Outbox.EnqueueAsync("good", "1");
        Guid bad = await live.Outbox.EnqueueAsync("bad", "1");
        worker.Start();
        await Bed.UntilAsync(async () => (await Outbox.GetAsync(good)).Status == OutboxMessageStatus.Done);
        await Bed.UntilAsync(async () => (await Outbox.GetAsync(bad)).Message.Attempt == 1);
        await worker.StopAsync(Patience);
    }

    [Fact]
    public async Task Bad_delay_of_a_retry_becomes_the_backoff()
    {
        OutboxWorker worker = _bed.Keep(_bed.Store.CreateWorker());
        worker.Handle("a", (d, _) => throw new RetryException("r", d.Attempt == 0 ? TimeSpan.MaxValue : -Bed.Second));
        Guid id = await Outbox.EnqueueAsync("a", "1");
        for (int attempt = 1; attempt < 3; attempt++)
        {
            await worker.DrainAsync();
            OutboxMessageInfo info = await Outbox.GetAsync(id);
            Assert.Equal((attempt, "r"), (info.Message.Attempt, info.LastError));
            _bed.Clock.Advance(60 * Bed.Second);
        }
    }

    // proves: BND-003
    [Fact]
    public async Task Handler_that_throws_elsewhere_still_counts_for_itself_alone()
    {
        WaypostStore live = _bed.Live();
        OutboxWorker worker = _bed.Keep(live.CreateWorker());
        worker.Handle("a", async (d, token) =>
        {
            token.Register(() => throw new InvalidOperationException("in a callback"));
            await Task.Run(() =>
            {
                if (d.Payload == "1")
                    throw new FormatException("on another thread");
            }, token);
        });
        var made = await live.Outbox.EnqueueManyAsync([new("a", "1"), new("a", "2")]);
        worker.Start();
        await Bed.UntilAsync(async () => (await Outbox.GetAsync(made[1].Id)).Status == OutboxMessageStatus.Done);
        await Bed.UntilAsync(async () => (await Outbox.GetAsync(made[0].Id)).Message.Attempt == 1);
        Assert.Contains("on another thread", (await Outbox.GetAsync(made[0].Id)).LastError);
        await worker.StopAsync(Patience);
    }

    [Fact]
    public async Task Context_of_the_start_is_kept_and_not_shared_between_handlers()
    {
        var local = new AsyncLocal<string?> { Value = "mine" };
        var seen = new ConcurrentQueue<string?>();
        OutboxWorker worker = _bed.Keep(_bed.Live().CreateWorker(new() { Concurrency = 1, Threads = 1 }));
        worker.Handle("a", (_, _) =>
        {
            seen.Enqueue(local.Value);
            local.Value = "changed by a handler";
            return Task.CompletedTask;
        });
        await Outbox.EnqueueManyAsync([new("a", "1"), new("a", "2"), new("a", "3")]);
        worker.Start();
        local.Value = "later";
        await Bed.UntilAsync(() => seen.Count == 3);
        Assert.Equal(["mine", "mine", "mine"], seen);
    }

    // proves: BND-003
    [Fact]
    public async Task Worker_survives_a_pool_that_is_blocked()
    {
        WaypostStore live = _bed.Live();
        OutboxWorker worker = _bed.Keep(live.CreateWorker());
        using var release = new ManualResetEventSlim();
        int handled = 0;
        worker.Handle("a", (_, _) =>
        {
            Interlocked.Increment(ref handled);
            return Task.CompletedTask;
        });
        await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, 100).Select(n => new NewOutboxMessage("a", $"{n}")));
        Task[] blocked = Enumerable.Range(0, 16).Select(_ => Task.Run(release.Wait)).ToArray();
        worker.Start();
        Bed.Until(() => Volatile.Read(ref handled) == 100);
        release.Set();
        await Task.WhenAll(blocked);
    }

    // ---- arguments and errors ---------------------------------------------------------------

    // proves: BND-004
    [Fact]
    public async Task Texts_that_have_no_faithful_form_are_refused()
    {
        foreach (string bad in new[] { "a\0b", "\ud800", "x\udc00" }) // runners do not pass these on
            await RefusedAsync(bad);
    }

    private async Task RefusedAsync(string bad)
    {
        NewOutboxMessage Make(string topic) => new(topic, "1");
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync(Make(bad)));
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync("a", bad));
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync("a", "1", correlationId: bad));
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync(new("a", "1") { UniqueKey = bad }));
        await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync(new("a", "1") { OrderingKey = bad }));
        foreach (var headers in new[] { new Dictionary<string, string> { [bad] = "x" }, new() { ["x"] = bad } })
            await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync(new("a", "1") { Headers = headers }));
        Assert.Throws<ArgumentException>(() => _bed.Store.CreateWorker(new() { Name = bad }));
        Assert.Equal(0, await _bed.CountAsync());
    }

    // proves: BND-004
    [Fact]
    public async Task Payload_that_is_not_utf8_is_refused()
    {
        foreach (byte[] bad in new byte[][] { [0xff], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [(byte)'a', 0, (byte)'b'] })
            await Assert.ThrowsAsync<ArgumentException>(() => Outbox.EnqueueAsync(new NewOutboxMessage("a", bad)));
        Assert.Equal(0, await _bed.CountAsync());
    }

    // proves: BND-004
    [Fact]
    public async Task Times_out_of_range_are_told_and_microseconds_are_kept()
    {
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Outbox.EnqueueAsync("a", "1", dueTimeUtc: DateTimeOffset.UnixEpoch.AddTicks(-1)));
        foreach (TimeSpan delay in new[] { TimeSpan.FromDays(366), TimeSpan.MaxValue })
            await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Outbox.EnqueueAsync(new("a", "1") { Delay = delay }));
        await Outbox.EnqueueAsync(new("a", "1") { Delay = -Bed.Second }); // now
        await Assert.ThrowsAsync<ArgumentException>(
            () => Outbox.EnqueueAsync(new("a", "1") { Delay = Bed.Second, DueTimeUtc = Bed.Now }));
        var due = new DateTimeOffset(2026, 3, 1, 17, 29, 59, TimeSpan.FromHours(5.5)).AddTicks(1_234_567);
        Guid id = await Outbox.EnqueueAsync("a", "1", dueTimeUtc: due);
        Assert.Equal(due.AddTicks(-7), (await Outbox.GetAsync(id)).Message.DueTimeUtc); // cut, not rounded
        id = await Outbox.EnqueueAsync("a", "1", dueTimeUtc: DateTimeOffset.MaxValue);
        Assert.Equal(9999, (await Outbox.GetAsync(id)).Message.DueTimeUtc.Year);
    }

    // proves: BND-004
    [Fact]
    public async Task Busy_database_is_transient_with_the_engines_code()
    {
        using var blocker = _bed.Engine.Connect(_bed.Store);
        Bed.Execute(blocker, "BEGIN IMMEDIATE");
        WaypostStore store = _bed.Open(options => options.BusyTimeout = TimeSpan.Zero);
        var error = await Assert.ThrowsAsync<UnavailableException>(() => store.Outbox.EnqueueAsync("a", "1"));
        Assert.True(error.IsTransient && error.IsRetriable && !error.OutcomeUnknown);
        Assert.Equal(5, error.NativeCode & 0xff);
        Assert.IsAssignableFrom<System.Data.Common.DbException>(error);
    }

    // proves: BND-004
    [Fact]
    public void Errors_of_opening()
    {
        string text = Path.Combine(_bed.Folder, "text.db");
        File.WriteAllText(text, string.Concat(Enumerable.Repeat("this is not a database. ", 200)));
        (string, Type)[] cases =
        [
            ("", typeof(ConfigException)), ("nosql:x", typeof(ConfigException)), ("sqlite:", typeof(ConfigException)),
            ($"sqlite:{_bed.Folder}/no/x.db", typeof(UnavailableException)), ($"sqlite:{text}", typeof(DatabaseException)),
        ];
        foreach ((string url, Type kind) in cases)
            Assert.Throws(kind, () => WaypostStore.Open(url, deploy: true, Quiet.Instance));
        Assert.Throws<ConfigException>(() => WaypostStore.Open(new WaypostOptions(), Quiet.Instance));
        Assert.Throws<ArgumentOutOfRangeException>(() => _bed.Store.CreateWorker(new() { Threads = 0 }));
        Assert.Throws<ConfigException>(() => _bed.Store.CreateWorker(new() { Concurrency = 0 }));
        OutboxWorker worker = _bed.Keep(_bed.Store.CreateWorker()).Handle("a", (_, _) => Task.CompletedTask);
        Assert.Throws<InvalidOperationException>(() => worker.Handle("a", (_, _) => Task.CompletedTask));
        Assert.Throws<ArgumentException>(() => worker.Handle("", (_, _) => Task.CompletedTask));
        Assert.Throws<ArgumentNullException>(() => worker.Handle("b", null!));
        Assert.Contains("worker.lease_ms", WaypostStore.DescribeOptions());
    }

    // proves: SDP-003
    [Theory]
    [InlineData("my app")]
    [InlineData("a\"b")]
    [InlineData("x'; DROP TABLE orders; --")]
    [InlineData("\U0001f600 @name :name ?")]
    public async Task Hostile_schema_names_are_safe(string schema)
    {
        WaypostStore store = _bed.Open(options => (options.Schema, options.Deploy) = (schema, true));
        await using (var transaction = await _bed.Connect().BeginTransactionAsync())
        {
            await store.Outbox.EnqueueAsync(new NewOutboxMessage("a", "1") { UniqueKey = "k" }, transaction);
            await transaction.CommitAsync();
        }
        Assert.Equal(1, (await store.Outbox.GetStatsAsync()).Total.Ready);
        Assert.Equal(0, await _bed.CountAsync());
        Assert.Equal(0, await _bed.OrdersAsync());
    }

    [Fact]
    public void Ids_sort_by_time()
    {
        Guid[] ids = Enumerable.Range(0, 1000).Select(_ => WaypostStore.NewId()).ToArray();
        Assert.Equal(1000, ids.Distinct().Count());
        Assert.Equal(ids.Select(id => id.ToString()).Order(StringComparer.Ordinal), ids.Select(id => id.ToString()));
        Assert.All(ids, id => Assert.Equal(7, id.Version));
    }

    [Fact]
    public void Manual_clock()
    {
        using var clock = new ManualClock(Bed.Now);
        clock.Advance(Bed.Second);
        clock.Jump(-2 * Bed.Second);
        Assert.Equal(Bed.Now - Bed.Second, clock.UtcNow);
        Assert.Throws<ArgumentOutOfRangeException>(() => clock.Advance(-Bed.Second));
    }

    // ---- one SQLite, native part ------------------------------------------------------------

    [Fact]
    public void One_copy_of_SQLite_is_in_the_process()
    {
        using var connection = new SqliteConnection("Data Source=:memory:");
        connection.Open();
        Assert.Null(SqliteCopies.Other());
        string[] loaded = File.ReadAllLines("/proc/self/maps").Where(line => line.Contains("libsqlite3"))
            .Select(line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[^1]).Distinct().ToArray();
        Assert.Single(loaded);
    }

    [Fact]
    public void Native_part_exports_nothing_but_its_entries()
    {
        string library = Path.Combine(AppContext.BaseDirectory, "libwaypost_net.so");
        using var nm = Process.Start(new ProcessStartInfo("nm", ["-D", "--defined-only", library]) { RedirectStandardOutput = true })!;
        string[] names = nm.StandardOutput.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => line.Split(' ')[^1]).ToArray();
        Assert.NotEmpty(names);
        Assert.All(names, name => Assert.StartsWith("CSharp_", name));
    }
}
