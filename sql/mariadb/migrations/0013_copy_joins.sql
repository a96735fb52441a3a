-- 0013_copy_joins: joins on their way to another store, or from it.
-- Times are microseconds UTC since 1970. Names compare byte for byte. Each statement can be run again: DDL commits.

-- arrived: 0: it goes there; seq is its number, and it stays a join here until it is deleted. 1: it came from there, and is
-- none here until it is let go: all that is known of it is in these three tables.
CREATE TABLE IF NOT EXISTS {copy_join} (
    id BINARY(16) PRIMARY KEY,
    peer BINARY(16) NOT NULL,
    arrived TINYINT NOT NULL,
    seq BIGINT,
    status TINYINT,
    expected BIGINT,
    completed BIGINT,
    failed BIGINT,
    fail_if_any TINYINT,
    grouping_key VARCHAR(255),
    metadata LONGTEXT,
    created_at BIGINT,
    deadline_at BIGINT,
    ended_at BIGINT,
    reason TEXT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS {copy_join_next} (
    id BINARY(16) NOT NULL,
    status TINYINT NOT NULL,
    next_id BINARY(16) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    payload LONGTEXT NOT NULL,
    headers MEDIUMTEXT,
    correlation_id VARCHAR(255),
    ordering_key VARCHAR(255),
    PRIMARY KEY (id, status)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- status: how the member counted; 3: no member, but a message that waits for the join.
CREATE TABLE IF NOT EXISTS {copy_join_member} (
    id BINARY(16) NOT NULL,
    place BIGINT NOT NULL,
    message BINARY(16) NOT NULL,
    status TINYINT NOT NULL,
    attached_at BIGINT NOT NULL,
    counted_at BIGINT,
    PRIMARY KEY (id, place)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
