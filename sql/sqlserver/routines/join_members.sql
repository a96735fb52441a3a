-- join_members: up to @BatchSize members of a join after the message @Number.
IF OBJECT_ID(N{text:Join_Members}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Members} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Members}
    @Id UNIQUEIDENTIFIER,
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) m.Seq, CONVERT(CHAR(36), m.Id), m.Status
    FROM {Join} AS j WITH (FORCESEEK) JOIN {JoinMember} AS m WITH (FORCESEEK) ON m.JoinSeq = j.Seq
    WHERE j.Id = @Id AND m.Seq > @Number
    ORDER BY m.Seq;
END
