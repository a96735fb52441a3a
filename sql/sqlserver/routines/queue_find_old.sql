-- queue_find_old: up to @BatchSize finished messages after @Number; 1: done for @Delay us; 1: not so old itself.
IF OBJECT_ID(N{text:queue_FindOld}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindOld} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindOld}
    @Number BIGINT,
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @old DATETIME2(6) = {TimeOf}(@now_us - @Delay);
    SELECT TOP (@BatchSize) m.Seq, CASE WHEN m.Status <> 3 AND m.ProcessedAt <= @old THEN 1 ELSE 0 END,
           CASE WHEN m.CreatedAt > @old AND m.CreatedAt <= @now_at THEN 1 ELSE 0 END
    FROM {queue} AS m WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq > @Number AND m.Status IN (2, 3, 6, 7)
    ORDER BY m.Seq;
END
