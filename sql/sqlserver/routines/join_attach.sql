-- join_attach: make the messages of the JSON array @Seqs members of the join @Number, if it is open; those that were none. Those that are finished count.
IF OBJECT_ID(N{text:Join_Attach}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Attach} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Attach}
    @Number BIGINT,
    @Seqs NVARCHAR(MAX),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{seqs}
    DECLARE @message TABLE (Seq BIGINT NOT NULL PRIMARY KEY, Id UNIQUEIDENTIFIER NOT NULL, Status TINYINT NOT NULL);
    DECLARE @new TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @open INT = 0, @members NVARCHAR(MAX), @counted BIGINT;
{call_begin}
    SELECT @open = 1 FROM {Join} AS j WHERE j.Seq = @Number AND j.Status = 0;
    IF @open = 1
    BEGIN
        -- Whoever is finishing one waits and then sees the member, or is waited for and then seen. They are written as they were, for that locks everywhere.
        UPDATE m
        SET RetryCount = m.RetryCount
        OUTPUT inserted.Seq, inserted.Id, inserted.Status INTO @message
        FROM @seq AS s JOIN {outbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq;
        INSERT INTO {JoinMember} (JoinSeq, Seq, Id, Status, AttachedAt)
        OUTPUT inserted.Seq INTO @new
        SELECT @Number, m.Seq, m.Id, 0, @now_at
        FROM @message AS m
        WHERE NOT EXISTS (SELECT 1 FROM {JoinMember} AS o WITH (READCOMMITTEDLOCK, FORCESEEK) WHERE o.JoinSeq = @Number AND o.Seq = m.Seq)
        OPTION (LOOP JOIN); -- looks at no member of others
        SET @members = (SELECT @Number AS j, m.Seq AS m, CASE m.Status WHEN 2 THEN 1 ELSE 2 END AS o FROM @message AS m WHERE m.Status IN (2, 3) FOR JSON PATH);
        IF @members IS NOT NULL
            EXEC {Join_Count} @Members = @members, @Now = @now_us, @Counted = @counted OUTPUT;
    END;
{call_end}
    SELECT n.Seq FROM @new AS n;
END
