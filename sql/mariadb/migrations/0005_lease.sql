-- 0005_lease: leases, and semaphores with their holders.
-- Times are microseconds UTC since 1970. Names compare byte for byte. Each statement can be run again: DDL commits.
-- Whoever locks rows here locks a semaphore before its holders, and a row by its primary key alone.

-- A sequence gives no number twice, whatever becomes of rows and transactions.
CREATE SEQUENCE IF NOT EXISTS {lease_fence};

-- One row a name, also when nobody holds it. fence: null only while the first acquire is under way.
CREATE TABLE IF NOT EXISTS {lease} (
    name VARCHAR(255) PRIMARY KEY,
    owner VARCHAR(255),
    fence BIGINT,
    held_until BIGINT NOT NULL,
    acquired_at BIGINT NOT NULL,
    UNIQUE KEY fence (fence)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- held counts the rows of the semaphore's holders, expired ones too; every statement that adds or
-- deletes one moves it.
CREATE TABLE IF NOT EXISTS {semaphore} (
    name VARCHAR(255) PRIMARY KEY,
    slots BIGINT NOT NULL,
    held BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS {semaphore_holder} (
    name VARCHAR(255) NOT NULL,
    owner VARCHAR(255) NOT NULL,
    fence BIGINT,
    held_until BIGINT NOT NULL,
    acquired_at BIGINT NOT NULL,
    PRIMARY KEY (name, owner),
    UNIQUE KEY fence (fence)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
