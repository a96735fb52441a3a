-- 0004_job: jobs, and their runs, a queue like the outbox (see 0001_outbox) that keeps its history; the dead letters of all queues.
-- Times are microseconds UTC since 1970. Keys compare byte for byte. Each statement can be run again: DDL commits.

CREATE SEQUENCE IF NOT EXISTS {job_run_seq};

-- One row a run. job_id: its job, which may be gone. occurrence_at: when the schedule wanted it; null: triggered
-- by hand. skipped: why it was only noted, and is never to be run. options: the job's, as they were then.
CREATE TABLE IF NOT EXISTS {job_run} (
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
    job_id BINARY(16),
    job_name VARCHAR(255),
    occurrence_at BIGINT,
    options TEXT,
    skipped TEXT,
    started_at BIGINT,
    cancel_at BIGINT,
    output LONGTEXT,
    UNIQUE KEY id (id),
    UNIQUE KEY occurrence (job_id, occurrence_at),
    KEY job (job_id, seq),
    KEY name (job_name, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One narrow row for each unfinished run; it goes when the run is finished.
-- status: 0 ready, 1 in progress, 4 ready but for those before it with its ordering key.
-- running_key: its ordering key while it runs, so that there is never a second one.
CREATE TABLE IF NOT EXISTS {job_run_work} (
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

-- One row for each finished run. status: 2 succeeded, 3 failed, 6 cancelled, 7 skipped.
CREATE TABLE IF NOT EXISTS {job_run_finished} (
    seq BIGINT PRIMARY KEY,
    status TINYINT NOT NULL,
    attempt BIGINT NOT NULL,
    claim_number BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    finished_by TEXT,
    last_error TEXT,
    KEY failed (status, finished_at, seq),
    KEY ended (finished_at, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- Those that failed and were replayed, and why they had been dead.
CREATE TABLE IF NOT EXISTS {job_run_replayed} (
    seq BIGINT NOT NULL,
    replayed_at BIGINT NOT NULL,
    replayed_by TEXT,
    attempt BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    last_error TEXT,
    KEY seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- A run is one insert into the runs' table. A sequence, not AUTO_INCREMENT: LAST_INSERT_ID() stays the app's.
CREATE OR REPLACE TRIGGER {job_run_numbered} BEFORE INSERT ON {job_run} FOR EACH ROW
    SET NEW.seq = NEXTVAL({job_run_seq});

CREATE OR REPLACE TRIGGER {job_run_enqueued} AFTER INSERT ON {job_run} FOR EACH ROW
    IF NEW.skipped IS NULL THEN
        INSERT INTO {job_run_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
        VALUES (NEW.seq, NEW.topic, CASE WHEN NEW.ordering_key IS NULL THEN 0 ELSE 4 END, GREATEST(NEW.due_at, NEW.created_at), 0, 0,
                NEW.ordering_key, NEW.unique_key, NEW.expires_at);
    ELSE
        INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, last_error)
        VALUES (NEW.seq, 7, 0, 0, NEW.created_at, NEW.skipped);
    END IF;

-- The first unfinished run of each ordering key that has none running: what may run next.
CREATE OR REPLACE VIEW {job_run_heads} AS
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, h.ordering_key
FROM (SELECT MIN(w.seq) AS seq FROM {job_run_work} AS w WHERE w.ordering_key > '' GROUP BY w.ordering_key) AS k
JOIN {job_run_work} AS h ON h.seq = k.seq
WHERE NOT EXISTS (SELECT 1 FROM {job_run_work} AS r WHERE r.running_key = h.ordering_key);

-- For people: every run with its state, as one table. Times are UTC.
CREATE OR REPLACE VIEW {job_run_all} AS
SELECT
    m.seq, m.id, m.topic, COALESCE(f.status, w.status) AS status,
    COALESCE(f.attempt, w.attempt) AS attempt,
    DATE'1970-01-01' + INTERVAL w.next_attempt_at MICROSECOND AS next_attempt_at,
    w.owner_token, DATE'1970-01-01' + INTERVAL w.locked_until MICROSECOND AS locked_until,
    COALESCE(f.claim_number, w.claim_number) AS claim_number,
    DATE'1970-01-01' + INTERVAL f.finished_at MICROSECOND AS finished_at, f.finished_by,
    COALESCE(f.last_error, w.last_error) AS last_error,
    m.job_id, m.job_name, DATE'1970-01-01' + INTERVAL m.occurrence_at MICROSECOND AS occurrence_at,
    DATE'1970-01-01' + INTERVAL m.started_at MICROSECOND AS started_at, m.output,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers,
    DATE'1970-01-01' + INTERVAL m.created_at MICROSECOND AS created_at,
    DATE'1970-01-01' + INTERVAL m.due_at MICROSECOND AS due_at,
    DATE'1970-01-01' + INTERVAL m.expires_at MICROSECOND AS expires_at, m.payload
FROM {job_run} AS m
LEFT JOIN {job_run_work} AS w ON w.seq = m.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = m.seq;

CREATE SEQUENCE IF NOT EXISTS {job_seq};

-- The jobs. expression: null for one that runs once. options: JSON. registrar: whose code it is of; null: made by
-- hand. absent: 1 if that code does not have it any more. disabled: 1 by an operator. next_due_at: null if it is
-- not scheduled. fired_at: the last occurrence that was dealt with.
CREATE TABLE IF NOT EXISTS {job} (
    seq BIGINT PRIMARY KEY DEFAULT 0,
    id BINARY(16) NOT NULL,
    name VARCHAR(255) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    payload LONGTEXT NOT NULL,
    expression MEDIUMTEXT,
    zone MEDIUMTEXT,
    options TEXT NOT NULL,
    registrar VARCHAR(255),
    absent TINYINT NOT NULL,
    disabled TINYINT NOT NULL,
    version BIGINT NOT NULL,
    next_due_at BIGINT,
    fired_at BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE KEY id (id),
    UNIQUE KEY name (name),
    KEY due (next_due_at, seq),
    KEY fired (fired_at),
    KEY registrar (registrar)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE OR REPLACE TRIGGER {job_numbered} BEFORE INSERT ON {job} FOR EACH ROW
    SET NEW.seq = NEXTVAL({job_seq});

-- For people: the dead letters of every queue, as one table. queue: whose it is.
CREATE OR REPLACE VIEW {dead_letters} AS
SELECT
    'outbox' AS queue, m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {outbox_finished} AS f
JOIN {outbox} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'inbox', m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {inbox_finished} AS f
JOIN {inbox} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'timer', m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {timer_finished} AS f
JOIN {timer} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'job_run', m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {job_run_finished} AS f
JOIN {job_run} AS m ON m.seq = f.seq
WHERE f.status = 3;
