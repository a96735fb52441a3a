-- queue_resolve: the sequence numbers of the ids of the JSON array @Ids, with their places in it; whether they have ordering keys.
IF OBJECT_ID(N{text:queue_Resolve}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Resolve} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Resolve}
    @Ids NVARCHAR(MAX)
AS
BEGIN
{settings}
    DECLARE @id TABLE (Place INT NOT NULL PRIMARY KEY, Id UNIQUEIDENTIFIER NOT NULL);
    INSERT INTO @id (Place, Id)
    SELECT CAST(j.[key] AS INT), CAST(j.value AS UNIQUEIDENTIFIER) FROM OPENJSON(@Ids) AS j;
    SELECT i.Place, m.Seq, CASE WHEN m.OrderingKey IS NULL THEN 0 ELSE 1 END
    FROM @id AS i JOIN {queue} AS m WITH (FORCESEEK) ON m.Id = i.Id;
END
