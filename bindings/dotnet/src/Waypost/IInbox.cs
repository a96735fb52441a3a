// SPDX-License-Identifier: Apache-2.0
using System.Data.Common;

namespace Waypost;

/// <summary>Claim messages of the inbox, and finish them, by hand. A worker does it by itself.</summary>
public interface IInboxWorkStore : IWorkQueue<InboxMessage>
{
    /// <summary>Give messages back after a failed attempt, in the app's transaction.</summary>
    Task<long> AbandonAsync(
        Guid ownerToken, IEnumerable<InboxMessage> messages, string? lastError, TimeSpan? delay,
        DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>Finish messages as failed, for ever, in the app's transaction.</summary>
    Task<long> FailAsync(
        Guid ownerToken, IEnumerable<InboxMessage> messages, string error, DbTransaction transaction,
        CancellationToken cancellationToken = default);

    /// <summary>Look a message up by the id that claims know it by; null if there is none.</summary>
    Task<OutboxMessageInfo?> FindAsync(Guid id, CancellationToken cancellationToken = default);

    /// <summary>The same for a message that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<OutboxMessageInfo> GetAsync(Guid id, CancellationToken cancellationToken = default);

    /// <summary>Look a message up by its key; null if the inbox does not know it. One that was only seen
    /// has empty texts for topic and payload.</summary>
    Task<OutboxMessageInfo?> FindAsync(InboxKey key, CancellationToken cancellationToken = default);

    /// <summary>The same for a message that must be there.</summary>
    /// <exception cref="NotFoundException">It is not.</exception>
    Task<OutboxMessageInfo> GetAsync(InboxKey key, CancellationToken cancellationToken = default);

    /// <summary>The same for one without a consumer's name.</summary>
    Task<OutboxMessageInfo> GetAsync(
        string messageId, string source, CancellationToken cancellationToken = default);
}

/// <summary>
/// The inbox: messages from elsewhere, each known by its source, its id and its consumer, so that one
/// which is delivered again is not processed again. Thread-safe.
/// <para>Enqueue what arrives, and a worker runs its handler; or process it in the app's own transaction
/// with <see cref="ProcessOnceAsync(InboxKey, DbTransaction, CancellationToken)"/>; or ask whether it was
/// processed, and tell afterwards that it is. Transactions are as <see cref="IOutbox"/> has them.</para>
/// </summary>
public interface IInbox : IInboxWorkStore
{
    // ---- arrival ------------------------------------------------------------------------------

    /// <summary>Note that a message has arrived, and learn whether it was processed.</summary>
    Task<bool> AlreadyProcessedAsync(
        string messageId, string source, CancellationToken cancellationToken = default);

    /// <summary>The same with the SHA-256 of its content: that it is known by another one is
    /// logged.</summary>
    Task<bool> AlreadyProcessedAsync(
        string messageId, string source, byte[]? hash, CancellationToken cancellationToken = default);

