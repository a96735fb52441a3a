// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using System.Diagnostics;
using System.Text;
using System.Text.Json;
using Waypost.Interop;

namespace Waypost;

/// <summary>A message as the outbox holds it, or a timer, or a job's run; those of the inbox are
/// <see cref="InboxMessage"/>. Immutable, and its own: it outlives what it came from.</summary>
public class OutboxMessage
{
    private static readonly IReadOnlyDictionary<string, string> NoHeaders =
        new Dictionary<string, string>();

    private readonly byte[] _payload;
    private string? _text;
    private readonly byte[]? _headersJson;
    private IReadOnlyDictionary<string, string>? _headers;

    internal unsafe OutboxMessage(in NativeMessage native)
    {
        Id = native.Id;
        Topic = Utf8.Text(native.Topic);
        _payload = Utf8.Bytes(native.Payload, native.PayloadLength);
        CorrelationId = Utf8.OptionalText(native.CorrelationId);
        OrderingKey = Utf8.OptionalText(native.OrderingKey);
        if (native.Headers[1] != (byte)'}')
            _headersJson = Encoding.UTF8.GetBytes(Utf8.Text(native.Headers));
        Attempt = checked((int)native.Attempt);
        LastError = Utf8.OptionalText(native.LastError);
        ClaimNumber = native.ClaimNumber;
        CreatedAtUtc = Times.FromUs(native.CreatedUs);
        DueTimeUtc = Times.FromUs(native.DueUs);
        ExpiresAtUtc = Times.FromOptionalUs(native.ExpiresUs);
        JobName = Utf8.OptionalText(native.Job);
    }

    /// <summary>The same message, with the bytes that it has.</summary>
    private protected OutboxMessage(OutboxMessage other)
    {
        (Id, Topic, _payload, _headersJson) = (other.Id, other.Topic, other._payload, other._headersJson);
        (CorrelationId, OrderingKey, JobName) = (other.CorrelationId, other.OrderingKey, other.JobName);
        (Attempt, ClaimNumber, LastError) = (other.Attempt, other.ClaimNumber, other.LastError);
        (CreatedAtUtc, DueTimeUtc, ExpiresAtUtc) = (other.CreatedAtUtc, other.DueTimeUtc, other.ExpiresAtUtc);
    }

    /// <summary>A message of whichever queue.</summary>
    internal static unsafe OutboxMessage Of(in NativeMessage native)
    {
        var message = new OutboxMessage(in native);
        return native.Source is null ? message : new InboxMessage(message, in native, null);
    }

    /// <summary>The message's id. Ids sort by the time of their enqueue.</summary>
    public Guid Id { get; }

    /// <summary>The topic.</summary>
    public string Topic { get; }

    /// <summary>The payload as text.</summary>
    public string Payload => _text ??= Encoding.UTF8.GetString(_payload);

    /// <summary>The payload as UTF-8, as JsonSerializer likes it.</summary>
    public ReadOnlyMemory<byte> Utf8Payload => _payload;

    /// <summary>The correlation id, or null.</summary>
    public string? CorrelationId { get; }

    /// <summary>The ordering key, or null.</summary>
    public string? OrderingKey { get; }

    /// <summary>The headers; empty if there are none.</summary>
    public IReadOnlyDictionary<string, string> Headers =>
        _headers ??= _headersJson is null ? NoHeaders : Json.Strings(_headersJson);

    /// <summary>How many attempts ended without success before this one.</summary>
    public int Attempt { get; }

    /// <summary>The reason of the last of them, or null.</summary>
    public string? LastError { get; }

    /// <summary>The number of this claim of this message: a fencing token, it rises with every
    /// claim.</summary>
    public long ClaimNumber { get; }

    /// <summary>When it was enqueued, by the database's clock.</summary>
    public DateTimeOffset CreatedAtUtc { get; }

    /// <summary>When it was due.</summary>
    public DateTimeOffset DueTimeUtc { get; }

    /// <summary>When it expires, or null.</summary>
    public DateTimeOffset? ExpiresAtUtc { get; }

    /// <summary>Of a job's run: the job's name; else null.</summary>
    public string? JobName { get; }

    /// <summary>The trace context of whoever enqueued it, from the headers; none: the default.</summary>
    public ActivityContext TraceContext =>
        _headersJson is null ? default : MessageHandle.TraceOf(_headersJson);

    /// <summary>
    /// In a handler: acknowledge the message inside the app's transaction, so that the handler's
    /// writes and the acknowledgement commit together; then return. If the transaction does not
    /// commit, the message is tried again.
    /// </summary>
    /// <exception cref="LeaseLostException">Roll back: someone else may have the message.</exception>
    public virtual Task CompleteAsync(
        DbTransaction transaction, CancellationToken cancellationToken = default) =>
        throw new InvalidOperationException("the message is not being handled");

    /// <summary>The message's topic and id; never its payload.</summary>
    public override string ToString() => $"{Topic} {Id}";
}

