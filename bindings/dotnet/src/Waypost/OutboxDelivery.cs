// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using System.Text;
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// A message of any queue on its way through a handler. Thread-safe. Done(), Retry(), Reject() and Release() are
/// for deliveries that were deferred, or taken with <see cref="OutboxWorker.NextAsync"/>.
/// </summary>
public sealed class OutboxDelivery : OutboxMessage, IDisposable
{
    private const int MostOutput = 65_536; // WP_OUTPUT_MAX

    private readonly DeliveryHandle _handle;
    private CancellationTokenSource? _cancel;
    private int _lastReason;

    internal unsafe OutboxDelivery(in NativeMessage native, DeliveryHandle handle) : base(in native)
    {
        (_handle, Key, Queue) = (handle, handle.Pointer, (WaypostQueue)native.Queue);
        if (native.Source is not null)
            Inbox = new InboxMessage(this, in native, this);
    }

    /// <summary>The queue that it came from.</summary>
    public WaypostQueue Queue { get; }

    /// <summary>The message, if it is one of the inbox; else null.</summary>
    public InboxMessage? Inbox { get; }

    /// <summary>The id of the store that it came from.</summary>
    public string StoreId => _handle.StoreId;

    /// <summary>Names it among those that the worker has out.</summary>
    internal nint Key { get; }

    internal OutboxWorker? Worker { get; set; }
    internal OutboxWorker.Registration? Registration { get; set; }

    /// <summary>Held so that nothing that a handler awaits is lost to the garbage collector.</summary>
    internal Task? Running { get; set; }

    /// <summary>Cancelled when the handler should stop: the lease was lost, its timeout passed, or
    /// the worker is stopping.</summary>
    public CancellationToken CancellationToken =>
        LazyInitializer.EnsureInitialized(ref _cancel, () => new CancellationTokenSource()).Token;

    /// <summary>Why the handler should stop.</summary>
    public CancelReason CancelReason
    {
        get
        {
            if (!_handle.IsClosed)
            {
                try
                {
                    _lastReason = (int)_handle.Cancelled;
                }
                catch (ObjectDisposedException)
                {
                    // Finished meanwhile: what was last known stands.
                }
            }
            return (CancelReason)_lastReason;
        }
    }

    internal void Cancel()
    {
        _ = CancelReason;
        _ = CancellationToken;
        _ = _cancel!.CancelAsync(); // the app's callbacks run on the pool
    }

    /// <summary>Finish it with success.</summary>
    /// <exception cref="InvalidOperationException">It is finished already.</exception>
    /// <exception cref="LeaseLostException">Someone else may have it.</exception>
    public void Done() => Finish(Outcome.Done);

    /// <summary>Finish it as failed, to be tried again after the delay, by default the backoff.</summary>
    public void Retry(string? reason = null, TimeSpan? delay = null) =>
        Finish(Outcome.Retry(reason, delay));

    /// <summary>Finish it as a dead letter.</summary>
    public void Reject(string? reason = null) => Finish(Outcome.Reject(reason));

    /// <summary>Give it back at once as if never started: its attempt stays as it was.</summary>
    public void Release() => Finish(Outcome.Release);

    private void Finish(Outcome outcome)
    {
        _handle.Finish(outcome.Kind, outcome.Reason, Times.DelayMs(outcome.Delay));
        Worker?.Forget(this);
    }

    /// <summary>For the worker: whether the outcome counts, it does not care.</summary>
    internal wp_status TryFinish(Outcome outcome)
    {
        try
        {
            return _handle.TryFinish(outcome.Kind, outcome.Reason, Times.DelayMs(outcome.Delay));
        }
        catch (ObjectDisposedException)
        {
            return wp_status.WP_E_STATE; // the handler disposed of it
        }
    }

    /// <summary>Set what a run of a job returns, before it is finished; the last one counts. It is kept in
    /// the run's history.</summary>
    /// <param name="output">Up to 64 KiB of UTF-8 without NUL.</param>
    /// <exception cref="InvalidOperationException">It is no run, or it is finished.</exception>
    public void SetOutput(string output) => _handle.SetOutput(output);

    /// <summary>The same for what a handler returned. It has done its work: what cannot be kept is left out,
    /// and does not fail the run.</summary>
    internal void KeepOutput(string output)
    {
        try
        {
            byte[] kept = Utf8.Fitting(output, MostOutput);
            _handle.SetOutput(kept);
            if (!output.AsSpan().SequenceEqual(Encoding.UTF8.GetString(kept)))
                Worker?.WarnOfOutput(this, null);
        }
        catch (Exception e) // such as a run that its handler finished by itself
        {
            Worker?.WarnOfOutput(this, e);
        }
    }

    /// <summary>Wait until the outcome is written.</summary>
    /// <exception cref="LeaseLostException">It changed nothing.</exception>
    /// <exception cref="TimeoutException">It is not written yet.</exception>
    public Task SettleAsync(TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        long ms = Times.WaitMs(timeout);
        return Task.Run(() => _handle.Settle(ms), cancellationToken);
    }

    /// <inheritdoc/>
    public override Task CompleteAsync(
        DbTransaction transaction, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(transaction);
        return Complete(OnApps.ConnectionOf(transaction), transaction, cancellationToken);
    }

    /// <summary>The same on a connection whose transaction is no object.</summary>
    public Task CompleteAsync(
        DbConnection connection, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return Complete(connection, null, cancellationToken);
    }

    private Task Complete(
        DbConnection connection, DbTransaction? transaction, CancellationToken cancellationToken) =>
        OnApps.RunAsync(
            connection, transaction, _handle.Engine, _handle.CompleteOperation(), _ => true,
            cancellationToken);

    /// <summary>Let go of it. If it is not finished, it is tried again.</summary>
    public void Dispose() => _handle.Dispose();
}
