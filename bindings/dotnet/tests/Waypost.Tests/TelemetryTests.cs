// SPDX-License-Identifier: Apache-2.0
// Spans by ActivitySource, and metrics by Meter.
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Waypost.Tests;

public sealed class TelemetryTests : IDisposable
{
    private readonly Bed _bed = new(Engine.Sqlite);

    public void Dispose() => _bed.Dispose();

    /// <summary>Listens to Waypost's spans of one trace, or all that have this correlation id.</summary>
    private sealed class Spans : IDisposable
    {
        private readonly ActivityListener _listener;

        public Spans()
        {
            _listener = new ActivityListener
            {
                ShouldListenTo = source => source.Name is "Waypost" or "Test",
                Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
                ActivityStopped = All.Enqueue,
            };
            ActivitySource.AddActivityListener(_listener);
        }

        private ConcurrentQueue<Activity> All { get; } = new();

        public Activity[] Of(ActivityTraceId trace) => [.. All.Where(span => span.TraceId == trace)];

        public void Dispose() => _listener.Dispose();
    }

    private static readonly ActivitySource Test = new("Test");

    // scenario: TRC-101
    // proves: TRC-001
    [Fact]
    public async Task Span_of_an_enqueue_is_the_parent_of_the_handlers_in_every_queue()
    {
        using var spans = new Spans();
        var seen = new ConcurrentDictionary<string, (ActivityTraceId, ActivitySpanId, string?)>();
        using OutboxWorker worker = _bed.Store.CreateWorker();
        foreach (WaypostQueue queue in new[] { WaypostQueue.Outbox, WaypostQueue.Inbox, WaypostQueue.Timer })
            worker.Handle("t", async (delivery, _) =>
            {
                Activity current = Activity.Current!;
                seen[delivery.Payload] = (current.TraceId, current.ParentSpanId, current.TraceStateString);
                if (delivery.Payload == "outbox")
                    await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "from a handler"));
            }, queue: queue);
        ActivityTraceId trace;
        Guid join;
        using (Activity root = Test.StartActivity("app")!)
        {
            root.TraceStateString = "a=1";
            trace = root.TraceId;
            await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "outbox") { CorrelationId = "c" });
            await _bed.Store.Inbox.EnqueueAsync(new InboxKey("1", "s"), new NewOutboxMessage("t", "inbox"));
            await _bed.Store.Scheduler.ScheduleTimerAsync(new NewOutboxMessage("t", "timer"));
            join = await _bed.Store.Joins.StartJoinAsync(
                new NewJoin(1) { OnSuccess = new NewOutboxMessage("t", "join") });
        }
        await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "member") { Joins = [join] });
        await worker.DrainAsync();
        Activity[] all = spans.Of(trace);
        Activity Send(string queue) => Assert.Single(
            all, s => s.Kind == ActivityKind.Producer && Equals(s.GetTagItem("waypost.queue"), queue)
                && s.ParentSpanId == all.Single(root => root.OperationName == "app").SpanId);
        Assert.Equal((trace, Send("outbox").SpanId, "a=1"), seen["outbox"]);
        Assert.Equal((trace, Send("inbox").SpanId, "a=1"), seen["inbox"]);
        Assert.Equal((trace, Send("timers").SpanId, "a=1"), seen["timer"]);
        Assert.Equal(trace, seen["join"].Item1);
        Assert.Equal(trace, seen["from a handler"].Item1);
        Activity send = Send("outbox");
        Assert.Equal("send t", send.DisplayName);
        Activity process = Assert.Single(all, s => s.Kind == ActivityKind.Consumer && s.ParentSpanId == send.SpanId);
        Assert.Equal("process t", process.DisplayName);
        Assert.Equal("waypost", process.GetTagItem("messaging.system"));
        Assert.Equal("t", process.GetTagItem("messaging.destination.name"));
        Assert.Equal("process", process.GetTagItem("messaging.operation.type"));
        Assert.Equal("c", process.GetTagItem("messaging.message.conversation_id"));
        Assert.Equal(send.GetTagItem("messaging.message.id"), process.GetTagItem("messaging.message.id"));
        Assert.True(process.HasRemoteParent);
        Assert.Equal(ActivityStatusCode.Unset, process.Status);
    }

    // proves: TRC-001
    [Fact]
    public async Task Header_that_was_given_stays_and_a_failure_is_told()
    {
        using var spans = new Spans();
        var trace = ActivityTraceId.CreateRandom();
        string given = $"00-{trace}-{ActivitySpanId.CreateRandom()}-01";
        using OutboxWorker worker = _bed.Store.CreateWorker();
        worker.Handle("t", (_, _) => throw new FormatException("no"));
        using (Test.StartActivity("app"))
            await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "x")
            {
                Headers = new Dictionary<string, string> { ["traceparent"] = given },
            });
        await worker.StepAsync();
        Activity process = Assert.Single(spans.Of(trace));
        Assert.Equal(given[36..52], process.ParentSpanId.ToString());
        Assert.Equal(ActivityStatusCode.Error, process.Status);
        Assert.Equal(typeof(FormatException).FullName, process.GetTagItem("error.type"));
    }

    // proves: TRC-001
    [Fact]
    public async Task Trace_goes_along_without_a_listener_and_the_workers_own_is_nobodys_parent()
    {
        using OutboxWorker worker = _bed.Live().CreateWorker();
        var seen = new ConcurrentDictionary<string, ActivityContext>();
        worker.Handle("t", async (delivery, _) =>
        {
            // What carries the trace is a span that nobody sees.
            Assert.Equal(delivery.TraceContext.TraceId, Activity.Current?.TraceId ?? default);
            await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("next", delivery.Payload));
            seen[delivery.Payload] = delivery.TraceContext;
        });
        worker.Handle("next", (delivery, _) =>
        {
            seen["after " + delivery.Payload] = delivery.TraceContext;
            return Task.CompletedTask;
        });
        using var starting = new Activity("starts the worker");
        starting.SetIdFormat(ActivityIdFormat.W3C).Start();
        worker.Start();
        starting.Stop();
        await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "none"));
        using var activity = new Activity("app");
        activity.SetIdFormat(ActivityIdFormat.W3C).Start();
        await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("t", "one"));
        activity.Stop();
        await Bed.UntilAsync(() => seen.Count == 4);
        Assert.Equal(default, seen["none"]);
        Assert.Equal(default, seen["after none"]);
        Assert.Equal(activity.TraceId, seen["after one"].TraceId);
        Assert.Equal(activity.TraceId, seen["one"].TraceId);
        Assert.Equal(activity.SpanId, seen["one"].SpanId);
    }

    // proves: MET-001
    [Fact]
    public async Task Meter_tells_what_the_core_counts()
    {
        using OutboxWorker worker = _bed.Store.CreateWorker();
        worker.Handle("t", (delivery, _) =>
            delivery.Payload == "done" ? Task.CompletedTask : throw new RejectException("no"));
        foreach ((string topic, string payload) in new[] { ("t", "done"), ("t", "x"), ("other", "x") })
            await _bed.Outbox.EnqueueAsync(new NewOutboxMessage(topic, payload));
        await worker.DrainAsync();
        WaypostMetrics metrics = await worker.ReadMetricsAsync(TimeSpan.FromMinutes(1));
        Assert.Equal(2, metrics.Value("worker_processed_total"));
        Assert.Equal(1, metrics.Value("waypost_acked_total", ("queue", "outbox"), ("topic", "t")));
        Assert.Contains("# TYPE queue_depth gauge\n", metrics.Text, StringComparison.Ordinal);
        Assert.Equal(1, (await _bed.Store.ReadMetricsAsync()).Value("queue_depth", ("topic", "other")));

        using var own = new Meter("own");
        var seen = new ConcurrentDictionary<(string, string), double>();
        var instruments = new ConcurrentDictionary<string, Instrument>();
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, l) =>
        {
            if (instrument.Meter == own)
            {
                instruments[instrument.Name] = instrument;
                l.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
        {
            string topic = "";
            foreach (KeyValuePair<string, object?> tag in tags)
                topic = tag.Key == "topic" ? (string)tag.Value! : topic;
            seen[(instrument.Name, topic)] = value;
        });
        listener.Start();
        using var meter = new WaypostMeter(worker, own);
        await meter.Ready;
        string[] names = metrics.Samples.Select(sample => sample.Name).Distinct().ToArray();
        await Bed.UntilAsync(() => names.All(instruments.ContainsKey));
        listener.RecordObservableInstruments();
        Assert.Equal(1, seen[("waypost_acked_total", "t")]);
        Assert.Equal(1, seen[("waypost_failed_total", "t")]);
        Assert.Equal(2, seen[("waypost_handler_seconds_count", "t")]);
        Assert.Equal(1, seen[("queue_depth", "other")]);
        Assert.IsType<ObservableGauge<double>>(instruments["queue_depth"]);
        Assert.IsType<ObservableCounter<double>>(instruments["waypost_acked_total"]);
        Assert.Equal("Messages that may be claimed now.", instruments["queue_depth"].Description);
        meter.Dispose();
        seen.Clear();
        listener.RecordObservableInstruments();
        Assert.Empty(seen);
    }

    /// <summary>Hears how long the handlers of one topic took: other tests' are measured, too.</summary>
    private static MeterListener ListenToDurations(string topic, Action<double, Dictionary<string, object?>> heard)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, l) =>
            {
                if (instrument is Histogram<double> { Meter.Name: "Waypost", Name: "messaging.process.duration", Unit: "s" })
                    l.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<double>((_, value, tags, _) =>
        {
            var all = tags.ToArray().ToDictionary(tag => tag.Key, tag => tag.Value);
            if ((string?)all["messaging.destination.name"] == topic)
                heard(value, all);
        });
        listener.Start();
        return listener;
    }

    // proves: MET-001
    [Fact]
    public async Task Calls_of_handlers_are_measured_by_a_true_histogram()
    {
        string mine = $"t-{Guid.NewGuid()}";
        var seen = new ConcurrentQueue<(double Seconds, Dictionary<string, object?> Tags)>();
        using MeterListener listener = ListenToDurations(mine, (value, tags) => seen.Enqueue((value, tags)));
        using OutboxWorker worker = _bed.Store.CreateWorker();
        var took = new Stopwatch();
        worker.Handle(mine, async (delivery, _) =>
        {
            took.Start();
            await Task.Delay(20);
            took.Stop();
            if (delivery.Payload != "done")
                throw new RejectException("no");
        });
        await _bed.Outbox.EnqueueAsync(mine, "done");
        await worker.DrainAsync();
        await _bed.Outbox.EnqueueAsync(mine, "x");
        await worker.DrainAsync();
        Assert.Equal(2, seen.Count);
        Assert.True(seen.Sum(one => one.Seconds) >= took.Elapsed.TotalSeconds);
        (_, Dictionary<string, object?> done) = seen.First();
        Assert.Equal(("waypost", "process", "outbox", _bed.Store.Id),
                     (done["messaging.system"], done["messaging.operation.name"], done["waypost.queue"], done["waypost.store"]));
        Assert.False(done.ContainsKey("error.type"));
        Assert.Equal(typeof(RejectException).FullName, seen.Last().Tags["error.type"]);
    }

    /// <summary>Listens to the span of one topic's handlers: other tests have theirs.</summary>
    private static ActivityListener ListenTo(
        string topic, Func<ActivitySamplingResult> sample, Action? stopped = null)
    {
        var listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == "Waypost",
            Sample = (ref ActivityCreationOptions<ActivityContext> options) =>
                options.Name == $"process {topic}" ? sample() : ActivitySamplingResult.None,
            ActivityStopped = span =>
            {
                if (span.OperationName == $"process {topic}")
                    stopped?.Invoke();
            },
        };
        ActivitySource.AddActivityListener(listener);
        return listener;
    }

    // proves: TRC-001
    [Theory]
    [InlineData("sample")]
    [InlineData("stop")]
    [InlineData("measure")]
    public async Task Listener_that_throws_is_not_the_handlers_fault(string when)
    {
        string mine = $"t-{Guid.NewGuid()}";
        int thrown = 0;
        void Throw(string now)
        {
            if (now != when)
                return;
            Interlocked.Increment(ref thrown);
            throw new InvalidOperationException(now);
        }

        using ActivityListener spans = ListenTo(mine, () =>
        {
            Throw("sample");
            return ActivitySamplingResult.AllData;
        }, () => Throw("stop"));
        using MeterListener meter = ListenToDurations(mine, (_, _) => Throw("measure"));
        using OutboxWorker worker = _bed.Store.CreateWorker();
        int handled = 0;
        worker.Handle(mine, (_, _) => Task.FromResult(Interlocked.Increment(ref handled)));
        await _bed.Outbox.EnqueueAsync(mine, "1");
        await _bed.Outbox.EnqueueAsync(mine, "2");
        await worker.DrainAsync();
        Assert.Equal((2, 2), (handled, thrown));
        Assert.Equal(2, (await _bed.Outbox.GetStatsAsync()).Topics[mine].Done);
    }

    // proves: TRC-001, MET-001
    [Fact]
    public async Task Delivery_that_its_handler_let_go_is_measured()
    {
        string mine = $"t-{Guid.NewGuid()}";
        int measured = 0;
        using MeterListener meter = ListenToDurations(mine, (_, _) => measured++);
        using OutboxWorker worker = _bed.Store.CreateWorker();
        worker.HandleWithOutcome(mine, (delivery, _) =>
        {
            delivery.Done();
            delivery.Dispose();
            return Task.FromResult(Outcome.Deferred);
        });
        await _bed.Outbox.EnqueueAsync(mine, "1");
        await worker.DrainAsync();
        Assert.Equal(1, measured);
        Assert.Equal(1, (await _bed.Outbox.GetStatsAsync()).Topics[mine].Done);
    }

    // proves: TRC-001
    [Fact]
    public async Task Trace_goes_along_where_a_listener_declines()
    {
        string mine = $"t-{Guid.NewGuid()}";
        using ActivityListener spans = ListenTo(mine, () => ActivitySamplingResult.None);
        using OutboxWorker worker = _bed.Store.CreateWorker();
        ActivityTraceId seen = default;
        worker.Handle(mine, (_, _) =>
        {
            seen = Activity.Current?.TraceId ?? default;
            return Task.CompletedTask;
        });
        using var app = new Activity("app");
        app.SetIdFormat(ActivityIdFormat.W3C).Start();
        await _bed.Outbox.EnqueueAsync(mine, "1");
        app.Stop();
        await worker.DrainAsync();
        Assert.Equal(app.TraceId, seen);
    }

    private static int FreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }

    // proves: MET-001, HLT-001, BND-003
    [Fact]
    public async Task Host_answers_by_http_and_its_worker_has_the_meter()
    {
        int port = FreePort();
        string first = "";
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter.Name == "Waypost" && instrument.Name == "queue_depth")
                first = instrument.Name;
        };
        listener.Start();
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Services.AddMetrics();
        builder.Services.AddWaypost(options =>
        {
            options.Url = _bed.Url;
            options.Worker.PollMax = TimeSpan.FromMilliseconds(50);
            options.Settings["metrics.port"] = options.Settings["health.port"] =
                port.ToString(CultureInfo.InvariantCulture);
        }).AddHandler("t", (_, _, _) => Task.CompletedTask);
        using IHost host = builder.Build();
        await host.StartAsync();
        await host.Services.GetRequiredService<IOutbox>().EnqueueAsync(new NewOutboxMessage("t", "x"));
        using var client = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}") };
        await Bed.UntilAsync(async () => (await client.GetStringAsync("/metrics"))
            .Contains("worker_processed_total 1\n", StringComparison.Ordinal));
        await Bed.UntilAsync(async () => (await client.GetAsync("/health")).IsSuccessStatusCode);
        Assert.Equal("{\"status\":\"healthy\"}", await client.GetStringAsync("/health/live"));
        await _bed.Outbox.EnqueueAsync(new NewOutboxMessage("nobody's", "x"));
        await Bed.UntilAsync(() => { listener.RecordObservableInstruments(); return first == "queue_depth"; });
        await host.StopAsync();
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetStringAsync("/metrics"));
    }
}
