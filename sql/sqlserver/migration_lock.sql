-- migration_lock: one process deploys this schema at a time, until its transaction ends. Named after the database, too: not all servers have such locks for each.
SET NOCOUNT ON;
DECLARE @resource NVARCHAR(255) = N'waypost ' + CAST(:schema AS NVARCHAR(128)) + N' ' + DB_NAME(), @got INT;
EXEC @got = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1;
SELECT @got
