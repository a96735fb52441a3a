-- pause_add: pause the topic @Topic of the queue @Queue; no row: it was.
IF OBJECT_ID(N{text:PausedTopic_Add}) IS NULL EXEC (N{body}CREATE PROCEDURE {PausedTopic_Add} AS RETURN{end});
GO
ALTER PROCEDURE {PausedTopic_Add}
    @Queue NVARCHAR(20),
    @Topic NVARCHAR(255),
    @PausedBy NVARCHAR(255) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @to BIT = 1, @key NVARCHAR(256) = @Topic + N'.', @last INT, @is BIT, @changed BIT = 0, @tries INT = 0;
{pause_change}
    SELECT 1 WHERE @changed = 1;
END
