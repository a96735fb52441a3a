// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// Runs handlers for messages of a store's outbox and other queues. Made with <see cref="WaypostStore.CreateWorker"/> or
/// <see cref="WaypostRouter.CreateWorker"/>;
/// runs once. Thread-safe.
/// </summary>
public sealed partial class OutboxWorker : IAsyncDisposable, IDisposable
{
    // The longest waits inside the core; one thread looks often, so that the core's log is written.
    private const long WaitMs = 10_000;
    private const long OftenMs = 200;
    private const double HeldLongUs = 100;
    private const int BlockedMs = 5;
    private const int AtExitMs = 1000;
    private static readonly TimeSpan LongestStop = TimeSpan.FromDays(1);

    /// <summary>The worker whose handler is running in this context.</summary>
    private static readonly AsyncLocal<OutboxWorker?> Inside = new();
    private static readonly ConcurrentDictionary<OutboxWorker, bool> Started = new();

    private readonly WorkerHandle _core;
    private readonly int _mostPullers;
    private readonly ILogger _logger;
    private readonly Dictionary<(WaypostQueue, string), Registration> _registrations = [];
    private readonly ConcurrentDictionary<nint, WeakReference<OutboxDelivery>> _out = new();
    private readonly ConcurrentDictionary<OutboxDelivery, bool> _running = new();
    private readonly List<Thread> _threads = [];
    private readonly object _gate = new();
    private ExecutionContext? _context;
    private volatile State _state;
    private readonly AutoResetEvent _watch = new(false);
    private int _pullers;
    private int _waiting; // pullers that wait for a delivery
    private int _watching;
    private long _starts;

    private enum State { New, Running, Stopped }

    /// <summary>A topic and its handler; null: it is pulled.</summary>
    internal sealed record Registration(
        string Topic, Func<OutboxDelivery, CancellationToken, ValueTask<Outcome>>? Handler);

    static OutboxWorker() => AppDomain.CurrentDomain.ProcessExit += (_, _) => StopAtExit();

    internal OutboxWorker(WorkerHandle core, int threads, ILogger? logger)
    {
        _core = core;
        _mostPullers = threads;
        _logger = logger ?? NullLogger.Instance;
    }

    // ---- stores -----------------------------------------------------------------------------

    /// <summary>Serve a further store, also while the worker runs. The handlers are for all stores, and
    /// so is the concurrency.</summary>
    /// <param name="store">The store.</param>
    /// <param name="id">Names it in logs and deliveries; null: its own id.</param>
    /// <exception cref="InvalidOperationException">The worker has a store of this id.</exception>
    public void AddStore(WaypostStore store, string? id = null)
    {
        ArgumentNullException.ThrowIfNull(store);
        _core.AddStore(store.Handle, id ?? store.Id);
    }

    /// <summary>Let go of a store, also while the worker runs: what was not started goes back, running
    /// handlers finish. Ends by the timeout with the number of those that were still running.</summary>
    /// <exception cref="NotFoundException">The worker has no such store.</exception>
    public Task<long> RemoveStoreAsync(string id, TimeSpan timeout)
    {
        ArgumentNullException.ThrowIfNull(id);
        long ms = Times.WaitMs(timeout);
        return Task.Run(() => _core.RemoveStore(id, ms));
    }

    /// <summary>Choose whose message goes to the next free handler, before the worker runs.</summary>
    internal void Select(IOutboxSelectionStrategy strategy) => _core.SetSelector(strategy, _logger);

    /// <summary>What it has done for one store since that was added.</summary>
    public OutboxCounters CountersOf(string storeId)
    {
        ArgumentNullException.ThrowIfNull(storeId);
        return new(counter => _core.Counter(storeId, counter));
    }

    // ---- running ----------------------------------------------------------------------------

    /// <summary>Run handlers in the background until it is stopped.</summary>
    public void Start()
    {
        ObjectDisposedException.ThrowIf(_core.IsClosed, this);
        lock (_gate)
        {
            if (_state != State.New)
                throw new InvalidOperationException(
                    "the worker was started already, or is stopped: a worker runs once");
            if (_registrations.Values.FirstOrDefault(r => r.Handler is null) is { } pulled)
                throw new InvalidOperationException(
                    $"topic {pulled.Topic} has no handler: it is for NextAsync()");
            Begin();
            AddPuller();
            if (_pullers < _mostPullers)
                AddThread("waypost-grow", GrowWhenBlocked);
        }
    }

