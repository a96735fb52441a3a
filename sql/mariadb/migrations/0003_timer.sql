-- 0003_timer: timers are messages with a due time, in tables of their own; see 0001_outbox.
-- Times are microseconds UTC since 1970. Keys compare byte for byte. Each statement can be run again: DDL commits.

CREATE SEQUENCE IF NOT EXISTS {timer_seq};

-- One row a timer, written in the app's transaction; only its due time is ever changed.
CREATE TABLE IF NOT EXISTS {timer} (
    seq BIGINT PRIMARY KEY DEFAULT 0,
    id BINARY(16) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    payload LONGTEXT NOT NULL,
    headers MEDIUMTEXT,
    correlation_id VARCHAR(255),
    ordering_key VARCHAR(255),
    unique_key VARCHAR(255),
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    expires_at BIGINT,
    UNIQUE KEY id (id),
    KEY correlated (correlation_id, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One narrow row for each unfinished timer; it goes when the timer is finished.
-- status: 0 ready, 1 in progress, 4 ready but for those before it with its ordering key.
-- running_key: its ordering key while it runs, so that there is never a second one.
CREATE TABLE IF NOT EXISTS {timer_work} (
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
    unique_key VARCHAR(255),
    expires_at BIGINT,
    last_error TEXT,
    KEY ready (topic, status, next_attempt_at, seq),
    KEY leased (locked_until, seq),
    KEY expires (expires_at, seq),
    KEY keyed (ordering_key, seq),
    UNIQUE KEY running (running_key),
    UNIQUE KEY uniquely (unique_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each finished timer. status: 2 done, 3 failed (a dead letter), 6 cancelled.
CREATE TABLE IF NOT EXISTS {timer_finished} (
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
CREATE TABLE IF NOT EXISTS {timer_replayed} (
    seq BIGINT NOT NULL,
    replayed_at BIGINT NOT NULL,
    replayed_by TEXT,
    attempt BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    last_error TEXT,
    KEY seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- To schedule is one insert into the timers' table. A sequence, not AUTO_INCREMENT: LAST_INSERT_ID() stays the app's.
CREATE OR REPLACE TRIGGER {timer_numbered} BEFORE INSERT ON {timer} FOR EACH ROW
    SET NEW.seq = NEXTVAL({timer_seq});

CREATE OR REPLACE TRIGGER {timer_enqueued} AFTER INSERT ON {timer} FOR EACH ROW
    INSERT INTO {timer_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    VALUES (NEW.seq, NEW.topic, CASE WHEN NEW.ordering_key IS NULL THEN 0 ELSE 4 END, NEW.due_at, 0, 0,
            NEW.ordering_key, NEW.unique_key, NEW.expires_at);

-- The first unfinished message of each ordering key that has none running: what may run next.
CREATE OR REPLACE VIEW {timer_heads} AS
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, h.ordering_key
FROM (SELECT MIN(w.seq) AS seq FROM {timer_work} AS w WHERE w.ordering_key > '' GROUP BY w.ordering_key) AS k
JOIN {timer_work} AS h ON h.seq = k.seq
WHERE NOT EXISTS (SELECT 1 FROM {timer_work} AS r WHERE r.running_key = h.ordering_key);

-- For people: every message with its state, as one table. Times are UTC.
CREATE OR REPLACE VIEW {timer_all} AS
SELECT
    m.seq, m.id, m.topic, COALESCE(f.status, w.status) AS status,
    COALESCE(f.attempt, w.attempt) AS attempt,
    DATE'1970-01-01' + INTERVAL w.next_attempt_at MICROSECOND AS next_attempt_at,
    w.owner_token, DATE'1970-01-01' + INTERVAL w.locked_until MICROSECOND AS locked_until,
    COALESCE(f.claim_number, w.claim_number) AS claim_number,
    DATE'1970-01-01' + INTERVAL f.finished_at MICROSECOND AS finished_at, f.finished_by,
    COALESCE(f.last_error, w.last_error) AS last_error,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers,
    DATE'1970-01-01' + INTERVAL m.created_at MICROSECOND AS created_at,
    DATE'1970-01-01' + INTERVAL m.due_at MICROSECOND AS due_at,
    DATE'1970-01-01' + INTERVAL m.expires_at MICROSECOND AS expires_at, m.payload
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq;
