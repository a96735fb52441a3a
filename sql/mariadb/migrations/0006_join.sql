-- 0006_join: joins, their members, and what is enqueued when they are over.
-- Times are microseconds UTC since 1970. Keys compare byte for byte. Each statement can be run again: DDL commits.

CREATE SEQUENCE IF NOT EXISTS {join_seq};

-- One row a join. status: 0 open, 1 completed, 2 failed, 3 cancelled; it is over when that is not 0.
CREATE TABLE IF NOT EXISTS {join} (
    seq BIGINT PRIMARY KEY,
    id BINARY(16) NOT NULL,
    status TINYINT NOT NULL,
    expected BIGINT NOT NULL CHECK (expected > 0),
    completed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    fail_if_any TINYINT NOT NULL,
    grouping_key VARCHAR(255),
    metadata LONGTEXT,
    created_at BIGINT NOT NULL,
    deadline_at BIGINT,
    ended_at BIGINT,
    reason TEXT,
    UNIQUE KEY id (id),
    KEY grouped (grouping_key, seq),
    KEY deadline (status, deadline_at, seq),
    KEY ended (ended_at, seq),
    CHECK (completed + failed <= expected)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- What is enqueued when a join is over with this status: 1 or 2. Its id is known from the start, and so it
-- cannot be there twice.
CREATE TABLE IF NOT EXISTS {join_next} (
    join_seq BIGINT NOT NULL,
    status TINYINT NOT NULL,
    id BINARY(16) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    payload LONGTEXT NOT NULL,
    headers MEDIUMTEXT,
    correlation_id VARCHAR(255),
    ordering_key VARCHAR(255),
    PRIMARY KEY (join_seq, status)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each message and join that it is a member of. status: 0 not counted, 1 completed, 2 failed.
CREATE TABLE IF NOT EXISTS {join_member} (
    join_seq BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    id BINARY(16) NOT NULL,
    status TINYINT NOT NULL,
    attached_at BIGINT NOT NULL,
    counted_at BIGINT,
    PRIMARY KEY (join_seq, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- The messages of the topic join.wait that wait for a join.
CREATE TABLE IF NOT EXISTS {join_wait} (
    join_seq BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (join_seq, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- joins: the numbers of the joins that an unfinished message is a member of, with commas; null: of none. Who has the
-- row locked knows them, also in a transaction that began before.
ALTER TABLE {outbox_work} ADD COLUMN IF NOT EXISTS joins MEDIUMTEXT;