    /// <summary>Run handlers until the token is cancelled, or the worker is stopped; then stop as
    /// <see cref="StopAsync"/> does.</summary>
    public async Task RunAsync(
        CancellationToken cancellationToken = default, TimeSpan? stopTimeout = null)
    {
        Start();
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using (cancellationToken.Register(() => cancelled.TrySetResult()))
            await Task.WhenAny(cancelled.Task, Ended.Task).ConfigureAwait(false);
        await StopAsync(stopTimeout ?? TimeSpan.FromSeconds(10), CancellationToken.None)
            .ConfigureAwait(false);
    }

    /// <summary>It was started, and not stopped since.</summary>
    public bool IsRunning => _state == State.Running;

    private TaskCompletionSource Ended { get; } =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private void Begin()
    {
        _state = State.Running;
        Started[this] = true;
        OutboxWorker? before = Inside.Value;
        Activity? activity = Activity.Current;
        Inside.Value = this; // in the context in which handlers will run
        Activity.Current = null; // what started the worker did not cause their messages
        _context = ExecutionContext.Capture();
        Inside.Value = before;
        Activity.Current = activity;
        AddThread("waypost-cancel", PassOnCancellations);
    }

    private void AddThread(string name, Action run)
    {
        var thread = new Thread(() => run()) { Name = name, IsBackground = true };
        _threads.Add(thread);
        thread.UnsafeStart();
    }

    // ---- threads ----------------------------------------------------------------------------
    //
    // Handlers that leave their thread at an await, or end at once, need one thread; more would only
    // wake each other. Those that block need as many as the concurrency. So there is one at first,
    // and a further one when handlers hold on to theirs while nobody waits for the next delivery.

    private void AddPuller() => AddThread($"waypost-{_pullers++}", Pull);

    private void Grow()
    {
        lock (_gate)
            if (_state == State.Running && _pullers < _mostPullers)
                AddPuller();
    }

    /// <summary>Start handlers on this thread until the worker is stopped.</summary>
    private void Pull()
    {
        double held = 0; // what handlers hold on to the thread for, about, in microseconds
        try
        {
            while (true)
            {
                wp_status status = PullOne(ref held);
                if (status == wp_status.WP_E_STOPPED)
                    return;
                if (status != wp_status.WP_OK && status != wp_status.WP_E_TIMEOUT)
                    Thread.Sleep((int)OftenMs); // the core has logged it
            }
        }
        catch (ObjectDisposedException)
        {
            // The worker was disposed of while this thread was in a handler.
        }
    }

    /// <summary>In a frame of its own, so that nothing keeps a delivery alive while the thread waits
    /// for the next one.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private wp_status PullOne(ref double held)
    {
        Interlocked.Increment(ref _waiting);
        wp_status status = _core.Next(out OutboxDelivery? delivery, WaitMs);
        bool last = Interlocked.Decrement(ref _waiting) == 0;
        if (status != wp_status.WP_OK)
            return status;
        Interlocked.Increment(ref _starts);
        if (last && Interlocked.Exchange(ref _watching, 1) == 0)
            _watch.Set();
        long started = Stopwatch.GetTimestamp();
        StartHandler(delivery!);
        TimeSpan took = Stopwatch.GetElapsedTime(started);
        held += (Math.Min(took.TotalMicroseconds, 1000) - held) / 16;
        if (held > HeldLongUs && Volatile.Read(ref _waiting) == 0)
            Grow();
        return status;
    }

    /// <summary>Add threads while all are in handlers that do not let go of them.</summary>
    private void GrowWhenBlocked()
    {
        while (_watch.WaitOne() && _pullers < _mostPullers && _state == State.Running)
        {
            Volatile.Write(ref _watching, 0);
            while (Volatile.Read(ref _waiting) == 0 && _state == State.Running)
            {
                long before = Volatile.Read(ref _starts);
                Thread.Sleep(BlockedMs);
                if (before == Volatile.Read(ref _starts) && Volatile.Read(ref _waiting) == 0)
                    Grow();
            }
        }
    }

    // ---- handlers at work -------------------------------------------------------------------

