-- inbox_find_old: up to @BatchSize finished messages after @Number; 1: done, and not seen, for @Delay us, and not on its way between stores, which would take it for deleted by the one that moves; 1: not so old itself.
IF OBJECT_ID(N{text:inbox_FindOld}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_FindOld} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_FindOld}
    @Number BIGINT,
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @old DATETIME2(6) = {TimeOf}(@now_us - @Delay);
    SELECT TOP (@BatchSize) m.Seq, CASE WHEN m.Status <> 3 AND m.ProcessedUtc <= @old AND m.LastSeenUtc <= @old
                               AND NOT EXISTS (SELECT 1 FROM {CopyItem} AS c WHERE c.Queue = N'inbox' AND c.Seq = m.Seq) THEN 1 ELSE 0 END,
           CASE WHEN m.FirstSeenUtc > @old AND m.FirstSeenUtc <= @now_at THEN 1 ELSE 0 END
    FROM {inbox} AS m WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq > @Number AND m.Status IN (2, 3)
    ORDER BY m.Seq;
END
