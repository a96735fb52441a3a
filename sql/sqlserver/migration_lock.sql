-- migration_lock: one process deploys this schema at a time, until its transaction ends.
SET NOCOUNT ON;
DECLARE @resource NVARCHAR(255) = N'waypost ' + CAST(:schema AS NVARCHAR(128)), @got INT;
EXEC @got = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1;
SELECT @got
