// SPDX-License-Identifier: Apache-2.0
// Workers: scenarios WRK-101 to WRK-119 of tests/conformance/scenarios.md.
using System.Collections.Concurrent;
using System.Data.Common;
using Microsoft.Extensions.Logging;

namespace Waypost.Tests;

public abstract class WorkerTests(Engine engine) : IDisposable
{
    private static readonly TimeSpan Second = Bed.Second;
    private static readonly TimeSpan Patience = Bed.Patience;
    private static readonly DateTimeOffset Now = Bed.Now;

    protected Bed Bed { get; } = new(engine);
    private IOutbox Outbox => Bed.Outbox;

    public void Dispose() => Bed.Dispose();

    private OutboxWorker Worker(Action<OutboxWorkerOptions>? configure = null, WaypostStore? store = null)
    {
        var options = new OutboxWorkerOptions();
        configure?.Invoke(options);
        return Bed.Keep((store ?? Bed.Store).CreateWorker(options));
    }

    private async Task<long> HandledAsync(WaypostStore store, string topic) =>
        (await store.Outbox.GetStatsAsync()).Topics[topic].Done;

    // ---- outcomes ---------------------------------------------------------------------------

    // scenario: WRK-101
    // proves: OBX-054, OBX-057, OBX-032, BND-003
    [Fact]
    public async Task Handler_gets_the_whole_message_and_done_acks_it()
    {
        OutboxDelivery? got = null;
        OutboxWorker worker = Worker(options => options.Name = "w1").Handle("orders.created", async (d, token) =>
        {
            await Task.Yield();
            got = d;
            Assert.False(token.IsCancellationRequested);
            Assert.Equal(CancelReason.None, d.CancelReason);
        });
        EnqueueResult made = await Outbox.EnqueueAsync(new("orders.created", "\U0001f600")
        {
            CorrelationId = "c",
            OrderingKey = "k",
            ExpiresAtUtc = Now + 60 * Second,
            Headers = new Dictionary<string, string> { ["traceparent"] = "00-ab-cd-01" },
        });
        Assert.Equal(1, await worker.DrainAsync());
        Assert.NotNull(got);
        Assert.Equal((made.Id, "orders.created", "\U0001f600", "c", "k"),
                     (got.Id, got.Topic, got.Payload, got.CorrelationId, got.OrderingKey));
        Assert.Equal((0, 1L, Now, Now, Now + 60 * Second),
                     (got.Attempt, got.ClaimNumber, got.CreatedAtUtc, got.DueTimeUtc, got.ExpiresAtUtc!.Value));
        Assert.Equal("00-ab-cd-01", Assert.Single(got.Headers).Value);
        OutboxMessageInfo info = await Outbox.GetAsync(made.Id);
        Assert.Equal((OutboxMessageStatus.Done, "w1"), (info.Status, info.ProcessedBy));
        Assert.Equal((1, 1), (worker.Counters.Claimed, worker.Counters.Acked));
    }

    private sealed class Simple(List<OutboxMessage> got) : IOutboxHandler
    {
        public string Topic => "a";

