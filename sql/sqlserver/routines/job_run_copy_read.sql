-- queue_copy_read: all that is known of those with the numbers @Seqs that are held; when one was asked to end, unless it was replayed since.
IF OBJECT_ID(N{text:JobRuns_CopyRead}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_CopyRead} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_CopyRead}
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
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), CASE WHEN i.IsDead = 0 AND i.IsArrived = 1 THEN i.ExpiresAt ELSE m.ExpiresAt END), CONVERT(CHAR(36), m.JobId), m.JobName, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.OccurrenceAt), m.Options, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.StartTime),
           CASE WHEN NOT EXISTS (SELECT 1 FROM {JobRuns_Replayed} AS p WHERE p.Seq = m.Seq AND p.ReplayedAt >= m.CancelAt) THEN DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CancelAt) END, m.Output
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer
    ORDER BY m.Seq;
END
