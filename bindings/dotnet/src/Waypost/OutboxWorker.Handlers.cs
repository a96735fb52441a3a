// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <content>How handlers are given to a worker.</content>
public sealed partial class OutboxWorker
{
    /// <summary>Handle a topic: to return is success, to throw a retry.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="handler">Called on one of the worker's threads for each message.</param>
    /// <param name="options">What differs from the worker's options for this topic.</param>
    /// <param name="queue">Whose topic.</param>
    public OutboxWorker Handle(
        string topic, Func<OutboxDelivery, CancellationToken, Task> handler,
        OutboxWorkerOptions? options = null, WaypostQueue queue = WaypostQueue.Outbox)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Register(queue, topic, (delivery, token) => Succeed(Made(handler(delivery, token))), options);

        static ValueTask<Outcome> Succeed(Task task)
        {
            return task.IsCompletedSuccessfully ? new(Outcome.Done) : Wait(task);

            static async ValueTask<Outcome> Wait(Task task)
            {
                await task.ConfigureAwait(false);
                return Outcome.Done;
            }
        }
    }

    /// <summary>Handle a topic with a handler that answers with an outcome.</summary>
    public OutboxWorker HandleWithOutcome(
        string topic, OutboxDeliveryHandler handler, OutboxWorkerOptions? options = null,
        WaypostQueue queue = WaypostQueue.Outbox)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Register(queue, topic, (delivery, token) => new(Made(handler(delivery, token))), options);
    }

    private static T Made<T>(T? task) where T : Task =>
        task ?? throw new InvalidOperationException("the handler returned null, not a task");

    /// <summary>Handle a topic with one instance for all its messages.</summary>
    public OutboxWorker Handle(IOutboxHandler handler, OutboxWorkerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(handler.Topic, handler.HandleAsync, options);
    }

    /// <summary>Handle a topic of the inbox with one instance for all its messages.</summary>
    public OutboxWorker Handle(IInboxHandler handler, OutboxWorkerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(
            handler.Topic, (delivery, token) => handler.HandleAsync(delivery.Inbox!, token), options,
            WaypostQueue.Inbox);
    }

    /// <summary>Handle the timers of a topic with one instance for all.</summary>
    public OutboxWorker Handle(ITimerHandler handler, OutboxWorkerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(handler.Topic, handler.HandleAsync, options, WaypostQueue.Timer);
    }

    /// <summary>Handle the runs of jobs of a topic with one instance for all.</summary>
    public OutboxWorker Handle(IJobHandler handler, OutboxWorkerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(
            handler.Topic, (run, token) => KeepOutput(run, handler.HandleAsync(run, token)), options,
            WaypostQueue.Job);
    }

    /// <summary>What a handler of jobs returns is the run's output.</summary>
    internal static async Task KeepOutput(OutboxDelivery run, Task<string?> handling)
    {
        if (await Made(handling).ConfigureAwait(false) is { } output)
            run.KeepOutput(output);
    }

    /// <summary>Take a topic's messages one by one, with <see cref="NextAsync"/>.</summary>
    public OutboxWorker Subscribe(
        string topic, OutboxWorkerOptions? options = null, WaypostQueue queue = WaypostQueue.Outbox) =>
        Register(queue, topic, null, options);

    internal OutboxWorker Register(
        WaypostQueue queue, string topic, Func<OutboxDelivery, CancellationToken, ValueTask<Outcome>>? handler,
        OutboxWorkerOptions? options)
    {
        ArgumentNullException.ThrowIfNull(topic);
        options?.CheckPerTopic();
        lock (_gate)
        {
            // The core keeps the callback for as long as it lives: it must not keep the worker.
            var self = new WeakReference<OutboxWorker>(this);
            _core.Handle((wp_source)queue, topic, handler is null ? null : delivery =>
                self.TryGetTarget(out OutboxWorker? worker) ? worker.Dispatch(delivery)
                                                            : wp_outcome.WP_OUTCOME_RETRY);
            foreach ((string key, string value) in options?.PerTopic() ?? [])
                _core.TopicSet((wp_source)queue, topic, key, value);
            _registrations.Add((queue, topic), new Registration(topic, handler));
        }
        return this;
    }
}
