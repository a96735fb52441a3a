-- 0005_lease: leases, in the table of the seeds, and semaphores with their holders.
-- Times are UTC. Keys are the names with a point at their end, for comparisons of SQL Server pad with blanks.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
-- A sequence gives no number twice, whatever becomes of rows and transactions.
CREATE SEQUENCE {Lease_Fences} AS BIGINT START WITH 1 INCREMENT BY 1;
GO
-- One row a name, also when nobody holds it.
CREATE TABLE {Lease} (
    LeaseKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    LeaseName NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Owner NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Fence BIGINT NOT NULL,
    LeaseUntilUtc DATETIME2(3) NOT NULL,
    CreatedUtc DATETIME2(3) NOT NULL CONSTRAINT {name:Lease_Created} DEFAULT (SYSUTCDATETIME()),
    RenewedUtc DATETIME2(3) NOT NULL CONSTRAINT {name:Lease_Renewed} DEFAULT (SYSUTCDATETIME()),
    CONSTRAINT {name:Lease_Named} PRIMARY KEY CLUSTERED (LeaseKey)
);
GO
CREATE UNIQUE INDEX UX_Fence ON {Lease} (Fence);
GO
-- Held counts the rows of the semaphore's holders, expired ones too; every procedure that adds or deletes one moves it.
CREATE TABLE {Semaphore} (
    SemaphoreKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    SemaphoreName NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Slots BIGINT NOT NULL,
    Held BIGINT NOT NULL,
    CONSTRAINT {name:Semaphore_Named} PRIMARY KEY CLUSTERED (SemaphoreKey)
);
GO
CREATE TABLE {SemaphoreHolder} (
    Fence BIGINT NOT NULL,
    SemaphoreKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    OwnerKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
    Owner NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    LeaseUntilUtc DATETIME2(3) NOT NULL,
    CreatedUtc DATETIME2(3) NOT NULL,
    CONSTRAINT {name:SemaphoreHolder_Fenced} PRIMARY KEY CLUSTERED (Fence)
);
GO
CREATE UNIQUE INDEX UX_Holder ON {SemaphoreHolder} (SemaphoreKey, OwnerKey);
