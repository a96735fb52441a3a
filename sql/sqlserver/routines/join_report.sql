-- join_report: count members of the join @Number as @Status; how many did, and 0.
IF OBJECT_ID(N{text:Join_Report}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Report} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Report}
    @Number BIGINT,
    @Seqs NVARCHAR(MAX),
    @Status TINYINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{seqs}
    DECLARE @members NVARCHAR(MAX), @counted BIGINT = 0;
{call_begin}
    SET @members = (SELECT @Number AS j, s.Seq AS m, @Status AS o FROM @seq AS s FOR JSON PATH);
    IF @members IS NOT NULL
        EXEC {Join_Count} @Members = @members, @Now = @now_us, @Counted = @counted OUTPUT;
{call_end}
    SELECT @counted, 0;
END
