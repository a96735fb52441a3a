-- 0003_timer: timers are messages with a due time, in a table of their own; see 0001_outbox. Statuses, besides: 6 cancelled.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE SEQUENCE {Timers_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
CREATE TABLE {Timers} (
    Seq BIGINT NOT NULL CONSTRAINT {name:Timers_Number} DEFAULT (NEXT VALUE FOR {Timers_Sequence}),
    Id UNIQUEIDENTIFIER NOT NULL CONSTRAINT {name:Timers_NewId} DEFAULT (NEWID()),
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) NOT NULL,
    Headers NVARCHAR(MAX) NULL,
    CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    UniqueKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    DueTime DATETIME2(6) NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    StatusCode TINYINT NOT NULL CONSTRAINT {name:Timers_Ready} DEFAULT (0),
    NextAttemptAt DATETIME2(6) NOT NULL,
    RetryCount INT NOT NULL CONSTRAINT {name:Timers_First} DEFAULT (0),
    MaxAttempts BIGINT NULL,
    ClaimNumber BIGINT NOT NULL CONSTRAINT {name:Timers_Unclaimed} DEFAULT (0),
    OwnerToken UNIQUEIDENTIFIER NULL,
    LockedUntil DATETIME2(3) NULL,
    OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    RunningKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ActiveKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ProcessedAt DATETIME2(6) NULL,
    ProcessedBy NVARCHAR(MAX) NULL,
    LastError NVARCHAR(MAX) NULL,
    CONSTRAINT {name:Timers_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:Timers_Known} UNIQUE NONCLUSTERED (Id)
);
GO
CREATE INDEX IX_WorkQueue ON {Timers} (Topic, NextAttemptAt, Seq) INCLUDE (Id, OwnerToken, ExpiresAt, OrderedKey) WHERE StatusCode = 0 AND OrderedKey IS NULL;
GO
CREATE INDEX IX_Leased ON {Timers} (LockedUntil, Seq) INCLUDE (OwnerToken, ClaimNumber) WHERE StatusCode = 1;
GO
CREATE INDEX IX_Expires ON {Timers} (ExpiresAt, Seq) WHERE StatusCode = 0 AND ExpiresAt IS NOT NULL;
GO
CREATE INDEX IX_Ordered ON {Timers} (OrderedKey, Seq) INCLUDE (Topic, StatusCode, NextAttemptAt, ExpiresAt) WHERE OrderedKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Running ON {Timers} (RunningKey) WHERE RunningKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Active ON {Timers} (ActiveKey) WHERE ActiveKey IS NOT NULL;
GO
CREATE INDEX IX_Failed ON {Timers} (ProcessedAt, Seq) WHERE StatusCode = 3;
GO
CREATE INDEX IX_Correlated ON {Timers} (CorrelationId, Seq) WHERE CorrelationId IS NOT NULL;
GO
-- The dead letters that were replayed, and why they had been dead.
CREATE TABLE {Timers_Replayed} (
    Seq BIGINT NOT NULL,
    ReplayedAt DATETIME2(6) NOT NULL,
    ReplayedBy NVARCHAR(MAX) NULL,
    RetryCount INT NOT NULL,
    ProcessedAt DATETIME2(6) NOT NULL,
    LastError NVARCHAR(MAX) NULL
);
GO
CREATE CLUSTERED INDEX CX_Seq ON {Timers_Replayed} (Seq);
