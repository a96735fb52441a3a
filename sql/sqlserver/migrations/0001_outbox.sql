-- 0001_outbox: messages with their state, in the table of the seeds. Statuses: 0 ready, 1 in progress, 2 done, 3 failed.
-- Times are UTC. Texts that are compared are binary; comparisons of SQL Server pad with blanks, so that keys have a point at their end.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE TYPE {GuidIdList} AS TABLE (Id UNIQUEIDENTIFIER NOT NULL);
GO
-- An instant of so many microseconds since 1970, or the nearest that there is.
CREATE FUNCTION {TimeOf}(@us BIGINT)
RETURNS DATETIME2(6)
AS
BEGIN
    RETURN CASE
        WHEN @us <= -62135596800000000 THEN CAST('0001-01-01' AS DATETIME2(6))
        WHEN @us >= 253402300799999999 THEN CAST('9999-12-31 23:59:59.999999' AS DATETIME2(6))
        ELSE DATEADD(MICROSECOND, CAST(@us % 1000000 AS INT), DATEADD(SECOND, CAST(@us / 1000000 % 86400 AS INT),
             DATEADD(DAY, CAST(@us / 86400000000 AS INT), CAST('1970-01-01' AS DATETIME2(6)))))
    END;
END
GO
-- Numbers come from a sequence: an identity column would change what @@IDENTITY tells the app.
CREATE SEQUENCE {outbox_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- OrderedKey and ActiveKey: the keys of an unfinished message; RunningKey: of one in progress. Nobody has them twice.
CREATE TABLE {outbox} (
    Seq BIGINT NOT NULL CONSTRAINT {name:outbox_Number} DEFAULT (NEXT VALUE FOR {outbox_Sequence}),
    Id UNIQUEIDENTIFIER NOT NULL CONSTRAINT {name:outbox_NewId} DEFAULT (NEWID()),
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) NOT NULL,
    Headers NVARCHAR(MAX) NULL,
    CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    UniqueKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    DueAt DATETIME2(6) NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    Status TINYINT NOT NULL CONSTRAINT {name:outbox_Ready} DEFAULT (0),
    NextAttemptAt DATETIME2(6) NOT NULL,
    RetryCount INT NOT NULL CONSTRAINT {name:outbox_First} DEFAULT (0),
    MaxAttempts BIGINT NULL,
    ClaimNumber BIGINT NOT NULL CONSTRAINT {name:outbox_Unclaimed} DEFAULT (0),
    OwnerToken UNIQUEIDENTIFIER NULL,
    LockedUntil DATETIME2(3) NULL,
    OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    RunningKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ActiveKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ProcessedAt DATETIME2(6) NULL,
    ProcessedBy NVARCHAR(MAX) NULL,
    LastError NVARCHAR(MAX) NULL,
    CONSTRAINT {name:outbox_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:outbox_Known} UNIQUE NONCLUSTERED (Id)
);
GO
CREATE INDEX IX_WorkQueue ON {outbox} (Topic, NextAttemptAt, Seq) INCLUDE (Id, OwnerToken, ExpiresAt, OrderedKey) WHERE Status = 0 AND OrderedKey IS NULL;
GO
CREATE INDEX IX_Leased ON {outbox} (LockedUntil, Seq) INCLUDE (OwnerToken, ClaimNumber) WHERE Status = 1;
GO
CREATE INDEX IX_Expires ON {outbox} (ExpiresAt, Seq) WHERE Status = 0 AND ExpiresAt IS NOT NULL;
GO
CREATE INDEX IX_Ordered ON {outbox} (OrderedKey, Seq) INCLUDE (Topic, Status, NextAttemptAt, ExpiresAt) WHERE OrderedKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Running ON {outbox} (RunningKey) WHERE RunningKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Active ON {outbox} (ActiveKey) WHERE ActiveKey IS NOT NULL;
GO
CREATE INDEX IX_Failed ON {outbox} (ProcessedAt, Seq) WHERE Status = 3;
GO
-- The dead letters that were replayed, and why they had been dead.
CREATE TABLE {outbox_Replayed} (
    Seq BIGINT NOT NULL,
    ReplayedAt DATETIME2(6) NOT NULL,
    ReplayedBy NVARCHAR(MAX) NULL,
    RetryCount INT NOT NULL,
    ProcessedAt DATETIME2(6) NOT NULL,
    LastError NVARCHAR(MAX) NULL
);
GO
CREATE CLUSTERED INDEX CX_Seq ON {outbox_Replayed} (Seq);
