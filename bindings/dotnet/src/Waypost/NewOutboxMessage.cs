// SPDX-License-Identifier: Apache-2.0
using Waypost.Interop;

namespace Waypost;

/// <summary>
/// A message to enqueue. Topic, correlation id and keys hold up to 255 characters (UTF-16 code
/// units). The payload is text, as a string or as UTF-8 without NUL; binary data goes as base64.
/// </summary>
public sealed class NewOutboxMessage
{
    /// <summary>A message with text as its payload.</summary>
    public NewOutboxMessage(string topic, string payload) : this(topic, Utf8.Encode(nameof(payload), payload)) { }

    /// <summary>A message with UTF-8 as its payload; it is copied when the message is enqueued.</summary>
    public NewOutboxMessage(string topic, ReadOnlyMemory<byte> utf8Payload)
    {
        ArgumentNullException.ThrowIfNull(topic);
        Topic = topic;
        Utf8Payload = utf8Payload;
    }

    /// <summary>Decides which handler gets it. Case matters.</summary>
    public string Topic { get; }

    /// <summary>The payload as UTF-8.</summary>
    public ReadOnlyMemory<byte> Utf8Payload { get; }

    /// <summary>Passed on to the handler. Empty: none.</summary>
    public string? CorrelationId { get; init; }

    /// <summary>Hide it until this instant ...</summary>
    public DateTimeOffset? DueTimeUtc { get; init; }

    /// <summary>... or for this time from the enqueue on, by the database's clock.</summary>
    public TimeSpan? Delay { get; init; }

    /// <summary>Fail it as "expired" instead of handling it from this instant on.</summary>
    public DateTimeOffset? ExpiresAtUtc { get; init; }

    /// <summary>Messages with the same key run one at a time, in the order of their enqueue.</summary>
    public string? OrderingKey { get; init; }

    /// <summary>While an unfinished message with this key is there, an enqueue is a duplicate.</summary>
    public string? UniqueKey { get; init; }

    /// <summary>The joins that it becomes a member of as it is enqueued, up to 16; of the outbox only. The
    /// enqueue throws <see cref="NotFoundException"/> if there is no such join, and
    /// InvalidOperationException if it is over.</summary>
    public IReadOnlyCollection<Guid>? Joins { get; init; }

    /// <summary>Carried to the handler. The trace context of the current activity is added as `traceparent` and
    /// `tracestate`, unless a `traceparent` is here.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; init; }
}

/// <summary>What became of an enqueue.</summary>
/// <param name="Id">The new message's id, or the first one's if it is a duplicate.</param>
/// <param name="IsDuplicate">Nothing was stored, because of the unique key.</param>
public readonly record struct EnqueueResult(Guid Id, bool IsDuplicate);
