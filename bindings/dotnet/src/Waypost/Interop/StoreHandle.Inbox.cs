// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class InboxKeyHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_inbox_key_free(pointer);

    public static InboxKeyHandle New(InboxKey key)
    {
        ArgumentNullException.ThrowIfNull(key);
        nint error = 0;
        InboxKeyHandle handle;
        fixed (byte* s = Utf8.Name("source", key.Source), m = Utf8.Name("messageId", key.MessageId))
            Failure.Check(Native.wp_inbox_key_new(out handle, s, m, &error), error);
        try
        {
            handle.Fill(key);
            return handle;
        }
        catch
        {
            handle.Dispose();
            throw;
        }
    }

    private void Fill(InboxKey key)
    {
        nint error = 0;
        if (key.Consumer is { } consumer)
            fixed (byte* text = Utf8.Name("consumer", consumer))
                Failure.Check(Native.wp_inbox_key_set_consumer(this, text, &error), error);
        if (!key.Hash.IsEmpty)
            fixed (byte* hash = key.Hash.Span, text = Utf8.OptionalName("hashAlgorithm", key.HashAlgorithm))
                Failure.Check(
                    Native.wp_inbox_key_set_hash(this, hash, (nuint)key.Hash.Length, text, &error),
                    error);
    }
}

/// <summary>The inbox.</summary>
internal sealed unsafe partial class StoreHandle
{
    public InboxResult InboxCheck(InboxKey key)
    {
        nint error = 0;
        wp_inbox_state found;
        int mismatch;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        Failure.Check(Native.wp_inbox_check(&found, &mismatch, this, 0, k, &error), error);
        return new InboxResult(null, (InboxState)found, mismatch != 0);
    }

    public OperationHandle InboxCheckOperation(InboxKey key)
    {
        nint error = 0;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        Failure.Check(Native.wp_inbox_check_op(out OperationHandle op, this, k, &error), error);
        return op;
    }

    public OperationHandle InboxOnceOperation(InboxKey key)
    {
        nint error = 0;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        Failure.Check(Native.wp_inbox_once_op(out OperationHandle op, this, k, &error), error);
        return op;
    }

    public InboxResult[] InboxEnqueue(IEnumerable<NewInboxMessage> messages)
    {
        using var pairs = new InboxHandles(messages);
        int count = pairs.Count;
        var ids = new WpId[count];
        var found = new wp_inbox_state[count];
        var mismatches = new int[count];
        nint error = 0;
        fixed (nint* k = pairs.Keys, m = pairs.Messages)
        fixed (WpId* id = ids)
        fixed (wp_inbox_state* state = found)
        fixed (int* mismatch = mismatches)
            Failure.Check(
                Native.wp_inbox_enqueue_many(id, state, mismatch, this, 0, k, m, (nuint)count,
                                             &error), error);
        var results = new InboxResult[count];
        for (int i = 0; i < count; i++)
            results[i] = new InboxResult(ids[i], (InboxState)found[i], mismatches[i] != 0);
        return results;
    }

    public OperationHandle InboxEnqueueOperation(IEnumerable<NewInboxMessage> messages)
    {
        using var pairs = new InboxHandles(messages);
        nint error = 0;
        OperationHandle operation;
        fixed (nint* k = pairs.Keys, m = pairs.Messages)
            Failure.Check(
                Native.wp_inbox_enqueue_op(out operation, this, k, m, (nuint)pairs.Count, &error),
                error);
        return operation;
    }

    public void InboxMark(InboxKey key, wp_inbox_mark mark, string? reason)
    {
        nint error = 0;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        fixed (byte* text = Utf8.Reason(reason))
            Failure.Check(mark switch
            {
                wp_inbox_mark.WP_INBOX_MARK_PROCESSING =>
                    Native.wp_inbox_mark_processing(this, 0, k, &error),
                wp_inbox_mark.WP_INBOX_MARK_PROCESSED =>
                    Native.wp_inbox_mark_processed(this, 0, k, &error),
                wp_inbox_mark.WP_INBOX_MARK_DEAD =>
                    Native.wp_inbox_mark_dead(this, 0, k, text, &error),
                _ => Native.wp_inbox_revive(this, 0, k, &error),
            }, error);
    }

    public OperationHandle InboxMarkOperation(InboxKey key, wp_inbox_mark mark, string? reason)
    {
        nint error = 0;
        OperationHandle operation;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        fixed (byte* text = Utf8.Reason(reason))
            Failure.Check(
                Native.wp_inbox_mark_op(out operation, this, k, mark, text, &error), error);
        return operation;
    }

    /// <summary>Null: the inbox does not know it.</summary>
    public OutboxMessageInfo? InboxFind(InboxKey key)
    {
        nint error = 0;
        using InboxKeyHandle k = InboxKeyHandle.New(key);
        wp_status status = Native.wp_inbox_get(out InfoHandle info, this, k, &error);
        return Found(status, info, error);
    }

    public long InboxCounter(wp_inbox_counter_id counter) => Native.wp_inbox_counter(this, counter);
}

/// <summary>Messages for the inbox made ready to be passed together.</summary>
internal sealed class InboxHandles : IDisposable
{
    private readonly List<InboxKeyHandle> _keys = [];
    private readonly MessageHandles _messages;

    public InboxHandles(IEnumerable<NewInboxMessage> messages)
    {
        ArgumentNullException.ThrowIfNull(messages);
        NewInboxMessage[] all = messages.ToArray();
        foreach (NewInboxMessage message in all)
            ArgumentNullException.ThrowIfNull(message, nameof(messages));
        _messages = new MessageHandles(all.Select(message => message.Message));
        try
        {
            foreach (NewInboxMessage message in all)
                _keys.Add(InboxKeyHandle.New(message.Key));
        }
        catch
        {
            Dispose();
            throw;
        }
        Keys = [.. _keys.Select(key => key.Pointer), 0]; // none is not NULL
    }

    public nint[] Keys { get; } = [];
    public nint[] Messages => _messages.Pointers;
    public int Count => _messages.Count;

    public void Dispose()
    {
        _keys.ForEach(key => key.Dispose());
        _messages.Dispose();
    }
}
