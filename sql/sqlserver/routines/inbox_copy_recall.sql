-- inbox_copy_recall: those of @Seqs again, as inbox_copy_memory gives them.
IF OBJECT_ID(N{text:inbox_CopyRecall}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyRecall} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyRecall}
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    SELECT m.Seq, CONVERT(CHAR(36), m.Id), 2, m.Attempt, m.ClaimNumber, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedUtc), CAST(NULL AS BIGINT), m.LastError,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedUtc), m.ProcessedBy, CAST(NULL AS NVARCHAR(255)), CAST(NULL AS NVARCHAR(MAX)), CAST(NULL AS NVARCHAR(MAX)), m.CorrelationId, m.OrderingKey,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.FirstSeenUtc), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueTimeUtc), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt), m.Source, m.MessageId, m.Consumer, LOWER(CONVERT(NVARCHAR(2048), m.Hash, 2)), m.HashAlgorithm, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LastSeenUtc)
    FROM @seq AS s JOIN {inbox} AS m WITH (READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq
    WHERE m.Status = 2
    ORDER BY m.Seq;
END
