-- semaphore_acquire: give a slot of @SemaphoreName to @Owner for @Lease us, if one is free or the owner's already; else tell when the first holder is over. Takes back the slots whose time has passed. No row: there is no such semaphore.
IF OBJECT_ID(N{text:Semaphore_Acquire}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Acquire} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Acquire}
    @SemaphoreName NVARCHAR(255),
    @Owner NVARCHAR(255),
    @Lease BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @key NVARCHAR(256) = @SemaphoreName + N'.', @owner_key NVARCHAR(256) = @Owner + N'.';
    DECLARE @semaphore TABLE (Slots BIGINT NOT NULL, Held BIGINT NOT NULL);
    DECLARE @own TABLE (LeaseUntilUtc DATETIME2(3) NOT NULL);
    DECLARE @granted INT = 0, @full INT = 0, @slots BIGINT, @held BIGINT, @before BIGINT, @first DATETIME2(3), @until DATETIME2(3), @fence BIGINT = 0;
{call_begin}
    -- Who is refused locks nothing: all slots are held, and none by the owner.
    SELECT @slots = s.Slots, @held = s.Held FROM {Semaphore} AS s WITH (READCOMMITTEDLOCK) WHERE s.SemaphoreKey = @key;
    IF @held >= @slots
        SELECT @full = CASE WHEN COUNT(*) = @held AND MAX(CASE WHEN h.OwnerKey = @owner_key THEN 1 ELSE 0 END) = 0 THEN 1 ELSE 0 END, @first = MIN(h.LeaseUntilUtc)
        FROM {SemaphoreHolder} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (UX_Holder), FORCESEEK)
        WHERE h.SemaphoreKey = @key AND h.LeaseUntilUtc > @now_ms;
    IF @full = 0 AND @slots IS NOT NULL
    BEGIN
        -- The semaphore first, then its holders: everyone locks in this order.
        UPDATE s
        SET Held = s.Held
        OUTPUT inserted.Slots, inserted.Held INTO @semaphore
        FROM {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK)
        WHERE s.SemaphoreKey = @key;
        SELECT @slots = s.Slots, @held = s.Held, @before = s.Held FROM @semaphore AS s;
        SET @now_us = COALESCE(@Now, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), SYSUTCDATETIME()));
        SET @now_ms = {TimeOf}(@now_us - @now_us % 1000);
        DELETE h
        FROM {SemaphoreHolder} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
        WHERE h.SemaphoreKey = @key AND h.OwnerKey <> @owner_key AND h.LeaseUntilUtc <= @now_ms;
        SET @held = @held - @@ROWCOUNT;
        DELETE h
        OUTPUT deleted.LeaseUntilUtc INTO @own
        FROM {SemaphoreHolder} AS h WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
        WHERE h.SemaphoreKey = @key AND h.OwnerKey = @owner_key;
        SET @held = @held - @@ROWCOUNT;
        IF @held < @slots OR EXISTS (SELECT 1 FROM @own AS o WHERE o.LeaseUntilUtc > @now_ms)
        BEGIN
            SET @fence = NEXT VALUE FOR {Lease_Fences};
            SET @until = {TimeOf}(@now_us + @Lease - (@now_us + @Lease) % 1000);
            INSERT INTO {SemaphoreHolder} (Fence, SemaphoreKey, OwnerKey, Owner, LeaseUntilUtc, CreatedUtc)
            VALUES (@fence, @key, @owner_key, @Owner, @until, @now_ms);
            SELECT @granted = 1, @held = @held + 1;
        END
        ELSE
            SELECT @first = MIN(h.LeaseUntilUtc)
            FROM {SemaphoreHolder} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
            WHERE h.SemaphoreKey = @key;
        UPDATE s
        SET Held = s.Held + @held - @before
        FROM {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK)
        WHERE s.SemaphoreKey = @key AND @held <> @before;
    END;
{call_end}
    SELECT @granted, CAST(CASE WHEN @granted = 1 THEN @Owner END AS NVARCHAR(255)), @fence, COALESCE(DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), CASE WHEN @granted = 1 THEN @until ELSE @first END), 0), @now_us, @slots, @held
    FROM (SELECT 1 AS One) AS o
    WHERE @slots IS NOT NULL;
END
