-- join_find: the joins of the ids of the JSON array @Ids, with their places in it.
IF OBJECT_ID(N{text:Join_Find}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Find} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Find}
    @Ids NVARCHAR(MAX)
AS
BEGIN
{settings}
    DECLARE @id TABLE (Place INT NOT NULL PRIMARY KEY, Id UNIQUEIDENTIFIER NOT NULL);
    INSERT INTO @id (Place, Id)
    SELECT CAST(j.[key] AS INT), CAST(j.value AS UNIQUEIDENTIFIER) FROM OPENJSON(@Ids) AS j;
    SELECT i.Place, n.Seq, n.Status
    FROM @id AS i JOIN {Join} AS n WITH (FORCESEEK) ON n.Id = i.Id;
END
