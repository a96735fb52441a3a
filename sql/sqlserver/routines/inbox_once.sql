-- inbox_once: as inbox_check, to be processed in this transaction. No row: another transaction has it.
IF OBJECT_ID(N{text:inbox_Once}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Once} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Once}
    @Id UNIQUEIDENTIFIER,
    @Source NVARCHAR(255),
    @MessageId NVARCHAR(255),
    @Consumer NVARCHAR(255),
    @Hash NVARCHAR(2048) = NULL,
    @HashAlgorithm NVARCHAR(255) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{inbox_key}
{inbox_arrived}
    -- Whoever finds the message changes its row, and waits for who stores it; whoever does not, stores it, and may find that another was faster.
    -- That is one change, which needs no transaction of ours: a client that gives up while it waits leaves none open.
    SET LOCK_TIMEOUT 0;
    WHILE @tries < 3
    BEGIN
        SET @tries = @tries + 1;
        BEGIN TRY
            UPDATE m
            SET LastSeenUtc = @now_at, Hash = COALESCE(m.Hash, CONVERT(VARBINARY(MAX), @Hash, 2)),
                HashAlgorithm = CASE WHEN m.Hash IS NULL THEN @HashAlgorithm ELSE m.HashAlgorithm END
            OUTPUT inserted.Id, inserted.Seq, inserted.Hash, inserted.HashAlgorithm, inserted.Status, inserted.LockedUntil
            INTO @arrived
            FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
            WHERE m.Source = @Source AND m.MessageId = @MessageId AND m.Consumer = @Consumer AND m.Widths = @widths;
            IF @@ROWCOUNT > 0
                BREAK;
            INSERT INTO {inbox} (Id, Source, MessageId, Consumer, Widths, Hash, HashAlgorithm, FirstSeenUtc, LastSeenUtc, DueTimeUtc, NextAttemptAt, Status)
            OUTPUT inserted.Id, inserted.Seq, inserted.Hash, inserted.HashAlgorithm, inserted.Status, inserted.LockedUntil
            INTO @arrived
            VALUES (@Id, @Source, @MessageId, @Consumer, @widths, CONVERT(VARBINARY(MAX), @Hash, 2), @HashAlgorithm, @now_at, @now_at, @now_at, @now_at, 5);
            BREAK;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() = 1222 AND XACT_STATE() <> -1
                BREAK;
            IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1 OR @tries = 3
                THROW;
        END CATCH;
    END;
{inbox_tell}
END
