-- semaphore_set: make the semaphore @SemaphoreName, or change how many may hold it.
IF OBJECT_ID(N{text:Semaphore_Set}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Set} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Set}
    @SemaphoreName NVARCHAR(255),
    @Slots BIGINT
AS
BEGIN
{settings}
    DECLARE @key NVARCHAR(256) = @SemaphoreName + N'.';
    DECLARE @set TABLE (Slots BIGINT NOT NULL);
    -- One of the two changes it, without a transaction of ours: see inbox_check.
    BEGIN TRY
        INSERT INTO {Semaphore} (SemaphoreKey, SemaphoreName, Slots, Held)
        OUTPUT inserted.Slots INTO @set
        SELECT @key, @SemaphoreName, @Slots, 0
        WHERE NOT EXISTS (SELECT 1 FROM {Semaphore} AS s WITH (READCOMMITTEDLOCK) WHERE s.SemaphoreKey = @key);
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
            THROW;
    END CATCH;
    IF NOT EXISTS (SELECT 1 FROM @set AS n)
        UPDATE s SET Slots = @Slots FROM {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK) WHERE s.SemaphoreKey = @key;
END
