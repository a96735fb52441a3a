-- 0002_inbox: messages from elsewhere, each known by its source, id and consumer.
-- Times are microseconds UTC since 1970. Keys compare byte for byte. Each statement can be run again: DDL commits.

CREATE SEQUENCE IF NOT EXISTS {inbox_seq};

-- One row a message. topic is null while it was only seen: then nothing is to be done about it.
-- created_at: first seen. hash: of its content, in hexadecimal. worked: 0 if it never had a work row.
-- changes counts what arrivals and the app did to it: a transaction that saw another number before sees its work row as it was.
CREATE TABLE IF NOT EXISTS {inbox} (
    seq BIGINT PRIMARY KEY DEFAULT 0,
    id BINARY(16) NOT NULL,
    source VARCHAR(255) NOT NULL,
    message_id VARCHAR(255) NOT NULL,
    consumer VARCHAR(255) NOT NULL,
    topic VARCHAR(255),
    payload LONGTEXT,
    headers MEDIUMTEXT,
    correlation_id VARCHAR(255),
    ordering_key VARCHAR(255),
    hash VARCHAR(2048) CHARACTER SET ascii COLLATE ascii_bin,
    hash_algorithm VARCHAR(255),
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    expires_at BIGINT,
    worked TINYINT NOT NULL DEFAULT 0,
    changes BIGINT NOT NULL DEFAULT 0,
    UNIQUE KEY known (source, message_id, consumer),
    UNIQUE KEY id (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One narrow row for each unfinished message; it goes when the message is finished.
-- status: 0 ready, 1 in progress, 4 ready but for those before it with its ordering key.
-- A row without topic and lease is marked by the app, which processes the message itself.
-- running_key: its ordering key while it runs, so that there is never a second one.
CREATE TABLE IF NOT EXISTS {inbox_work} (
    seq BIGINT PRIMARY KEY,
    topic VARCHAR(255) NOT NULL,
    status TINYINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    claim_number BIGINT NOT NULL,
    max_attempts BIGINT,
    owner_token BINARY(16),
    locked_until BIGINT,
    ordering_key VARCHAR(255),
    running_key VARCHAR(255),
    expires_at BIGINT,
    last_error TEXT,
    KEY ready (topic, status, next_attempt_at, seq),
    KEY leased (locked_until, seq),
    KEY expires (expires_at, seq),
    KEY keyed (ordering_key, seq),
    UNIQUE KEY running (running_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each finished message. status: 2 done, 3 failed (a dead letter).
CREATE TABLE IF NOT EXISTS {inbox_finished} (
    seq BIGINT PRIMARY KEY,
    status TINYINT NOT NULL,
    attempt BIGINT NOT NULL,
    claim_number BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    finished_by TEXT,
    last_error TEXT,
    KEY failed (status, finished_at, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- The dead letters that were replayed, and why they had been dead.
CREATE TABLE IF NOT EXISTS {inbox_replayed} (
    seq BIGINT NOT NULL,
    replayed_at BIGINT NOT NULL,
    replayed_by TEXT,
    attempt BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    last_error TEXT,
    KEY seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- A sequence, not AUTO_INCREMENT: LAST_INSERT_ID() stays the app's.
CREATE OR REPLACE TRIGGER {inbox_numbered} BEFORE INSERT ON {inbox} FOR EACH ROW
    SET NEW.seq = NEXTVAL({inbox_seq});

-- The first unfinished message of each ordering key that has none running: what may run next.
CREATE OR REPLACE VIEW {inbox_heads} AS
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, h.ordering_key
FROM (SELECT MIN(w.seq) AS seq FROM {inbox_work} AS w WHERE w.ordering_key > '' GROUP BY w.ordering_key) AS k
JOIN {inbox_work} AS h ON h.seq = k.seq
WHERE NOT EXISTS (SELECT 1 FROM {inbox_work} AS r WHERE r.running_key = h.ordering_key);

-- For people: every message with its state, as one table. status 5: only seen. Times are UTC.
CREATE OR REPLACE VIEW {inbox_all} AS
SELECT
    m.seq, m.id, m.source, m.message_id, m.consumer, m.topic, COALESCE(f.status, w.status, 5) AS status,
    COALESCE(f.attempt, w.attempt, 0) AS attempt,
    DATE'1970-01-01' + INTERVAL w.next_attempt_at MICROSECOND AS next_attempt_at,
    w.owner_token, DATE'1970-01-01' + INTERVAL w.locked_until MICROSECOND AS locked_until,
    COALESCE(f.claim_number, w.claim_number, 0) AS claim_number,
    DATE'1970-01-01' + INTERVAL f.finished_at MICROSECOND AS finished_at, f.finished_by,
    COALESCE(f.last_error, w.last_error) AS last_error,
    DATE'1970-01-01' + INTERVAL m.created_at MICROSECOND AS first_seen_at,
    DATE'1970-01-01' + INTERVAL m.last_seen_at MICROSECOND AS last_seen_at,
    m.hash, m.hash_algorithm, m.correlation_id, m.ordering_key, m.headers,
    DATE'1970-01-01' + INTERVAL m.due_at MICROSECOND AS due_at,
    DATE'1970-01-01' + INTERVAL m.expires_at MICROSECOND AS expires_at, m.payload
FROM {inbox} AS m
LEFT JOIN {inbox_work} AS w ON w.seq = m.seq
LEFT JOIN {inbox_finished} AS f ON f.seq = m.seq;