    private void StartHandler(OutboxDelivery delivery)
    {
        lock (_gate)
        {
            if (_state >= State.Stopped) // no handler is called after the stop
            {
                delivery.Dispose();
                return;
            }
            _running[delivery] = true;
        }
        if (_context is not null)
            ExecutionContext.Restore(_context); // a handler's changes are not the next one's
        if (_registrations.TryGetValue((delivery.Queue, delivery.Topic), out Registration? registration))
            delivery.Registration = registration;
        Watch(delivery);
        delivery.Running = HandleAsync(delivery);
    }

    private void Watch(OutboxDelivery delivery)
    {
        delivery.Worker = this;
        _out[delivery.Key] = new WeakReference<OutboxDelivery>(delivery);
        if (delivery.CancelReason != CancelReason.None) // told before it was known here
            delivery.Cancel();
    }

    internal void Forget(OutboxDelivery delivery) => _out.TryRemove(delivery.Key, out _);

    private async Task<Outcome> HandleAsync(OutboxDelivery delivery)
    {
        Outcome outcome;
        Exception? error = null;
        Tracing.Handling seen = default;
        try
        {
            seen = Tracing.Begin(delivery);
        }
        catch (Exception e)
        {
            NoteListener(e);
        }
        try
        {
            Func<OutboxDelivery, CancellationToken, ValueTask<Outcome>>? handler =
                delivery.Registration?.Handler;
            outcome = handler is null
                ? Outcome.Failed("no handler for the topic")
                : await handler(delivery, delivery.CancellationToken).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            error = e;
            outcome = OutcomeOf(delivery, e);
        }
        try
        {
            Tracing.End(seen, outcome, error);
        }
        catch (Exception e)
        {
            NoteListener(e);
        }
        Finish(delivery, outcome);
        return outcome;
    }

    /// <summary>One who listens to spans or measurements threw. That is not the handler's fault, and changes nothing
    /// about the message.</summary>
    private void NoteListener(Exception error)
    {
        try
        {
            _logger.LogWarning(error, "A listener to spans or measurements failed");
        }
        catch (Exception) // a logger that throws, too
        {
            return;
        }
    }

    private void Finish(OutboxDelivery delivery, Outcome outcome)
    {
        _running.TryRemove(delivery, out _);
        if (outcome.Kind == wp_outcome.WP_OUTCOME_DEFERRED)
            return;
        Forget(delivery);
        if (outcome.Delay is { } delay && (delay < TimeSpan.Zero || delay > TimeSpan.FromDays(365)))
        {
            _logger.LogError("Handler of topic {Topic}: a retry cannot wait for {Delay}", delivery.Topic, delay);
            outcome = Outcome.Retry(outcome.Reason);
        }
        wp_status status = delivery.TryFinish(outcome);
        if (status != wp_status.WP_OK && _logger.IsEnabled(LogLevel.Debug))
            _logger.LogDebug("Topic {Topic}: the outcome does not count: {Status}", delivery.Topic, status);
        delivery.Dispose();
    }

    private Outcome OutcomeOf(OutboxDelivery delivery, Exception error)
    {
        switch (error)
        {
            case RetryException retry:
                return Outcome.Retry(retry.Reason, retry.Delay);
            case RejectException reject:
                return Outcome.Reject(reject.Reason);
            case OperationCanceledException:
                return delivery.CancelReason switch
                {
                    CancelReason.Stop => Outcome.Release, // it did as it was told, and is not to blame
                    CancelReason.Timeout => Outcome.Retry("cancelled: timeout"),
                    CancelReason.LeaseLost => Outcome.Retry("cancelled: lease lost"),
                    CancelReason.Requested => Outcome.Retry("cancelled: on request"),
                    _ => Outcome.Retry("cancelled: by itself"),
                };
        }
        string text;
        try
        {
            text = $"{error.GetType().Name}: {error.Message}";
            _logger.LogError(error, "Handler of topic {Topic} failed for message {MessageId}", delivery.Topic, delivery.Id);
        }
        catch (Exception) // an exception, or a logger, that throws
        {
            text = error.GetType().Name;
        }
        return Outcome.Failed(text);
    }

    internal void WarnOfOutput(OutboxDelivery run, Exception? error)
    {
        try
        {
            if (error is null)
                _logger.LogWarning(
                    "Handler of topic {Topic}: of the output of run {MessageId} is kept what can be: 65,536 bytes of"
                    + " UTF-8 without NUL", run.Topic, run.Id);
            else
                _logger.LogWarning(
                    error, "Handler of topic {Topic}: the output of run {MessageId} is not kept", run.Topic, run.Id);
        }
        catch (Exception)
        {
            // A logger that throws.
        }
    }

