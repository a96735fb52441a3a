-- now: @now_us and @now_at, what time it is in the database, or for tests @Now.
    DECLARE @now_us BIGINT = COALESCE(@Now, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), SYSUTCDATETIME()));
    DECLARE @now_at DATETIME2(6) = {TimeOf}(@now_us);
