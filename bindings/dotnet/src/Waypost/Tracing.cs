// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Reflection;
using Waypost.Interop;

namespace Waypost;

/// <summary>Spans of the activity source "Waypost", by OpenTelemetry's conventions for messaging: one for each
/// enqueue, and one for each call of a handler, whose parent is that of the enqueue; and how long those
/// calls took.</summary>
internal static class Tracing
{
    internal const string Name = "Waypost";

    internal static readonly string? Version =
        typeof(Tracing).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion;

    private static readonly ActivitySource Source = new(Name, Version);

    private static readonly Meter Durations = new(Name, Version);

    /// <summary>Measured here, where a call of a handler begins and ends; the core's histograms come as counters
    /// of their buckets, since nobody can tell an instrument what was counted already.</summary>
    private static readonly Histogram<double> ProcessDuration = Durations.CreateHistogram<double>(
        "messaging.process.duration", "s", "How long calls of handlers took.");

    public static string NameOf(WaypostQueue queue) => queue switch
    {
        WaypostQueue.Outbox => "outbox",
        WaypostQueue.Inbox => "inbox",
        WaypostQueue.Timer => "timers",
        _ => "job runs",
    };

    // ---- enqueues ---------------------------------------------------------------------------

    /// <summary>Enqueue inside a span, if anybody listens. The messages take the trace context that is
    /// current when they are made ready.</summary>
    public static Task<T> SendAsync<TMessage, T>(
        WaypostQueue queue, IEnumerable<TMessage> messages, Func<TMessage, NewOutboxMessage?> plain,
        Func<IEnumerable<TMessage>, Task<T>> send)
    {
        return messages is null || !Source.HasListeners() ? send(messages!) : InSpanAsync();

        async Task<T> InSpanAsync()
        {
            TMessage[] all = messages.ToArray();
            using Activity? activity = StartSend(queue, [.. all.Select(m => m is null ? null : plain(m))]);
            try
            {
                T result = await send(all).ConfigureAwait(false);
                if (result is IReadOnlyList<EnqueueResult> and [var one])
                    activity?.SetTag("messaging.message.id", one.Id.ToString());
                else if (result is IReadOnlyList<InboxResult> and [var arrival])
                    activity?.SetTag("messaging.message.id", arrival.Id.ToString());
                return result;
            }
            catch (Exception e)
            {
                Fail(activity, e.GetType().FullName, e.Message);
                throw;
            }
        }
    }

    private static Activity? StartSend(WaypostQueue queue, NewOutboxMessage?[] messages)
    {
        string? topic = messages.Length > 0 && messages.All(m => m?.Topic == messages[0]?.Topic)
            ? messages[0]?.Topic : null;
        Activity? activity = Source.StartActivity($"send {topic ?? NameOf(queue)}", ActivityKind.Producer);
        if (activity is not { IsAllDataRequested: true })
            return activity;
        Describe(activity, "send", queue, topic);
        if (messages.Length != 1)
            activity.SetTag("messaging.batch.message_count", messages.Length);
        else if (messages[0]?.CorrelationId is { Length: > 0 } correlation)
            activity.SetTag("messaging.message.conversation_id", correlation);
        return activity;
    }

    // ---- handlers ---------------------------------------------------------------------------

    /// <summary>A call of a handler, as those see it who listen.</summary>
    /// <param name="Activity">Its span; null: nobody listens, and the message has no trace.</param>
    /// <param name="Began">When it began, if anybody wants to know how long it takes; else 0.</param>
    /// <param name="Tags">What was handled: the delivery may be gone when the call ends.</param>
    public readonly record struct Handling(Activity? Activity, long Began, TagList Tags);

    /// <summary>A handler is about to be called.</summary>
    public static Handling Begin(OutboxDelivery delivery)
    {
        if (!ProcessDuration.Enabled)
            return new Handling(StartProcess(delivery), 0, default);
        var tags = new TagList
        {
            { "messaging.system", "waypost" },
            { "messaging.operation.name", "process" },
            { "messaging.destination.name", delivery.Topic },
            { "waypost.queue", NameOf(delivery.Queue) },
            { "waypost.store", delivery.StoreId },
        };
        return new Handling(StartProcess(delivery), Stopwatch.GetTimestamp(), tags);
    }

    /// <summary>The span of a handler's call. One that nobody listens to carries the message's trace on to what the
    /// handler enqueues.</summary>
    private static Activity? StartProcess(OutboxDelivery delivery)
    {
        Activity? activity = Source.HasListeners()
            ? Source.StartActivity($"process {delivery.Topic}", ActivityKind.Consumer, delivery.TraceContext)
            : null;
        if (activity is null) // also where each of them declined
            return Carry(delivery.TraceContext);
        if (!activity.IsAllDataRequested)
            return activity;
        Describe(activity, "process", delivery.Queue, delivery.Topic);
        activity.SetTag("messaging.message.id", delivery.Id.ToString());
        if (delivery.CorrelationId is { } correlation)
            activity.SetTag("messaging.message.conversation_id", correlation);
        activity.SetTag("waypost.store", delivery.StoreId);
        activity.SetTag("waypost.attempt", delivery.Attempt);
        if (delivery.JobName is { } job)
            activity.SetTag("waypost.job", job);
        return activity;
    }

    private static Activity? Carry(ActivityContext trace)
    {
        if (trace == default)
            return null;
        var hop = new Activity("process") { TraceStateString = trace.TraceState };
        return hop.SetParentId(trace.TraceId, trace.SpanId, trace.TraceFlags).Start();
    }

    /// <summary>The call has ended.</summary>
    /// <param name="call">What <see cref="Begin"/> gave.</param>
    /// <param name="outcome">What came of it.</param>
    /// <param name="error">What it threw.</param>
    public static void End(Handling call, Outcome outcome, Exception? error)
    {
        using Activity? activity = call.Activity;
        string? type = outcome.Kind is wp_outcome.WP_OUTCOME_DONE or wp_outcome.WP_OUTCOME_DEFERRED
            or wp_outcome.WP_OUTCOME_RELEASE ? null : error?.GetType().FullName ?? "_OTHER";
        if (type is not null)
            Fail(activity, type, outcome.Reason);
        if (call.Began == 0)
            return;
        TagList tags = call.Tags;
        if (type is not null)
            tags.Add("error.type", type);
        ProcessDuration.Record(Stopwatch.GetElapsedTime(call.Began).TotalSeconds, tags);
    }

    private static void Describe(Activity activity, string operation, WaypostQueue queue, string? topic)
    {
        activity.SetTag("messaging.system", "waypost");
        activity.SetTag("messaging.operation.name", operation);
        activity.SetTag("messaging.operation.type", operation);
        if (topic is not null)
            activity.SetTag("messaging.destination.name", topic);
        activity.SetTag("waypost.queue", NameOf(queue));
    }

    private static void Fail(Activity? activity, string? type, string? description)
    {
        activity?.SetTag("error.type", type);
        activity?.SetStatus(ActivityStatusCode.Error, description);
    }
}
