// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;
namespace Waypost.Interop;

internal sealed unsafe class MessageHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_message_free(pointer);

    public static MessageHandle New(NewOutboxMessage message)
    {
        ArgumentNullException.ThrowIfNull(message);
        nint error = 0;
        ReadOnlySpan<byte> payload = message.Utf8Payload.Span;
        MessageHandle handle;
        fixed (byte* topic = Utf8.Name("topic", message.Topic), data = payload)
        {
            byte nothing = 0; // an empty payload is not a null one
            Failure.Check(
                Native.wp_message_new(out handle, topic, payload.IsEmpty ? &nothing : data,
                                      (nuint)payload.Length, &error), error);
        }
        try
        {
            handle.Fill(message);
            return handle;
        }
        catch
        {
            handle.Dispose();
            throw;
        }
    }

    private void Fill(NewOutboxMessage message)
    {
        nint error = 0;
        if (message.DueTimeUtc is not null && message.Delay is not null)
            throw new ArgumentException("DueTimeUtc and Delay are both set");
        if (message.CorrelationId is { } correlation)
            fixed (byte* text = Utf8.Name("correlationId", correlation))
                Failure.Check(Native.wp_message_set_correlation_id(this, text, &error), error);
        if (message.OrderingKey is { } ordering)
            fixed (byte* text = Utf8.Name("orderingKey", ordering))
                Failure.Check(Native.wp_message_set_ordering_key(this, text, &error), error);
        if (message.UniqueKey is { } unique)
            fixed (byte* text = Utf8.Name("uniqueKey", unique))
                Failure.Check(Native.wp_message_set_unique_key(this, text, &error), error);
        if (message.DueTimeUtc is { } due)
            Failure.Check(Native.wp_message_set_due_us(this, Times.ToUs(due), &error), error);
        if (message.Delay is { } delay)
            Failure.Check(Native.wp_message_set_delay_ms(this, Times.ToMs(delay), &error), error);
        if (message.ExpiresAtUtc is { } expires)
            Failure.Check(Native.wp_message_set_expires_us(this, Times.ToUs(expires), &error), error);
        foreach (Guid join in message.Joins ?? [])
        {
            WpId id = join;
            Failure.Check(Native.wp_message_add_join(this, &id, &error), error);
        }
        if (message.Headers is not null)
            foreach ((string name, string value) in message.Headers)
                fixed (byte* n = Utf8.Name("header", name), v = Utf8.Name("header " + name, value))
                    Failure.Check(Native.wp_message_set_header(this, n, v, &error), error);
        if (Activity.Current is { IdFormat: ActivityIdFormat.W3C, Id: { } parent } current)
            fixed (byte* p = Utf8.Name("traceparent", parent), s = Utf8.Reason(current.TraceStateString))
                Failure.Check(Native.wp_message_set_trace(this, p, s, &error), error);
    }

    /// <summary>The trace context in headers, or none.</summary>
    public static ActivityContext TraceOf(byte[] headersJson)
    {
        nint error = 0;
        byte* parent = null, state = null;
        byte[] text = [.. headersJson, 0];
        fixed (byte* headers = text)
            Failure.Check(Native.wp_trace_read(&parent, &state, headers, &error), error);
        try
        {
            return ActivityContext.TryParse(
                Utf8.OptionalText(parent), Utf8.OptionalText(state), isRemote: true, out ActivityContext context)
                ? context : default;
        }
        finally
        {
            Native.wp_text_free(parent);
            Native.wp_text_free(state);
        }
    }
}

/// <summary>Messages made ready to be passed together.</summary>
internal sealed class MessageHandles : IDisposable
{
    private readonly List<MessageHandle> _handles = [];

    public MessageHandles(IEnumerable<NewOutboxMessage> messages)
    {
        ArgumentNullException.ThrowIfNull(messages);
        try
        {
            foreach (NewOutboxMessage message in messages)
                _handles.Add(MessageHandle.New(message));
        }
        catch
        {
            Dispose();
            throw;
        }
        Pointers = new nint[_handles.Count + 1]; // none is not NULL
        for (int i = 0; i < _handles.Count; i++)
            Pointers[i] = _handles[i].Pointer;
    }

    public nint[] Pointers { get; } = [];

    public int Count => _handles.Count;

    public void Dispose() => _handles.ForEach(handle => handle.Dispose());
}
