-- call_begin: a call is a transaction of its own, or a savepoint in the app's, and what fails leaves nothing.
    -- @scope: 0 a transaction of its own, 1 in the app's, 2 the app begins transactions implicitly (autocommit is off) and has none yet.
    DECLARE @scope TINYINT = CASE WHEN @@TRANCOUNT > 0 THEN 1 WHEN @@OPTIONS & 2 = 2 THEN 2 ELSE 0 END;
    IF @scope = 0 SET XACT_ABORT ON; -- a client that gives up leaves no transaction
    BEGIN TRY
    IF @scope = 0 BEGIN TRANSACTION;
    IF @scope = 1 SAVE TRANSACTION waypost_call;
