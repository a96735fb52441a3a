-- 0013_copy: what moves between stores: wp_copy. Times are UTC. Keys are the names with a point at their end: see 0005_lease.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
-- One row, from the first copy on: which store this is.
CREATE TABLE {CopySelf} (
    One TINYINT NOT NULL,
    Id UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT {name:CopySelf_Numbered} PRIMARY KEY CLUSTERED (One),
    CONSTRAINT {name:CopySelf_Single} CHECK (One = 1)
);
GO
-- Messages on their way to another store, or from it; they are in progress meanwhile. Queue: outbox, inbox, timers or jobs. Peer: that
-- store. IsDead: it is a dead letter; when and by whom it was given up. IsArrived: it came from that store; else it is on its way
-- there. ExpiresAt: of one that came, when it expires by the message itself, which may have been replayed after that.
CREATE TABLE {CopyItem} (
    Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NOT NULL,
    Seq BIGINT NOT NULL,
    Peer UNIQUEIDENTIFIER NOT NULL,
    IsDead BIT NOT NULL,
    FinishedAt DATETIME2(6) NULL,
    FinishedBy NVARCHAR(MAX) NULL,
    IsArrived BIT NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    CONSTRAINT {name:CopyItem_Numbered} PRIMARY KEY CLUSTERED (Queue, Seq)
);
GO
-- Pauses that came from another store. They come once.
CREATE TABLE {CopyPause} (
    Peer UNIQUEIDENTIFIER NOT NULL,
    Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NOT NULL,
    TopicKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    CONSTRAINT {name:CopyPause_Named} PRIMARY KEY CLUSTERED (Peer, Queue, TopicKey)
);
GO
-- Jobs on their way to another store, or from it. They are not scheduled meanwhile. Version: of the job while it is held; one that has
-- another was changed since, and is not held any more. NextDueTime, FiredAt: what it gets back. IsArrived: see CopyItem.
CREATE TABLE {CopyJob} (
    JobSeq BIGINT NOT NULL,
    JobId UNIQUEIDENTIFIER NOT NULL,
    Peer UNIQUEIDENTIFIER NOT NULL,
    Version BIGINT NOT NULL,
    NextDueTime DATETIME2(6) NULL,
    FiredAt DATETIME2(6) NULL,
    IsArrived BIT NOT NULL,
    CONSTRAINT {name:CopyJob_Numbered} PRIMARY KEY CLUSTERED (JobSeq)
);