/// <summary>Where a message stands.</summary>
public enum OutboxMessageStatus
{
    /// <summary>Waiting: for its due time, its next attempt or a worker.</summary>
    Ready = wp_message_status.WP_MESSAGE_READY,
    /// <summary>Claimed.</summary>
    InProgress = wp_message_status.WP_MESSAGE_IN_PROGRESS,
    /// <summary>Finished with success.</summary>
    Done = wp_message_status.WP_MESSAGE_DONE,
    /// <summary>A dead letter.</summary>
    Failed = wp_message_status.WP_MESSAGE_FAILED,
    /// <summary>Waits for an earlier message with the same ordering key.</summary>
    Blocked = wp_message_status.WP_MESSAGE_BLOCKED,
    /// <summary>Of the inbox: arrived, but not enqueued.</summary>
    Seen = wp_message_status.WP_MESSAGE_SEEN,
    /// <summary>A timer that was cancelled.</summary>
    Cancelled = wp_message_status.WP_MESSAGE_CANCELLED,
}

/// <summary>One message and where it stands.</summary>
public sealed record OutboxMessageInfo(
    OutboxMessageStatus Status,
    OutboxMessage Message,
    DateTimeOffset? NextAttemptUtc,
    DateTimeOffset? LockedUntilUtc,
    DateTimeOffset? ProcessedAtUtc,
    string? ProcessedBy,
    string? LastError)
{
    /// <summary>Of which queue it is.</summary>
    public WaypostQueue Queue { get; init; }

    /// <summary>The message, if it is one of the inbox; else null.</summary>
    public InboxMessage? Inbox => Message as InboxMessage;
}

/// <summary>Counts of messages.</summary>
/// <param name="Ready">Claimable now.</param>
/// <param name="Scheduled">Due, or tried again, later.</param>
/// <param name="InProgress">Claimed.</param>
/// <param name="Blocked">Behind an ordering key.</param>
/// <param name="Done">Finished with success.</param>
/// <param name="Failed">Dead letters.</param>
/// <param name="OldestReadyAge">Of the oldest claimable message, since it was due.</param>
/// <param name="LeaseExpired">Of those claimed, whose lease is over: nobody has reaped them yet.</param>
/// <param name="Paused">Would be claimable, but their topic is paused: not in <c>Ready</c>.</param>
public sealed record TopicStats(
    long Ready, long Scheduled, long InProgress, long Blocked, long Done, long Failed,
    TimeSpan OldestReadyAge, long LeaseExpired = 0, long Paused = 0);

/// <summary>A topic that workers leave alone until it is resumed.</summary>
/// <param name="Topic">The topic.</param>
/// <param name="SinceUtc">When it was paused.</param>
/// <param name="By">By whom; null: nobody said.</param>
public sealed record PausedTopic(string Topic, DateTimeOffset SinceUtc, string? By);

/// <summary>What somebody changed by hand.</summary>
/// <param name="Number">Later ones have higher numbers.</param>
/// <param name="AtUtc">When.</param>
/// <param name="By">Who did it; null: nobody said.</param>
/// <param name="Action"><c>topic.pause</c>, <c>topic.resume</c>, <c>dead.replay</c>, <c>dead.purge</c>,
/// <c>dead.edit</c>, <c>job.pause</c>, <c>job.resume</c>, <c>job.trigger</c>, or what a later version
/// knows.</param>
/// <param name="Queue">In which queue; null: in none.</param>
/// <param name="Subject">To what: a topic, a job's name, a message's id; null: to several.</param>
/// <param name="Detail">More, as a JSON object; null: there is none.</param>
public sealed record AuditEntry(
    long Number, DateTimeOffset AtUtc, string? By, string Action, WaypostQueue? Queue, string? Subject,
    string? Detail);

/// <summary>What a queue holds, by topic and in all. A snapshot.</summary>
public sealed record OutboxStats(IReadOnlyDictionary<string, TopicStats> Topics, TopicStats Total);

internal static class Json
{
    /// <summary>A JSON object of strings.</summary>
    public static Dictionary<string, string> Strings(byte[] json)
    {
        var strings = new Dictionary<string, string>();
        var reader = new Utf8JsonReader(json);
        reader.Read();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            string name = reader.GetString()!;
            reader.Read();
            strings[name] = reader.GetString()!;
        }
        return strings;
    }

    /// <summary>Strings as a JSON object.</summary>
    public static string Object(IEnumerable<KeyValuePair<string, string>> strings)
    {
        using var text = new MemoryStream();
        using (var writer = new Utf8JsonWriter(text))
        {
            writer.WriteStartObject();
            foreach ((string name, string value) in strings)
                writer.WriteString(name, value);
            writer.WriteEndObject();
        }
        return Encoding.UTF8.GetString(text.ToArray());
    }

    /// <summary>A JSON object's names and scalar values.</summary>
    public static List<KeyValuePair<string, object?>> Scalars(byte[] json)
    {
        var values = new List<KeyValuePair<string, object?>>();
        var reader = new Utf8JsonReader(json);
        reader.Read();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            string name = reader.GetString()!;
            reader.Read();
            object? value = reader.TokenType switch
            {
                JsonTokenType.String => reader.GetString(),
                JsonTokenType.Number => reader.TryGetInt64(out long whole) ? whole : reader.GetDouble(),
                JsonTokenType.True => true,
                JsonTokenType.False => false,
                _ => null,
            };
            reader.TrySkip();
            values.Add(new(name, value));
        }
        return values;
    }
}