        public Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken)
        {
            got.Add(message);
            return Task.CompletedTask;
        }
    }

    // proves: BND-003
    [Fact]
    public async Task Handler_as_a_class()
    {
        var got = new List<OutboxMessage>();
        OutboxWorker worker = Worker().Handle(new Simple(got));
        Guid id = await Outbox.EnqueueAsync("a", "1");
        await worker.DrainAsync();
        Assert.Equal(id, Assert.Single(got).Id);
        Assert.Equal(OutboxMessageStatus.Done, await Bed.StatusAsync(id));
    }

    // scenario: WRK-102
    // proves: WRK-004, OBX-056
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Retry_with_delay_and_reason(bool thrown)
    {
        var attempts = new List<int>();
        OutboxWorker worker = Worker().HandleWithOutcome("a", (d, _) =>
        {
            attempts.Add(d.Attempt);
            if (d.Attempt > 0)
                return Task.FromResult(Outcome.Done);
            return thrown ? throw new RetryException("not yet", 5 * Second)
                          : Task.FromResult(Outcome.Retry("not yet", 5 * Second));
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        await worker.DrainAsync();
        OutboxMessageInfo info = await Outbox.GetAsync(id);
        Assert.Equal(("not yet", Now + 5 * Second), (info.LastError, info.NextAttemptUtc!.Value));
        Assert.Equal(0, await worker.DrainAsync());
        Bed.Clock.Advance(5 * Second);
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal([0, 1], attempts);
        Assert.Equal(OutboxMessageStatus.Done, await Bed.StatusAsync(id));
    }

    private sealed class Odd : Exception
    {
        public override string Message => throw new NotSupportedException("no text");
    }

    public static TheoryData<string, string> Failures => new()
    {
        { "throws", "FormatException: text" },
        { "throws later", "FormatException: text" },
        { "no text", "Odd" },
        { "odd text", "Exception: nul \\0 \ufffd" },
        { "cancelled", "cancelled: by itself" },
        { "null task", "InvalidOperationException: the handler returned null" },
        { "default", "" },
        { "aggregate", "AggregateException: One or more errors occurred. (text)" },
    };

    private static async Task<Outcome> Fail(string how)
    {
        if (how == "throws later")
            await Task.Delay(1);
        return how switch
        {
            "no text" => throw new Odd(),
            "odd text" => throw new Exception("nul \0 \ud800"),
            "cancelled" => throw new OperationCanceledException(),
            "aggregate" => throw new AggregateException(new FormatException("text")),
            "default" => default,
            _ => throw new FormatException("text"),
        };
    }

    // scenario: WRK-103
    // proves: BND-003, OBX-056, OBX-088
    [Theory]
    [MemberData(nameof(Failures))]
    public async Task Handler_that_throws_or_returns_nothing_useful_is_retried_with_its_text(string how, string reason)
    {
        foreach (bool running in new[] { false, true })
        {
            WaypostStore store = running ? Bed.Live() : Bed.Store;
            string topic = $"topic {running}";
            OutboxWorker worker = Worker(store: store).HandleWithOutcome(topic, (_, _) =>
                how == "throws" ? throw new FormatException("text") // before there is a task
                : how == "null task" ? null!
                : Fail(how));
            Guid id = await store.Outbox.EnqueueAsync(topic, "secret");
            if (running)
            {
                worker.Start();
                await Bed.UntilAsync(async () => (await store.Outbox.GetAsync(id)).Message.Attempt == 1);
                await worker.StopAsync(Patience);
            }
            else
            {
                await worker.DrainAsync();
            }
            OutboxMessageInfo info = await store.Outbox.GetAsync(id);
            Assert.Equal((OutboxMessageStatus.Ready, 1), (info.Status, info.Message.Attempt));
            Assert.StartsWith(reason, info.LastError ?? "");
        }
    }

    // proves: OBX-088, BND-003
    [Fact]
    public async Task Exception_is_logged_once_and_without_the_payload()
    {
        var records = new Records();
        OutboxWorker worker = Bed.Keep(Bed.Store.CreateWorker(logger: records))
            .Handle("a", (_, _) => throw new FormatException("text"));
        await Outbox.EnqueueAsync("a", "secret");
        await worker.DrainAsync();
        var error = Assert.Single(records.All, record => record.Level == LogLevel.Error);
        Assert.IsType<FormatException>(error.Error);
        Assert.DoesNotContain(records.All, record => record.Text.Contains("secret"));
    }

    // scenario: WRK-104
    // proves: WRK-004
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Reject_makes_a_dead_letter_at_once(bool thrown)
    {
        OutboxWorker worker = Worker().HandleWithOutcome("a", (_, _) =>
            thrown ? throw new RejectException("never") : Task.FromResult(Outcome.Reject("never")));
        Guid id = await Outbox.EnqueueAsync("a", "1");
        await worker.DrainAsync();
        OutboxMessageInfo info = await Outbox.GetAsync(id);
        Assert.Equal((OutboxMessageStatus.Failed, "never"), (info.Status, info.LastError));
        Assert.Equal(1, worker.Counters.Failed);
    }

    // proves: WRK-004, OBX-116
    [Fact]
    public async Task Release_gives_the_message_back_at_once_with_the_same_attempt()
    {
        var attempts = new List<int>();
        OutboxWorker worker = Worker(options => options.MaxAttempts = 1).HandleWithOutcome("a", (d, _) =>
        {
            attempts.Add(d.Attempt);
            if (attempts.Count == 2)
                d.Release();
            return Task.FromResult(attempts.Count == 1 ? Outcome.Release : Outcome.Done);
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        await worker.DrainAsync();
        OutboxMessageInfo info = await Outbox.GetAsync(id);
        Assert.Equal([0, 0, 0], attempts);
        Assert.Equal(OutboxMessageStatus.Done, info.Status);
        Assert.Null(info.LastError);
        Assert.Equal((2L, 0L), (worker.Counters.Released, worker.Counters.Abandoned));
    }

    // scenario: WRK-105
    // proves: OBX-064, OBX-065
    [Fact]
    public async Task Past_max_attempts_the_message_is_a_dead_letter()
    {
        var handled = new List<int>();
        OutboxWorker worker = Worker(options => options.MaxAttempts = 3).Handle("a", (d, _) =>
        {
            handled.Add(d.Attempt);
            throw new RetryException("again");
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        for (int n = 0; n < 5; n++)
        {
            await worker.DrainAsync();
            Bed.Clock.Advance(60 * Second);
        }
        OutboxMessageInfo info = await Outbox.GetAsync(id);
        Assert.Equal([0, 1, 2], handled);
        Assert.Equal((OutboxMessageStatus.Failed, "again", 3), (info.Status, info.LastError, info.Message.Attempt));
    }

    // scenario: WRK-106
    // proves: WRK-004
    [Fact]
    public async Task Deferred_delivery_is_finished_later_from_another_thread_or_task()
    {
        WaypostStore live = Bed.Live();
        var kept = new ConcurrentDictionary<string, OutboxDelivery>();
        OutboxWorker worker = Worker(store: live).HandleWithOutcome("a", (d, _) =>
        {
            kept[d.Payload] = d;
            return Task.FromResult(Outcome.Deferred);
        });
        var made = await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, 4).Select(n => new NewOutboxMessage("a", $"{n}")));
        worker.Start();
        await Bed.UntilAsync(() => kept.Count == 4);
        Assert.Equal(0, worker.Counters.Acked);
        var thread = new Thread(() => kept["0"].Done());
        thread.Start();
        thread.Join();
        await Task.Run(() => kept["1"].Retry("later", TimeSpan.FromDays(1)));
        kept["2"].Reject("never");
        for (int n = 0; n < 3; n++)
            await kept[$"{n}"].SettleAsync(Patience);
        Assert.Throws<InvalidOperationException>(kept["0"].Done);
        kept["3"].Dispose(); // forgotten
        await Bed.UntilAsync(async () => (await live.Outbox.GetAsync(made[3].Id)).Message.Attempt == 1);
        await worker.StopAsync(Patience);
        OutboxMessageInfo[] infos = await Task.WhenAll(made.Select(one => live.Outbox.GetAsync(one.Id)));
        Assert.Equal([OutboxMessageStatus.Done, OutboxMessageStatus.Ready, OutboxMessageStatus.Failed, OutboxMessageStatus.Ready],
                     infos.Select(info => info.Status));
        Assert.Equal(["later", "never"], infos[1..3].Select(info => info.LastError));
    }

    // scenario: WRK-106
    // proves: WRK-004, BND-003
    [Fact]
    public async Task Deferred_delivery_that_nobody_kept_is_retried()
    {
        WaypostStore live = Bed.Live();
        OutboxWorker worker = Worker(store: live)
            .HandleWithOutcome("a", (_, _) => Task.FromResult(Outcome.Deferred));
        Guid id = await live.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await Bed.UntilAsync(async () =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return (await live.Outbox.GetAsync(id)).Message.Attempt == 1;
        });
    }

    // scenario: WRK-107
    // proves: WRK-004
    [Fact]
    public async Task Pull_deliveries_one_by_one()
    {
        WaypostStore live = Bed.Live();
        OutboxWorker worker = Worker(store: live).Subscribe("a");
        Assert.Throws<InvalidOperationException>(worker.Start);
        Assert.Null(await worker.NextAsync(TimeSpan.Zero));
        var made = await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, 3).Select(n => new NewOutboxMessage("a", $"{n}")));
        Action<OutboxDelivery>[] finish = [d => d.Done(), d => d.Retry("r"), d => d.Reject("x")];
        for (int n = 0; n < 3; n++)
        {
            using OutboxDelivery? delivery = await worker.NextAsync(Patience);
            Assert.NotNull(delivery);
            Assert.Equal(made[n].Id, delivery.Id);
            await Assert.ThrowsAsync<InvalidOperationException>(() => delivery.SettleAsync(TimeSpan.Zero));
            finish[n](delivery);
            await delivery.SettleAsync(Patience);
        }
        Assert.Equal(0, await worker.StopAsync(Patience));
        Assert.Null(await worker.NextAsync(Patience));
        OutboxMessageInfo[] infos = await Task.WhenAll(made.Select(one => live.Outbox.GetAsync(one.Id)));
        Assert.Equal([OutboxMessageStatus.Done, OutboxMessageStatus.Ready, OutboxMessageStatus.Failed],
                     infos.Select(info => info.Status));
    }

    // scenario: WRK-108
    // proves: OBX-110, OBX-055
    [Fact]
    public async Task Topic_without_a_handler_is_left_alone_and_shows()
    {
        OutboxWorker worker = Worker().Handle("a", (_, _) => Task.CompletedTask);
        await Outbox.EnqueueAsync("a", "1");
        await Outbox.EnqueueAsync("nobody", "1");
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal(1, (await Outbox.GetStatsAsync()).Topics["nobody"].Ready);
        OutboxWorker all = Worker(options => options.AllTopics = true).Handle("b", (_, _) => Task.CompletedTask);
        await all.DrainAsync();
        Assert.Equal(1, (await Outbox.GetStatsAsync()).Topics["nobody"].Scheduled);
    }

    // ---- cancellation, stop -----------------------------------------------------------------

    // scenario: WRK-109
    // proves: WRK-003, OBX-060
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Handler_past_its_timeout_is_told_and_the_others_go_on(bool blocking)
    {
        WaypostStore live = Bed.Live();
        var reasons = new ConcurrentQueue<CancelReason>();
        OutboxWorker worker = Worker(store: live);
        worker.Handle("slow", async (d, token) =>
        {
            try
            {
                if (blocking)
                    token.WaitHandle.WaitOne(Patience);
                else
                    await Task.Delay(Patience, token);
                token.ThrowIfCancellationRequested();
            }
            finally
            {
                reasons.Enqueue(d.CancelReason);
            }
        }, new() { Timeout = TimeSpan.FromMilliseconds(50) });
        worker.Handle("fast", (_, _) => Task.CompletedTask);
        Guid slow = await live.Outbox.EnqueueAsync("slow", "1");
        Guid fast = await live.Outbox.EnqueueAsync("fast", "1");
        worker.Start();
        await Bed.UntilAsync(async () => (await live.Outbox.GetAsync(fast)).Status == OutboxMessageStatus.Done);
        await Bed.UntilAsync(async () => (await live.Outbox.GetAsync(slow)).Message.Attempt == 1);
        await Bed.UntilAsync(() => !reasons.IsEmpty);
        Assert.Equal([CancelReason.Timeout], reasons);
        Assert.NotNull((await live.Outbox.GetAsync(slow)).LastError);
    }

    // scenario: WRK-110
    // proves: OBX-116
    [Fact]
    public async Task Stop_lets_a_running_handler_finish_and_gives_unstarted_work_back()
    {
        WaypostStore live = Bed.Live();
        var handled = new ConcurrentQueue<Guid>();
        var started = new TaskCompletionSource();
        OutboxWorker worker = Worker(options => options.Concurrency = options.Threads = 1, live);
        worker.Handle("a", async (d, token) =>
        {
            started.TrySetResult();
            await Bed.UntilAsync(() => token.IsCancellationRequested);
            Assert.Equal(CancelReason.Stop, d.CancelReason);
            handled.Enqueue(d.Id);
        });
        var made = await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, 10).Select(n => new NewOutboxMessage("a", $"{n}")));
        worker.Start();
        await started.Task.WaitAsync(Patience);
        Assert.Equal(0, await worker.StopAsync(Patience));
        Assert.Equal([made[0].Id], handled);
        OutboxMessageInfo[] infos = await Task.WhenAll(made.Select(one => live.Outbox.GetAsync(one.Id)));
        Assert.Equal(OutboxMessageStatus.Done, infos[0].Status);
        Assert.All(infos[1..], info => Assert.Equal(OutboxMessageStatus.Ready, info.Status));
        Assert.All(infos, info => Assert.Equal(0, info.Message.Attempt));
        Assert.Equal(0, await worker.StopAsync(Patience));
        Assert.Throws<InvalidOperationException>(worker.Start);
    }

    // proves: OBX-116
    [Fact]
    public async Task Handler_that_a_stop_cancels_gives_its_message_back()
    {
        WaypostStore live = Bed.Live();
        var started = new TaskCompletionSource();
        OutboxWorker worker = Worker(store: live);
        worker.Handle("a", async (_, token) =>
        {
            started.TrySetResult();
            await Task.Delay(Patience, token);
        });
        Guid id = await live.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        Assert.Equal(0, await worker.StopAsync(Patience));
        OutboxMessageInfo info = await live.Outbox.GetAsync(id);
        Assert.Equal((OutboxMessageStatus.Ready, 0, null), (info.Status, info.Message.Attempt, info.LastError));
        Assert.Equal(1L, worker.Counters.Released);
    }

    // scenario: WRK-111
    // proves: OBX-116
    [Fact]
    public async Task Stop_returns_by_its_deadline_though_a_handler_does_not()
    {
        WaypostStore live = Bed.Live();
        using var release = new ManualResetEventSlim();
        var started = new TaskCompletionSource();
        var ended = new TaskCompletionSource();
        OutboxWorker worker = Worker(store: live).Handle("a", (d, _) =>
        {
            started.SetResult();
            release.Wait();
            try
            {
                d.Done();
                ended.SetResult();
            }
            catch (WaypostException e)
            {
                ended.SetException(e);
            }
            return Task.CompletedTask;
        });
        await live.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        Assert.Equal(1, await worker.StopAsync(TimeSpan.FromMilliseconds(50)));
        Assert.False(ended.Task.IsCompleted);
        release.Set();
        await Assert.ThrowsAsync<StoppedException>(() => ended.Task.WaitAsync(Patience));
    }

    // scenario: WRK-110
    // proves: OBX-116
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stop_from_a_handler_and_from_many_threads(bool afterAwait)
    {
        WaypostStore live = Bed.Live();
        OutboxWorker? worker = null;
        long? result = null;
        worker = Worker(store: live).Handle("a", async (_, _) =>
        {
            if (afterAwait)
                await Task.Delay(1);
            result = await worker!.StopAsync(Patience);
        });
        Guid id = await live.Outbox.EnqueueAsync("a", "1");
        await worker.RunAsync().WaitAsync(Patience); // ends because the handler stops it
        Assert.Equal(0, result);
        await Bed.UntilAsync(async () => (await live.Outbox.GetAsync(id)).Status == OutboxMessageStatus.Done);
        OutboxWorker other = Worker(store: live).Handle("b", (_, _) => Task.CompletedTask);
        other.Start();
        await Task.WhenAll(Enumerable.Range(0, 10).Select(_ => other.StopAsync(Patience))).WaitAsync(Patience);
    }

    // scenario: WRK-110
    // proves: OBX-116
    [Fact]
    public async Task Handler_that_is_cancelled_by_the_stop_gives_its_message_back()
    {
        WaypostStore live = Bed.Live();
        var started = new TaskCompletionSource();
        OutboxWorker worker = Worker(store: live).Handle("a", async (_, token) =>
        {
            started.SetResult();
            await Task.Delay(Patience, token);
        });
        Guid id = await live.Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        Assert.Equal(0, await worker.StopAsync(Patience));
        Assert.Equal(OutboxMessageStatus.Ready, (await live.Outbox.GetAsync(id)).Status);
    }

    // scenario: WRK-112
    // proves: OBX-114, OBX-115
    [Fact]
    public async Task Lease_that_is_taken_away_is_told_and_finishing_says_so()
    {
        var started = new TaskCompletionSource();
        var told = new TaskCompletionSource<(CancelReason, Exception?)>();
        OutboxWorker worker = Worker(options => options.Lease = 30 * Second).Handle("a", async (d, token) =>
        {
            started.SetResult();
            await Bed.UntilAsync(() => token.IsCancellationRequested);
            Exception? error = await Record.ExceptionAsync(async () =>
            {
                d.Done();
                await d.SettleAsync(Patience);
            });
            told.SetResult((d.CancelReason, error));
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        using var ahead = new ManualClock(Now + TimeSpan.FromHours(1)); // another host, whose clock is wrong
        WaypostStore other = Bed.Open(clock: ahead);
        worker.Start();
        await started.Task.WaitAsync(Patience);
        Assert.Equal(1, await other.Outbox.ReapExpiredAsync());
        ahead.Advance(TimeSpan.FromHours(1));
        Guid owner = WaypostStore.NewId();
        var claim = await other.Outbox.ClaimAsync(owner, TimeSpan.FromHours(1), 10);
        Assert.Single(claim);
        Bed.Clock.Advance(20 * Second); // past 60 % of the lease: it is renewed
        (CancelReason reason, Exception? error) = await told.Task.WaitAsync(Patience);
        Assert.Equal(CancelReason.LeaseLost, reason);
        Assert.IsType<LeaseLostException>(error);
        await worker.StopAsync(Patience);
        Assert.Equal((1, 0), (worker.Counters.LeasesLost, worker.Counters.Acked));
        Assert.Equal(1, await other.Outbox.AckAsync(owner, claim));
        Assert.Equal(1, (await other.Outbox.GetAsync(id)).Message.Attempt);
    }

    // scenario: WRK-113
    // proves: OBX-049, OBX-053, OBX-064
    [Fact]
    public async Task Poison_message_whose_workers_die_ends_as_a_dead_letter()
    {
        Guid id = await Outbox.EnqueueAsync("a", "1");
        OutboxWorker reaper = Worker(options => options.MaxAttempts = 3).Handle("a", (_, _) => Task.CompletedTask);
        for (int n = 0; n < 3; n++)
        {
            // A worker of limit 3 that takes it and is never heard of again: its clock stands still.
            using var frozen = new ManualClock(Bed.Clock.UtcNow);
            OutboxWorker dying = Bed.Open(options => options.Worker.MaxAttempts = 3, clock: frozen)
                .CreateWorker(new() { Lease = Second }).Subscribe("a");
            OutboxDelivery? taken = await dying.NextAsync(Patience);
            Assert.NotNull(taken);
            Bed.Keep(dying);
            Bed.Clock.Advance(2 * Second);
            await Outbox.ReapExpiredAsync();
            Bed.Clock.Advance(100 * Second);
        }
        OutboxMessageInfo info = await Outbox.GetAsync(id);
        Assert.Equal((OutboxMessageStatus.Failed, "lease expired"), (info.Status, info.LastError));
        Assert.Equal(0, await reaper.DrainAsync());
    }

    // proves: OBX-115
    [Fact]
    public async Task Lease_of_a_running_handler_is_renewed_though_it_blocks()
    {
        using var release = new ManualResetEventSlim();
        var started = new TaskCompletionSource();
        OutboxWorker worker = Worker(options => options.Lease = 10 * Second).Handle("a", (_, _) =>
        {
            started.SetResult();
            release.Wait();
            return Task.CompletedTask;
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        for (int renewed = 1; renewed < 6; renewed++)
        {
            Bed.Clock.Advance(7 * Second);
            await Bed.UntilAsync(() => worker.Counters.Renewed >= renewed);
        }
        Assert.Equal(0, await Outbox.ReapExpiredAsync());
        release.Set();
        await Bed.UntilAsync(async () => await Bed.StatusAsync(id) == OutboxMessageStatus.Done);
        Assert.Equal(0, worker.Counters.LeasesLost);
    }

    // ---- concurrency ------------------------------------------------------------------------

    // scenario: WRK-114
    // proves: OBX-059, OBX-060, WRK-003
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Messages_run_in_parallel_up_to_the_concurrency_and_each_once(bool blocking)
    {
        WaypostStore live = Bed.Live();
        using var barrier = new Barrier(4);
        var waiting = new ConcurrentQueue<TaskCompletionSource>();
        var handled = new ConcurrentQueue<string>();
        int running = 0, most = 0;
        OutboxWorker worker = Worker(options => options.Concurrency = 4, live).Handle("a", async (d, _) =>
        {
            int now = Interlocked.Increment(ref running);
            lock (handled)
                most = Math.Max(most, now);
            handled.Enqueue(d.Payload);
            if (blocking)
                Assert.True(barrier.SignalAndWait(Patience)); // passes only when four are here at once
            else
                await Meet();
            Interlocked.Decrement(ref running);
        });
        await live.Outbox.EnqueueManyAsync(Enumerable.Range(0, 40).Select(n => new NewOutboxMessage("a", $"{n}")));
        worker.Start();
        await Bed.UntilAsync(() => worker.Counters.Acked == 40);
        Assert.Equal(4, most);
        Assert.Equal((40, 40), (handled.Count, handled.Distinct().Count()));

        async Task Meet()
        {
            var mine = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (waiting)
            {
                waiting.Enqueue(mine);
                if (waiting.Count == 4)
                    while (waiting.TryDequeue(out TaskCompletionSource? one))
                        one.SetResult();
            }
            await mine.Task.WaitAsync(Patience);
        }
    }

    // scenario: WRK-115
    // proves: OBX-113, BND-002
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Handler_completes_in_the_apps_own_transaction(bool running)
    {
        int times = 0;
        OutboxWorker worker = Worker(options => options.Name = "w1").Handle("a", async (d, token) =>
        {
            await using DbConnection connection = Bed.Engine.Connect(Bed.Store);
            await using DbTransaction transaction = await connection.BeginTransactionAsync(token);
            Bed.InsertOrder(connection, transaction);
            await d.CompleteAsync(transaction, token);
            if (times++ > 0)
                await transaction.CommitAsync(token);
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        if (running)
            worker.Start();
        else
            await worker.DrainAsync();
        await Bed.UntilAsync(async () => (await Outbox.GetAsync(id)).Message.Attempt == 1);
        Assert.Equal(0, await Bed.OrdersAsync());
        Assert.Equal(OutboxMessageStatus.Ready, await Bed.StatusAsync(id));
        Bed.Clock.Advance(60 * Second);
        if (!running)
            await worker.DrainAsync();
        await Bed.UntilAsync(async () => await Bed.StatusAsync(id) == OutboxMessageStatus.Done);
        Assert.Equal(1, await Bed.OrdersAsync());
        Assert.Equal("w1", (await Outbox.GetAsync(id)).ProcessedBy);
        await Assert.ThrowsAsync<InvalidOperationException>(
            async () => await (await Outbox.GetAsync(id)).Message.CompleteAsync(null!));
    }

    // scenario: WRK-116
    // proves: WRK-007
    [Fact]
    public async Task Drain_and_step()
    {
        var handled = new List<string>();
        OutboxWorker worker = Worker().Handle("a", async (d, _) =>
        {
            handled.Add(d.Payload);
            if (d.Payload == "0")
                await Outbox.EnqueueAsync("a", "child");
        });
        Assert.Equal((0, 0), (await worker.StepAsync(), await worker.DrainAsync()));
        for (int n = 0; n < 3; n++)
            await Outbox.EnqueueAsync("a", $"{n}");
        await Outbox.EnqueueAsync("a", "later", dueTimeUtc: Now + 60 * Second);
        Assert.Equal(1, await worker.StepAsync());
        Assert.Equal(["0"], handled);
        Assert.Equal(3, await worker.DrainAsync());
        Assert.Equal(["0", "1", "2", "child"], handled);
        Assert.Equal(1, (await Outbox.GetStatsAsync()).Total.Scheduled);
        Bed.Clock.Advance(60 * Second);
        Assert.Equal(1, await worker.DrainAsync());
        Assert.Equal(5, worker.Counters.Acked);
        worker.Start();
        await Assert.ThrowsAsync<InvalidOperationException>(worker.StepAsync);
    }

    // scenario: WRK-117
    // proves: CLK-001
    [Theory]
    [InlineData(1)]
    [InlineData(-1)]
    public async Task Jump_of_the_wall_clock_loses_no_lease_of_running_work(int hours)
    {
        var handled = new ConcurrentQueue<int>();
        var started = new TaskCompletionSource();
        var release = new TaskCompletionSource();
        OutboxWorker worker = Worker(options => (options.Lease, options.Reap) = (30 * Second, Second));
        worker.Handle("a", async (d, _) =>
        {
            handled.Enqueue(d.Attempt);
            started.TrySetResult();
            await release.Task;
        });
        Guid id = await Outbox.EnqueueAsync("a", "1");
        worker.Start();
        await started.Task.WaitAsync(Patience);
        int renewed = 0;
        foreach (int seconds in new[] { 20, 1, 20, 20 })
        {
            renewed++;
            Bed.Clock.Advance(seconds * Second);
            await Bed.UntilAsync(() => worker.Counters.Renewed >= renewed);
            if (renewed == 1)
                Bed.Clock.Jump(TimeSpan.FromHours(hours));
        }
        release.SetResult();
        await Bed.UntilAsync(async () => await Bed.StatusAsync(id) == OutboxMessageStatus.Done);
        Assert.Equal([0], handled);
        Assert.Equal(0, worker.Counters.LeasesLost);
    }

    // scenario: WRK-118
    // proves: WRK-005
    [Fact]
    public async Task Two_workers_on_two_stores_do_not_mix()
    {
        string[] names = ["one", "two"];
        var handled = names.ToDictionary(name => name, _ => new ConcurrentQueue<string>());
        WaypostStore[] stores = names.Select(name => Bed.Open(options =>
        {
            (options.StoreId, options.Schema, options.Deploy) = (name, name, true);
        })).ToArray();
        OutboxWorker[] workers = names.Select((name, i) => Worker(store: stores[i]).Handle("a", (d, _) =>
        {
            handled[name].Enqueue(d.Payload);
            return Task.CompletedTask;
        })).ToArray();
        for (int i = 0; i < 2; i++)
            await stores[i].Outbox.EnqueueManyAsync(
                Enumerable.Range(0, 100).Select(n => new NewOutboxMessage("a", $"{names[i]}{n}")));
        Array.ForEach(workers, worker => worker.Start());
        await Bed.UntilAsync(() => workers.All(worker => worker.Counters.Acked == 100));
        foreach (string name in names)
            Assert.Equal(Enumerable.Range(0, 100).Select(n => $"{name}{n}").Order(), handled[name].Order());
    }

    // scenario: WRK-119
    // proves: WRK-003
    [Fact]
    public async Task Options_of_one_topic_differ_from_the_workers()
    {
        OutboxWorker worker = Worker(options =>
        {
            options.MaxAttempts = 5;
            options.BackoffBase = options.BackoffMax = 10 * Second;
            options.BackoffJitter = 0;
        });
        Func<OutboxDelivery, CancellationToken, Task> fail = (_, _) => throw new RetryException("again");
        worker.Handle("default", fail);
        worker.Handle("once", fail, new() { MaxAttempts = 1 });
        worker.Handle("slow", fail, new() { BackoffBase = 100 * Second, BackoffMax = 100 * Second });
        Guid standard = await Outbox.EnqueueAsync("default", "1");
        Guid once = await Outbox.EnqueueAsync("once", "1");
        Guid slow = await Outbox.EnqueueAsync("slow", "1");
        await worker.DrainAsync();
        Assert.Equal(OutboxMessageStatus.Failed, await Bed.StatusAsync(once));
        Assert.Equal(Now + 10 * Second, (await Outbox.GetAsync(standard)).NextAttemptUtc);
        Assert.Equal(Now + 100 * Second, (await Outbox.GetAsync(slow)).NextAttemptUtc);
        Assert.Throws<ArgumentException>(() => worker.Handle("x", fail, new() { Name = "y" }));
    }

    // scenario: WRK-119
    [Fact]
    public async Task Handler_whose_options_are_refused_is_not_registered()
    {
        OutboxWorker worker = Worker();
        Assert.ThrowsAny<Exception>(() => worker.Handle(
            "a", (_, _) => Task.CompletedTask, new() { Concurrency = 2, MaxAttempts = 0 }));
        Guid id = await Outbox.EnqueueAsync("a", "1");
        worker.Handle("b", (_, _) => Task.CompletedTask);
        await worker.DrainAsync();
        Assert.Equal(OutboxMessageStatus.Ready, await Bed.StatusAsync(id));
        worker = Worker();
        Assert.ThrowsAny<Exception>(() => worker.Handle("a", (_, _) => Task.CompletedTask, new() { MaxAttempts = 0 }));
        worker.Handle("a", (_, _) => Task.CompletedTask);
        await worker.DrainAsync();
        Assert.Equal(OutboxMessageStatus.Done, await Bed.StatusAsync(id));
    }
}

public sealed class WorkersOnSqlite() : WorkerTests(Engine.Sqlite);

[Trait("Engine", "postgresql")]
public sealed class WorkersOnPostgreSql() : WorkerTests(Engine.PostgreSql);

[Trait("Engine", "mariadb")]
public sealed class WorkersOnMariaDb() : WorkerTests(Engine.MariaDb);

[Trait("Engine", "sqlserver")]
public sealed class WorkersOnSqlServer() : WorkerTests(Engine.SqlServer);
