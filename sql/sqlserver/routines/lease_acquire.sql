-- lease_acquire: give the lease @LeaseName to @Owner for @Lease us, if it is free, expired or the owner's already; else tell whose it is.
IF OBJECT_ID(N{text:Lease_Acquire}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_Acquire} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_Acquire}
    @LeaseName NVARCHAR(255),
    @Owner NVARCHAR(255),
    @Lease BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @key NVARCHAR(256) = @LeaseName + N'.';
    DECLARE @held TABLE (Fence BIGINT NOT NULL);
    DECLARE @locked TABLE (Owner NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL, Fence BIGINT NOT NULL, LeaseUntilUtc DATETIME2(3) NOT NULL);
    DECLARE @granted INT = 0, @there INT, @holder NVARCHAR(255), @fence BIGINT, @until DATETIME2(3), @tries INT = 0;
{call_begin}
    -- Who is refused locks nothing, so that the holder can renew.
    SELECT @there = 1, @holder = l.Owner, @fence = l.Fence, @until = l.LeaseUntilUtc
    FROM {Lease} AS l WITH (READCOMMITTEDLOCK)
    WHERE l.LeaseKey = @key;
    WHILE @granted = 0 AND @tries < 20
      AND (@there IS NULL OR @holder IS NULL OR (@holder = @Owner COLLATE Latin1_General_BIN2 AND DATALENGTH(@holder) = DATALENGTH(@Owner)) OR @until <= @now_ms)
    BEGIN
        SET @tries = @tries + 1;
        SET XACT_ABORT OFF; -- no longer than needed: a client that gives up meanwhile leaves a transaction
        IF @there IS NULL
        BEGIN TRY
            INSERT INTO {Lease} (LeaseKey, LeaseName, Fence, LeaseUntilUtc, CreatedUtc, RenewedUtc)
            VALUES (@key, @LeaseName, NEXT VALUE FOR {Lease_Fences}, CAST('0001-01-01' AS DATETIME2(3)), @now_ms, @now_ms);
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
                THROW;
        END CATCH;
        IF @scope = 0 SET XACT_ABORT ON;
        -- The fence and the time are those after the row was locked, so that they rise with every acquire.
        -- It is written as it was, for that locks at every level of isolation.
        SELECT @there = NULL, @holder = NULL, @fence = NULL, @until = NULL;
        DELETE k FROM @locked AS k;
        UPDATE l
        SET RenewedUtc = l.RenewedUtc
        OUTPUT inserted.Owner, inserted.Fence, inserted.LeaseUntilUtc INTO @locked
        FROM {Lease} AS l WITH (ROWLOCK, READCOMMITTEDLOCK)
        WHERE l.LeaseKey = @key;
        SELECT @there = 1, @holder = k.Owner, @fence = k.Fence, @until = k.LeaseUntilUtc FROM @locked AS k;
        SET @now_us = COALESCE(@Now, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), SYSUTCDATETIME()));
        SET @now_ms = {TimeOf}(@now_us - @now_us % 1000);
        IF @there = 1 AND (@holder IS NULL OR (@holder = @Owner COLLATE Latin1_General_BIN2 AND DATALENGTH(@holder) = DATALENGTH(@Owner)) OR @until <= @now_ms)
        BEGIN
            SET @fence = NEXT VALUE FOR {Lease_Fences};
            SET @until = {TimeOf}(@now_us + @Lease - (@now_us + @Lease) % 1000);
            UPDATE l
            SET Owner = @Owner, Fence = @fence, LeaseUntilUtc = @until, RenewedUtc = @now_ms
            OUTPUT inserted.Fence INTO @held
            FROM {Lease} AS l WITH (ROWLOCK, READCOMMITTEDLOCK)
            WHERE l.LeaseKey = @key
              AND (l.Owner IS NULL OR (l.Owner = @Owner AND DATALENGTH(l.Owner) = DATALENGTH(@Owner)) OR l.LeaseUntilUtc <= @now_ms);
            IF EXISTS (SELECT 1 FROM @held AS h)
                SELECT @granted = 1, @holder = @Owner;
            ELSE
                SET @there = NULL;
        END;
    END;
{call_end}
    SELECT @granted, @holder, @fence, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), @until), @now_us, 1, 1;
END
