-- audit_add: note who did what.
IF OBJECT_ID(N{text:Audit_Add}) IS NULL EXEC (N{body}CREATE PROCEDURE {Audit_Add} AS RETURN{end});
GO
ALTER PROCEDURE {Audit_Add}
    @Action NVARCHAR(40),
    @Actor NVARCHAR(255) = NULL,
    @Queue NVARCHAR(20) = NULL,
    @Subject NVARCHAR(255) = NULL,
    @Detail NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    INSERT INTO {Audit} (NotedAt, Actor, Action, Queue, Subject, Detail)
    VALUES (@now_at, @Actor, @Action, @Queue, @Subject, @Detail);
END
