-- queue_copy_read: all that is known of those with the numbers @Seqs that are held.
IF OBJECT_ID(N{text:inbox_CopyRead}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyRead} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyRead}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    -- The message's expiry is not that of the work where it was replayed in the store it comes from, after that.
    SELECT m.Seq, CONVERT(CHAR(36), m.Id), CASE WHEN i.IsDead = 1 THEN 3 ELSE 0 END, m.RetryCount, m.ClaimNumber, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.NextAttemptAt),
           CASE WHEN i.IsDead = 0 THEN DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt) END, m.LastError,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), i.FinishedAt), i.FinishedBy, m.Topic, m.Payload, m.Headers, m.CorrelationId, m.OrderingKey,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueAt),
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), CASE WHEN i.IsDead = 0 AND i.IsArrived = 1 THEN i.ExpiresAt ELSE m.ExpiresAt END), m.Source, m.MessageId, m.Consumer, LOWER(CONVERT(NVARCHAR(2048), m.Hash, 2)), m.HashAlgorithm, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LastSeenUtc)
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer
    ORDER BY m.Seq;
END
