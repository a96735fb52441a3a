-- 0006_join: joins, their members, and what is enqueued when they are over. Times are UTC.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE SEQUENCE {Join_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- One row a join. Status: 0 open, 1 completed, 2 failed, 3 cancelled; it is over when that is not 0.
CREATE TABLE {Join} (
    Seq BIGINT NOT NULL,
    Id UNIQUEIDENTIFIER NOT NULL,
    Status TINYINT NOT NULL,
    Expected BIGINT NOT NULL,
    Completed BIGINT NOT NULL,
    Failed BIGINT NOT NULL,
    FailIfAny TINYINT NOT NULL,
    GroupingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Metadata NVARCHAR(MAX) NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    DeadlineAt DATETIME2(6) NULL,
    EndedAt DATETIME2(6) NULL,
    Reason NVARCHAR(MAX) NULL,
    CONSTRAINT {name:Join_Numbered} PRIMARY KEY CLUSTERED (Seq),
    CONSTRAINT {name:Join_Known} UNIQUE NONCLUSTERED (Id),
    CONSTRAINT {name:Join_Counted} CHECK (Expected > 0 AND Completed + Failed <= Expected)
);
GO
CREATE INDEX IX_Grouped ON {Join} (GroupingKey, Seq) WHERE GroupingKey IS NOT NULL;
GO
CREATE INDEX IX_Deadline ON {Join} (DeadlineAt, Seq) WHERE Status = 0 AND DeadlineAt IS NOT NULL;
GO
CREATE INDEX IX_Ended ON {Join} (EndedAt, Seq) WHERE EndedAt IS NOT NULL;
GO
-- What is enqueued when a join is over with this status: 1 or 2. Its id is known from the start, and so it cannot be there twice.
CREATE TABLE {JoinNext} (
    JoinSeq BIGINT NOT NULL,
    Status TINYINT NOT NULL,
    Id UNIQUEIDENTIFIER NOT NULL,
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) NOT NULL,
    Headers NVARCHAR(MAX) NULL,
    CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    CONSTRAINT {name:JoinNext_Numbered} PRIMARY KEY CLUSTERED (JoinSeq, Status)
);
GO
-- One row for each message and join that it is a member of. Status: 0 not counted, 1 completed, 2 failed.
CREATE TABLE {JoinMember} (
    JoinSeq BIGINT NOT NULL,
    Seq BIGINT NOT NULL,
    Id UNIQUEIDENTIFIER NOT NULL,
    Status TINYINT NOT NULL,
    AttachedAt DATETIME2(6) NOT NULL,
    CountedAt DATETIME2(6) NULL,
    CONSTRAINT {name:JoinMember_Numbered} PRIMARY KEY CLUSTERED (JoinSeq, Seq)
);
GO
CREATE INDEX IX_Message ON {JoinMember} (Seq, JoinSeq);
GO
-- The messages of the topic join.wait that wait for a join.
CREATE TABLE {JoinWait} (
    JoinSeq BIGINT NOT NULL,
    Seq BIGINT NOT NULL,
    CONSTRAINT {name:JoinWait_Numbered} PRIMARY KEY CLUSTERED (JoinSeq, Seq)
);
