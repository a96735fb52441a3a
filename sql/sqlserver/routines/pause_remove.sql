-- pause_remove: let the topic @Topic of the queue @Queue go on; no row: it was not paused.
IF OBJECT_ID(N{text:PausedTopic_Remove}) IS NULL EXEC (N{body}CREATE PROCEDURE {PausedTopic_Remove} AS RETURN{end});
GO
ALTER PROCEDURE {PausedTopic_Remove}
    @Queue NVARCHAR(20),
    @Topic NVARCHAR(255),
    @PausedBy NVARCHAR(255) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @to BIT = 0, @key NVARCHAR(256) = @Topic + N'.', @last INT, @is BIT, @changed BIT = 0, @tries INT = 0;
{pause_change}
    SELECT 1 WHERE @changed = 1;
END
