-- join_strangers: how many messages of the JSON array @Seqs are no members of the join @Number.
IF OBJECT_ID(N{text:Join_Strangers}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Strangers} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Strangers}
    @Number BIGINT,
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    SELECT COUNT(*)
    FROM @seq AS s
    WHERE NOT EXISTS (SELECT 1 FROM {JoinMember} AS m WHERE m.JoinSeq = @Number AND m.Seq = s.Seq);
END