    private void PassOnCancellations()
    {
        try
        {
            while (true)
            {
                wp_status status = _core.NextCancelled(CancelKey, OftenMs);
                if (status == wp_status.WP_E_STOPPED)
                    return;
                if (status != wp_status.WP_OK && status != wp_status.WP_E_TIMEOUT)
                    Thread.Sleep((int)OftenMs);
            }
        }
        catch (ObjectDisposedException)
        {
            // The worker was disposed of.
        }
    }

    private void CancelKey(nint key)
    {
        if (_out.TryGetValue(key, out WeakReference<OutboxDelivery>? known)
            && known.TryGetTarget(out OutboxDelivery? delivery))
            delivery.Cancel();
    }

    // ---- stop -------------------------------------------------------------------------------

    /// <summary>
    /// Stop: claim no more, give unstarted work back, cancel the handlers' tokens, let them finish,
    /// write their outcomes. Ends by the timeout, or when the token is cancelled, with the number of
    /// deliveries that were still running. Idempotent; from any thread. From a handler, which it
    /// cannot wait for, it returns at once.
    /// </summary>
    public async Task<long> StopAsync(
        TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        long ms = timeout == Timeout.InfiniteTimeSpan || timeout > LongestStop
            ? Times.ToMs(LongestStop) : Times.WaitMs(timeout);
        Task<long> stop = StopOnThread(ms);
        if (Inside.Value == this)
            return 0;
        if (cancellationToken.CanBeCanceled)
        {
            var hurry = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            using (cancellationToken.Register(() => hurry.TrySetResult()))
                if (await Task.WhenAny(stop, hurry.Task).ConfigureAwait(false) != stop)
                {
                    // Either may have abandoned what runs; the other one ends soon then, unless the database hangs.
                    long abandoned = await StopOnThread(0).ConfigureAwait(false);
                    Task soon = Task.Delay(500, CancellationToken.None);
                    return await Task.WhenAny(stop, soon).ConfigureAwait(false) == stop
                        ? abandoned + await stop.ConfigureAwait(false) : abandoned;
                }
        }
        return await stop.ConfigureAwait(false);
    }

    /// <summary>On a thread of its own: the pool may be what the handlers wait for.</summary>
    private Task<long> StopOnThread(long deadlineMs)
    {
        var done = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
        var thread = new Thread(() =>
        {
            try
            {
                done.SetResult(StopNow(deadlineMs));
            }
            catch (Exception e)
            {
                done.SetException(e);
            }
        })
        { Name = "waypost-stop", IsBackground = true };
        thread.UnsafeStart();
        return done.Task;
    }

    private long StopNow(long deadlineMs)
    {
        if (_core.IsClosed)
            return 0;
        long abandoned = _core.Stop(deadlineMs);
        Thread[] threads;
        lock (_gate)
        {
            _state = State.Stopped;
            threads = _threads.ToArray();
        }
        _watch.Set();
        long limit = Environment.TickCount64 + (abandoned == 0 ? 1000 : 100);
        foreach (Thread thread in threads) // those in a handler that goes on are left
            if (thread != Thread.CurrentThread)
                thread.Join((int)Math.Max(0, limit - Environment.TickCount64));
        Started.TryRemove(this, out _);
        Ended.TrySetResult();
        return abandoned;
    }

    /// <summary>Give unstarted work back before the process ends.</summary>
    private static void StopAtExit()
    {
        try
        {
            Task.WaitAll(
                Started.Keys.Select(worker => worker.StopOnThread(AtExitMs)).ToArray(), 2 * AtExitMs);
        }
        catch (AggregateException)
        {
            // A worker that was disposed of at the same time.
        }
    }

    /// <summary>Stop with ten seconds for running handlers, and free.</summary>
    public async ValueTask DisposeAsync()
    {
        await StopAsync(TimeSpan.FromSeconds(10)).ConfigureAwait(false);
        _core.Dispose();
    }

    /// <summary>Stop at once, and free.</summary>
    public void Dispose()
    {
        if (!_core.IsClosed)
            StopNow(0);
        _core.Dispose();
    }

    // ---- one by one, and for tests ----------------------------------------------------------

