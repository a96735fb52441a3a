-- 0004_job: jobs, and their runs, a queue like the outbox (see 0001_outbox) that keeps its history; the dead letters of all queues.
-- Statuses, besides: 6 cancelled, 7 skipped.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE SEQUENCE {JobRuns_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- One row a run. JobId: its job, which may be gone. OccurrenceAt: when the schedule wanted it; null: triggered by hand. Options: the
-- job's, as they were then. CancelAt: when somebody asked it to end.
CREATE TABLE {JobRuns} (
    Seq BIGINT NOT NULL CONSTRAINT {name:JobRuns_Number} DEFAULT (NEXT VALUE FOR {JobRuns_Sequence}),
    Id UNIQUEIDENTIFIER NOT NULL CONSTRAINT {name:JobRuns_NewId} DEFAULT (NEWID()),
    JobId UNIQUEIDENTIFIER NOT NULL,
    JobName NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    OccurrenceAt DATETIME2(6) NULL,
    Options NVARCHAR(MAX) NULL,
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) NOT NULL,
    Headers NVARCHAR(MAX) NULL,
    CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    UniqueKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    ScheduledTime DATETIME2(6) NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    StatusCode TINYINT NOT NULL CONSTRAINT {name:JobRuns_Ready} DEFAULT (0),
    NextAttemptAt DATETIME2(6) NOT NULL,
    RetryCount INT NOT NULL CONSTRAINT {name:JobRuns_First} DEFAULT (0),
    MaxAttempts BIGINT NULL,
    ClaimNumber BIGINT NOT NULL CONSTRAINT {name:JobRuns_Unclaimed} DEFAULT (0),
    OwnerToken UNIQUEIDENTIFIER NULL,
    LockedUntil DATETIME2(3) NULL,
    OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    RunningKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    ActiveKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL,
    StartTime DATETIME2(6) NULL,
    CancelAt DATETIME2(6) NULL,
    Output NVARCHAR(MAX) NULL,
    EndTime DATETIME2(6) NULL,
    ProcessedBy NVARCHAR(MAX) NULL,
    LastError NVARCHAR(MAX) NULL,
    CONSTRAINT {name:JobRuns_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:JobRuns_Known} UNIQUE NONCLUSTERED (Id)
);
GO
CREATE INDEX IX_WorkQueue ON {JobRuns} (Topic, NextAttemptAt, Seq) INCLUDE (Id, OwnerToken, ExpiresAt, OrderedKey) WHERE StatusCode = 0 AND OrderedKey IS NULL;
GO
CREATE INDEX IX_Leased ON {JobRuns} (LockedUntil, Seq) INCLUDE (OwnerToken, ClaimNumber) WHERE StatusCode = 1;
GO
CREATE INDEX IX_Expires ON {JobRuns} (ExpiresAt, Seq) WHERE StatusCode = 0 AND ExpiresAt IS NOT NULL;
GO
CREATE INDEX IX_Ordered ON {JobRuns} (OrderedKey, Seq) INCLUDE (Topic, StatusCode, NextAttemptAt, ExpiresAt) WHERE OrderedKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Running ON {JobRuns} (RunningKey) WHERE RunningKey IS NOT NULL;
GO
CREATE UNIQUE INDEX UX_Active ON {JobRuns} (ActiveKey) WHERE ActiveKey IS NOT NULL;
GO
CREATE INDEX IX_Failed ON {JobRuns} (EndTime, Seq) WHERE StatusCode = 3;
GO
CREATE UNIQUE INDEX UX_Occurrence ON {JobRuns} (JobId, OccurrenceAt) WHERE OccurrenceAt IS NOT NULL;
GO
CREATE INDEX IX_Job ON {JobRuns} (JobId, Seq) INCLUDE (StatusCode, StartTime);
GO
CREATE INDEX IX_Unfinished ON {JobRuns} (JobId, Seq) WHERE StatusCode IN (0, 1);
GO
CREATE INDEX IX_Name ON {JobRuns} (JobName, Seq);
GO
CREATE INDEX IX_Ended ON {JobRuns} (EndTime, Seq) WHERE EndTime IS NOT NULL;
GO
-- Those that failed and were replayed, and why they had been dead.
CREATE TABLE {JobRuns_Replayed} (
    Seq BIGINT NOT NULL,
    ReplayedAt DATETIME2(6) NOT NULL,
    ReplayedBy NVARCHAR(MAX) NULL,
    RetryCount INT NOT NULL,
    EndTime DATETIME2(6) NOT NULL,
    LastError NVARCHAR(MAX) NULL
);
GO
CREATE CLUSTERED INDEX CX_Seq ON {JobRuns_Replayed} (Seq);
GO
CREATE SEQUENCE {Jobs_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- CronSchedule: null for a job that runs once. Options: JSON. Registrar: whose code it is of; null: made by hand. IsAbsent: that code does
-- not have it any more. NextDueTime: null if it is not scheduled. FiredAt: the last occurrence that was dealt with. NameWidth: how long its name is.
CREATE TABLE {Jobs} (
    Seq BIGINT NOT NULL CONSTRAINT {name:Jobs_Number} DEFAULT (NEXT VALUE FOR {Jobs_Sequence}),
    Id UNIQUEIDENTIFIER NOT NULL,
    JobName NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    NameWidth INT NOT NULL,
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) NOT NULL,
    CronSchedule NVARCHAR(MAX) NULL,
    Zone NVARCHAR(MAX) NULL,
    Options NVARCHAR(MAX) NOT NULL,
    Registrar NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    IsAbsent BIT NOT NULL CONSTRAINT {name:Jobs_Present} DEFAULT (0),
    IsEnabled BIT NOT NULL CONSTRAINT {name:Jobs_Enabled} DEFAULT (1),
    Version BIGINT NOT NULL CONSTRAINT {name:Jobs_First} DEFAULT (1),
    NextDueTime DATETIME2(6) NULL,
    FiredAt DATETIME2(6) NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    CONSTRAINT {name:Jobs_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:Jobs_Known} UNIQUE NONCLUSTERED (Id),
    CONSTRAINT {name:Jobs_Named} UNIQUE NONCLUSTERED (JobName, NameWidth)
);
GO
CREATE INDEX IX_Due ON {Jobs} (NextDueTime, Seq) WHERE NextDueTime IS NOT NULL;
GO
CREATE INDEX IX_Fired ON {Jobs} (FiredAt, Seq) WHERE FiredAt IS NOT NULL;
GO
CREATE INDEX IX_Registrar ON {Jobs} (Registrar, Seq) WHERE Registrar IS NOT NULL;
GO
-- For people: the dead letters of every queue, as one table. Queue: whose it is.
CREATE VIEW {DeadLetters} AS
SELECT N'outbox' AS Queue, m.Seq, m.Id, m.Topic, m.RetryCount AS RetryCount, m.ProcessedAt AS ProcessedAt, m.ProcessedBy, m.LastError,
       m.CorrelationId, m.OrderingKey, m.Headers, m.CreatedAt AS CreatedAt, m.DueAt AS DueAt, m.ExpiresAt, m.Payload
