-- copy_pause_forget: pauses that came from the store @OwnerToken, and that it does not have any more: those are not in the JSON array @Topics of "queue/topic".
IF OBJECT_ID(N{text:CopyPause_Forget}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyPause_Forget} AS RETURN{end});
GO
ALTER PROCEDURE {CopyPause_Forget}
    @OwnerToken UNIQUEIDENTIFIER,
    @Topics NVARCHAR(MAX)
AS
BEGIN
{settings}
    DECLARE @stays TABLE (Name NVARCHAR(300) COLLATE Latin1_General_BIN2 NOT NULL);
    INSERT INTO @stays (Name) SELECT CAST(j.value AS NVARCHAR(299)) + N'.' FROM OPENJSON(@Topics) AS j;
    DELETE c
    FROM {CopyPause} AS c
    WHERE c.Peer = @OwnerToken AND NOT EXISTS (SELECT 1 FROM @stays AS s WHERE s.Name = c.Queue + N'/' + c.TopicKey);
END