    /// <summary>Note that a message has arrived, and learn in which state it was found.</summary>
    Task<InboxResult> CheckAsync(
        InboxKey key, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>Enqueue a message for the handler of its topic.</summary>
    /// <param name="topic">Decides which handler gets it.</param>
    /// <param name="source">Where it comes from.</param>
    /// <param name="messageId">Its id there.</param>
    /// <param name="payload">Any text.</param>
    /// <param name="hash">The SHA-256 of its content.</param>
    /// <param name="dueTimeUtc">Hide it until then.</param>
    /// <param name="cancellationToken">Looked at before the call.</param>
    Task EnqueueAsync(
        string topic, string source, string messageId, string payload, byte[]? hash = null,
        DateTimeOffset? dueTimeUtc = null, CancellationToken cancellationToken = default);

    /// <summary>Enqueue a message with all that one can have. One that was only seen becomes ready; an
    /// unfinished one takes the new content and due time; a dead one too, and stays dead
    /// (<see cref="ReviveAsync"/>); one that is done stays as it is.</summary>
    Task<InboxResult> EnqueueAsync(
        InboxKey key, NewOutboxMessage message, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Enqueue up to 10,000 messages, all or none; results are in the order of the
    /// messages.</summary>
    Task<IReadOnlyList<InboxResult>> EnqueueManyAsync(
        IEnumerable<NewInboxMessage> messages, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>Process a message in the app's transaction, once. If the result says
    /// <see cref="InboxResult.Proceed"/>, make the writes and commit: the commit makes it done together
    /// with them, and after a rollback it is as before. Else it is done, dead, or another one is
    /// processing it at this moment.</summary>
    /// <exception cref="InvalidOperationException">The transaction is over.</exception>
    Task<InboxResult> ProcessOnceAsync(
        InboxKey key, DbTransaction transaction, CancellationToken cancellationToken = default);

    /// <summary>The same with a transaction that this call begins on the app's connection, hands to
    /// <paramref name="process"/> if the message is to be processed, and commits; where that throws, it is
    /// rolled back.</summary>
    /// <param name="key">What the message is known by.</param>
    /// <param name="connection">Open, with no transaction on it.</param>
    /// <param name="process">The app's writes.</param>
    /// <param name="cancellationToken">Cancels statements.</param>
    Task<InboxResult> ProcessOnceAsync(
        InboxKey key, DbConnection connection,
        Func<DbTransaction, CancellationToken, Task> process,
        CancellationToken cancellationToken = default);

    // ---- states by key ------------------------------------------------------------------------

    /// <summary>The app processes a seen message itself: others find it processing. There is no lease: if
    /// the app dies, it stays so until it is marked.</summary>
    /// <exception cref="NotFoundException">The inbox does not know it.</exception>
    /// <exception cref="InvalidOperationException">It is done or dead.</exception>
    Task MarkProcessingAsync(
        InboxKey key, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id and source.</summary>
    Task MarkProcessingAsync(
        string messageId, string source, CancellationToken cancellationToken = default);

    /// <summary>A message was processed, whatever it was before. A claim of it is lost.</summary>
    /// <exception cref="NotFoundException">The inbox does not know it.</exception>
    Task MarkProcessedAsync(
        InboxKey key, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>The same by id and source.</summary>
    Task MarkProcessedAsync(
        string messageId, string source, CancellationToken cancellationToken = default);

    /// <summary>Give a message up. A claim of it is lost.</summary>
    /// <exception cref="NotFoundException">The inbox does not know it.</exception>
    /// <exception cref="InvalidOperationException">It is done.</exception>
    Task MarkDeadAsync(
        InboxKey key, string? reason = null, DbTransaction? transaction = null,
        CancellationToken cancellationToken = default);

    /// <summary>The same by id and source.</summary>
    Task MarkDeadAsync(
        string messageId, string source, CancellationToken cancellationToken = default);

    /// <summary>Make a dead message ready again, with no attempts; one that had no topic is only seen
    /// again.</summary>
    /// <exception cref="NotFoundException">The inbox does not know it.</exception>
    /// <exception cref="InvalidOperationException">It is not dead.</exception>
    Task ReviveAsync(
        InboxKey key, DbTransaction? transaction = null, CancellationToken cancellationToken = default);

    /// <summary>What the store has counted since it was opened.</summary>
    InboxCounters Counters { get; }
}

/// <summary>Handles the messages of the inbox of one topic. Made anew in a scope of its own for each
/// message. It has nothing to do with a handler of the outbox for the same topic.</summary>
public interface IInboxHandler
{
    /// <summary>The topic; the same for all instances.</summary>
    string Topic { get; }

    /// <summary>Handle a message, as <see cref="IOutboxHandler.HandleAsync"/> does.</summary>
    Task HandleAsync(InboxMessage message, CancellationToken cancellationToken);
}

/// <summary>Finds the inbox of a key, where the app has several databases.</summary>
public interface IInboxRouter
{
    /// <summary>The inbox of the store with this id, opened now if it is not open yet.</summary>
    /// <exception cref="InvalidOperationException">No store has this id.</exception>
    IInbox GetInbox(string key);

    /// <summary>The same for an id that is a Guid: its usual form of 36 characters.</summary>
    /// <exception cref="InvalidOperationException">No store has this id.</exception>
    IInbox GetInbox(Guid key);
}
