-- 0002_inbox: messages from elsewhere, each known by its source, id and consumer; see 0001_outbox. Statuses, besides:
-- 5 only seen. One in progress without a lease is marked by the app, which processes it itself.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE SEQUENCE {inbox_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- Topic and Payload are null while a message was only seen. Widths: how long the three texts of its key are, for
-- comparisons pad with blanks. Hash: of its content.
CREATE TABLE {inbox} (
    Seq BIGINT NOT NULL CONSTRAINT {name:inbox_Number} DEFAULT (NEXT VALUE FOR {inbox_Sequence}),
    Id UNIQUEIDENTIFIER NOT NULL CONSTRAINT {name:inbox_NewId} DEFAULT (NEWID()),
    Source NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    MessageId NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Consumer NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Widths INT NOT NULL,
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Payload NVARCHAR(MAX) NULL,
    Headers NVARCHAR(MAX) NULL,
    CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Hash VARBINARY(MAX) NULL,
    HashAlgorithm NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    FirstSeenUtc DATETIME2(6) NOT NULL,
    LastSeenUtc DATETIME2(6) NOT NULL,
    DueTimeUtc DATETIME2(6) NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    Status TINYINT NOT NULL CONSTRAINT {name:inbox_Ready} DEFAULT (0),
    NextAttemptAt DATETIME2(6) NOT NULL,
    Attempt INT NOT NULL CONSTRAINT {name:inbox_First} DEFAULT (0),
    MaxAttempts BIGINT NULL,
    ClaimNumber BIGINT NOT NULL CONSTRAINT {name:inbox_Unclaimed} DEFAULT (0),
    OwnerToken UNIQUEIDENTIFIER NULL,
    LockedUntil DATETIME2(3) NULL,
    OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    RunningKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ProcessedUtc DATETIME2(6) NULL,
    ProcessedBy NVARCHAR(MAX) NULL,
    LastError NVARCHAR(MAX) NULL,
    CONSTRAINT {name:inbox_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:inbox_Known} UNIQUE NONCLUSTERED (Id),
    CONSTRAINT {name:inbox_Arrived} UNIQUE NONCLUSTERED (Source, MessageId, Consumer, Widths)
);
GO
CREATE INDEX IX_WorkQueue ON {inbox} (Topic, NextAttemptAt, Seq) INCLUDE (Id, OwnerToken, ExpiresAt, OrderedKey) WHERE Status = 0 AND OrderedKey IS NULL;
GO
CREATE INDEX IX_Leased ON {inbox} (LockedUntil, Seq) INCLUDE (OwnerToken, ClaimNumber) WHERE Status = 1;
GO
CREATE INDEX IX_Expires ON {inbox} (ExpiresAt, Seq) WHERE Status = 0 AND ExpiresAt IS NOT NULL;
GO
CREATE INDEX IX_Ordered ON {inbox} (OrderedKey, Seq) INCLUDE (Topic, Status, NextAttemptAt, ExpiresAt) WHERE OrderedKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Running ON {inbox} (RunningKey) WHERE RunningKey IS NOT NULL;
GO
CREATE INDEX IX_Failed ON {inbox} (ProcessedUtc, Seq) WHERE Status = 3;
GO
-- The dead letters that were replayed, and why they had been dead.
CREATE TABLE {inbox_Replayed} (
    Seq BIGINT NOT NULL,
    ReplayedAt DATETIME2(6) NOT NULL,
    ReplayedBy NVARCHAR(MAX) NULL,
    Attempt INT NOT NULL,
    ProcessedUtc DATETIME2(6) NOT NULL,
    LastError NVARCHAR(MAX) NULL
);
GO
CREATE CLUSTERED INDEX CX_Seq ON {inbox_Replayed} (Seq);
