-- copy_pause_note: note that a pause of the topic @Topic of the queue @Queue came from the store @OwnerToken; no row: it did before.
IF OBJECT_ID(N{text:CopyPause_Note}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyPause_Note} AS RETURN{end});
GO
ALTER PROCEDURE {CopyPause_Note}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Topic NVARCHAR(255)
AS
BEGIN
{settings}
    DECLARE @key NVARCHAR(256) = @Topic + N'.';
    DECLARE @noted TABLE (Peer UNIQUEIDENTIFIER NOT NULL);
    INSERT INTO {CopyPause} (Peer, Queue, TopicKey)
    OUTPUT inserted.Peer INTO @noted
    SELECT @OwnerToken, @Queue, @key
    WHERE NOT EXISTS (SELECT 1 FROM {CopyPause} AS c WHERE c.Peer = @OwnerToken AND c.Queue = @Queue AND c.TopicKey = @key);
    SELECT 1 FROM @noted AS n;
END