FROM {outbox} AS m
WHERE m.Status = 3
UNION ALL
SELECT N'inbox' AS Queue, m.Seq, m.Id, m.Topic, m.Attempt AS RetryCount, m.ProcessedUtc AS ProcessedAt, m.ProcessedBy, m.LastError,
       m.CorrelationId, m.OrderingKey, m.Headers, m.FirstSeenUtc AS CreatedAt, m.DueTimeUtc AS DueAt, m.ExpiresAt, m.Payload
FROM {inbox} AS m
WHERE m.Status = 3
UNION ALL
SELECT N'timer' AS Queue, m.Seq, m.Id, m.Topic, m.RetryCount AS RetryCount, m.ProcessedAt AS ProcessedAt, m.ProcessedBy, m.LastError,
       m.CorrelationId, m.OrderingKey, m.Headers, m.CreatedAt AS CreatedAt, m.DueTime AS DueAt, m.ExpiresAt, m.Payload
FROM {Timers} AS m
WHERE m.StatusCode = 3
UNION ALL
SELECT N'job_run' AS Queue, m.Seq, m.Id, m.Topic, m.RetryCount AS RetryCount, m.EndTime AS ProcessedAt, m.ProcessedBy, m.LastError,
       m.CorrelationId, m.OrderingKey, m.Headers, m.CreatedAt AS CreatedAt, m.ScheduledTime AS DueAt, m.ExpiresAt, m.Payload
FROM {JobRuns} AS m
WHERE m.StatusCode = 3;
