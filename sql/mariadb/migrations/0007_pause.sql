-- 0007_pause: which topics are paused, and what operators did.
-- Times are microseconds UTC since 1970. Names compare byte for byte. Each statement can be run again: DDL commits.

-- queue: outbox, inbox, timers or jobs.
CREATE TABLE IF NOT EXISTS {paused_topic} (
    queue VARCHAR(20) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    paused_at BIGINT NOT NULL,
    paused_by VARCHAR(255),
    PRIMARY KEY (queue, topic)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each change that somebody made by hand. subject: a topic, a job's name or a message's id; null: several.
-- detail: a JSON object.
CREATE TABLE IF NOT EXISTS {audit} (
    seq BIGINT AUTO_INCREMENT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor VARCHAR(255),
    action VARCHAR(40) NOT NULL,
    queue VARCHAR(20),
    subject VARCHAR(255),
    detail TEXT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
