-- 0007_pause: which topics are paused, and what operators did. Times are UTC.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
-- Queue: outbox, inbox, timers or jobs. A topic that goes on keeps its row: see PausedTopic_List. TopicKey: see Lease.
CREATE TABLE {PausedTopic} (
    Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NOT NULL,
    TopicKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    IsPaused BIT NOT NULL,
    PausedAt DATETIME2(6) NOT NULL,
    PausedBy NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    CONSTRAINT {name:PausedTopic_Named} PRIMARY KEY CLUSTERED (Queue, TopicKey)
);
GO
CREATE SEQUENCE {Audit_Sequence} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- One row for each change that somebody made by hand. Subject: a topic, a job's name or a message's id; null: several.
-- Detail: a JSON object.
CREATE TABLE {Audit} (
    Seq BIGINT NOT NULL CONSTRAINT {name:Audit_Number} DEFAULT (NEXT VALUE FOR {Audit_Sequence}),
    NotedAt DATETIME2(6) NOT NULL,
    Actor NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Action NVARCHAR(40) COLLATE Latin1_General_BIN2 NOT NULL,
    Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NULL,
    Subject NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Detail NVARCHAR(MAX) NULL,
    CONSTRAINT {name:Audit_Numbered} PRIMARY KEY CLUSTERED (Seq)
);