    /// <summary>Look for work now instead of at the next poll. A hint.</summary>
    public void Wake() => _core.Wake();

    /// <summary>Tell whether the worker does its work, in all its stores.</summary>
    /// <param name="scope">What of the work counts.</param>
    /// <param name="maxAge">For how long a message may be ready, or a job due; zero: for ever; null: the
    /// option <c>health.overdue_ms</c>.</param>
    /// <param name="limit">How long to wait for the database; null: the option
    /// <c>health.timeout_ms</c>.</param>
    /// <param name="cancellationToken">Ends the wait before it begins.</param>
    public Task<WaypostHealth> CheckHealthAsync(
        HealthScope scope = HealthScope.All, TimeSpan? maxAge = null, TimeSpan? limit = null,
        CancellationToken cancellationToken = default) =>
        Task.Run(() => HealthHandle.Read(_core, scope, maxAge, limit), cancellationToken);

    /// <summary>Read what it has done, and what its stores hold.</summary>
    /// <param name="limit">How long to wait for databases; null: the option <c>health.timeout_ms</c>. What they
    /// have not told by then is left out.</param>
    /// <param name="cancellationToken">Ends the wait before it begins.</param>
    public Task<WaypostMetrics> ReadMetricsAsync(
        TimeSpan? limit = null, CancellationToken cancellationToken = default) =>
        Task.Run(() => MetricsHandle.Read(_core, limit), cancellationToken);

    internal WaypostMetrics ReadMetrics() => MetricsHandle.Read(_core, null);

    /// <summary>What it has done.</summary>
    public OutboxCounters Counters => new(_core.Counter);

    /// <summary>Take the next delivery of the topics that were subscribed to, and finish it with its
    /// methods; null: nothing came in time, or the worker is stopped.</summary>
    public Task<OutboxDelivery?> NextAsync(
        TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(_core.IsClosed, this);
        lock (_gate)
        {
            if (_state == State.New)
                Begin();
            else if (_pullers > 0)
                throw new InvalidOperationException(
                    "the worker runs handlers: NextAsync() is for one that does not");
        }
        long ms = Times.WaitMs(timeout);
        return Task.Run(() => Next(ms, cancellationToken), cancellationToken);
    }

    private OutboxDelivery? Next(long timeoutMs, CancellationToken cancellationToken)
    {
        long limit = timeoutMs < 0 ? long.MaxValue : Environment.TickCount64 + timeoutMs;
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            long wait = Math.Clamp(limit - Environment.TickCount64, 0, OftenMs);
            wp_status status = _core.Next(out OutboxDelivery? delivery, wait);
            if (status == wp_status.WP_OK)
            {
                Watch(delivery!);
                return delivery;
            }
            if (status != wp_status.WP_E_TIMEOUT)
                return status == wp_status.WP_E_STOPPED ? null : throw Failure.Make(status, 0);
            if (Environment.TickCount64 >= limit)
                return null;
        }
    }

    /// <summary>Run handlers, one after the other, until nothing is due and all is finished; gives
    /// how many deliveries were handled. Messages that are due later are left. For tests.</summary>
    public Task<long> DrainAsync(TimeSpan? timeout = null)
    {
        CheckManual();
        long ms = Times.WaitMs(timeout ?? TimeSpan.FromMinutes(1), nameof(timeout));
        return Task.Run(() => _core.Drain(ms));
    }

    /// <summary>Claim and handle at most one message, and write its outcome; gives 1 or 0. For
    /// tests.</summary>
    public Task<long> StepAsync()
    {
        CheckManual();
        return Task.Run(_core.Step);
    }

    private void CheckManual()
    {
        ObjectDisposedException.ThrowIf(_core.IsClosed, this);
        lock (_gate)
            if (_state != State.New)
                throw new InvalidOperationException("that is for a worker that was not started");
    }

    /// <summary>Called by the core, inside DrainAsync() and StepAsync().</summary>
    private wp_outcome Dispatch(OutboxDelivery delivery)
    {
        delivery.Registration = _registrations[(delivery.Queue, delivery.Topic)];
        Watch(delivery);
        ExecutionContext context = ExecutionContext.Capture()!;
        Inside.Value = this;
        Activity.Current = null;
        try
        {
            return HandleAsync(delivery).GetAwaiter().GetResult().Kind;
        }
        finally
        {
            ExecutionContext.Restore(context);
        }
    }
}
