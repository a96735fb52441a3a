// SPDX-License-Identifier: Apache-2.0
namespace Waypost;

/// <summary>Handles the messages of one topic. Made anew in a scope of its own for each message.</summary>
public interface IOutboxHandler
{
    /// <summary>The topic; the same for all instances.</summary>
    string Topic { get; }

    /// <summary>
    /// Handle a message. To return is success. <see cref="RetryException"/> and
    /// <see cref="RejectException"/> say otherwise; any other exception is a retry with its text
    /// as the reason.
    /// </summary>
    /// <param name="message">The message; in a hosted worker an <see cref="OutboxDelivery"/>.</param>
    /// <param name="cancellationToken">Cancelled when the lease is lost, the timeout passed or the
    /// worker is stopping. An OperationCanceledException gives the message back.</param>
    Task HandleAsync(OutboxMessage message, CancellationToken cancellationToken);
}

/// <summary>Handles a delivery, and answers with an outcome.</summary>
public delegate Task<Outcome> OutboxDeliveryHandler(
    OutboxDelivery delivery, CancellationToken cancellationToken);
