// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;
using Waypost.Interop;

namespace Waypost;

/// <summary>What a message of the inbox is known by. Keys compare byte for byte.</summary>
public sealed class InboxKey
{
    /// <summary>The key of a message; each name is 1 to 255 characters (UTF-16 code units).</summary>
    /// <param name="messageId">Its id at its source.</param>
    /// <param name="source">Where it comes from.</param>
    public InboxKey(string messageId, string source)
    {
        ArgumentNullException.ThrowIfNull(messageId);
        ArgumentNullException.ThrowIfNull(source);
        (MessageId, Source) = (messageId, source);
    }

    /// <summary>Its id at its source.</summary>
    public string MessageId { get; }

    /// <summary>Where it comes from.</summary>
    public string Source { get; }

    /// <summary>Who receives it: each consumer of one message processes it once. Null or empty: the one
    /// that has no name.</summary>
    public string? Consumer { get; init; }

    /// <summary>The hash of its content, up to 1,024 bytes, of a cryptographic function; empty: none. That
    /// the same key comes with another one is reported and logged, and no error.</summary>
    public ReadOnlyMemory<byte> Hash { get; init; }

    /// <summary>What made the hash; null: <c>sha256</c>. Hashes of different algorithms are not
    /// compared.</summary>
    public string? HashAlgorithm { get; init; }

    /// <summary>Source, id and consumer.</summary>
    public override string ToString() =>
        string.IsNullOrEmpty(Consumer) ? $"{Source} {MessageId}" : $"{Source} {MessageId} for {Consumer}";
}

/// <summary>A message to enqueue in the inbox.</summary>
/// <param name="Key">What it is known by.</param>
/// <param name="Message">The rest; it has no unique key, which is what the key is.</param>
public sealed record NewInboxMessage(InboxKey Key, NewOutboxMessage Message);

/// <summary>The state in which a message was found when it arrived.</summary>
public enum InboxState
{
    /// <summary>Nothing is known: no call has told.</summary>
    Unknown = wp_inbox_state.WP_INBOX_UNKNOWN,
    /// <summary>It was not known: it is the first time that it arrives.</summary>
    New = wp_inbox_state.WP_INBOX_NEW,
    /// <summary>It had arrived before, and nothing was made of it.</summary>
    Seen = wp_inbox_state.WP_INBOX_SEEN,
    /// <summary>It is enqueued, or being processed.</summary>
    Processing = wp_inbox_state.WP_INBOX_PROCESSING,
    /// <summary>It was processed.</summary>
    Done = wp_inbox_state.WP_INBOX_DONE,
    /// <summary>It was given up.</summary>
    Dead = wp_inbox_state.WP_INBOX_DEAD,
}

/// <summary>What was found when a message arrived.</summary>
/// <param name="Id">The id by which claims know it; null where the call does not say.</param>
/// <param name="Found">The state in which it was.</param>
/// <param name="HashMismatch">It is known by another content hash.</param>
public readonly record struct InboxResult(Guid? Id, InboxState Found, bool HashMismatch)
{
    /// <summary>Whether it is for the caller to process.</summary>
    public bool Proceed => Found is InboxState.New or InboxState.Seen;
}

/// <summary>A message as the inbox holds it.</summary>
public sealed class InboxMessage : OutboxMessage
{
    private readonly OutboxDelivery? _delivery;

    internal unsafe InboxMessage(OutboxMessage message, in NativeMessage native, OutboxDelivery? delivery)
        : base(message)
    {
        _delivery = delivery;
        MessageId = Utf8.Text(native.MessageId);
        Source = Utf8.Text(native.Source);
        Consumer = Utf8.Text(native.Consumer);
        Hash = Utf8.Bytes(native.Hash, native.HashLength);
        HashAlgorithm = Utf8.OptionalText(native.HashAlgorithm);
        LastSeenUtc = Times.FromUs(native.LastSeenUs);
    }

    /// <summary>Its id at its source. (<see cref="OutboxMessage.Id"/> is what claims know it by.)</summary>
    public string MessageId { get; }

    /// <summary>Where it comes from.</summary>
    public string Source { get; }

    /// <summary>Who receives it; empty: the one that has no name.</summary>
    public string Consumer { get; }

    /// <summary>The hash of its content; empty: none.</summary>
    public ReadOnlyMemory<byte> Hash { get; }

    /// <summary>What made the hash, or null.</summary>
    public string? HashAlgorithm { get; }

    /// <summary>When it arrived first, by the database's clock.</summary>
    public DateTimeOffset FirstSeenUtc => CreatedAtUtc;

    /// <summary>When it arrived last.</summary>
    public DateTimeOffset LastSeenUtc { get; }

    /// <inheritdoc/>
    public override Task CompleteAsync(
        DbTransaction transaction, CancellationToken cancellationToken = default) =>
        _delivery?.CompleteAsync(transaction, cancellationToken)
        ?? base.CompleteAsync(transaction, cancellationToken);
}

/// <summary>What a store has counted of its inbox since it was opened.</summary>
/// <param name="Checked">Checks, and messages to be processed once.</param>
/// <param name="Enqueued">Enqueued that were not known, or only seen.</param>
/// <param name="Duplicates">Checked or enqueued, and known as processing, done or dead.</param>
/// <param name="Mismatches">Known by another hash.</param>
public readonly record struct InboxCounters(long Checked, long Enqueued, long Duplicates, long Mismatches);
