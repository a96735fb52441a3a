-- 0005_job: jobs, and their runs, a queue like the outbox (see 0001_outbox) that keeps its history.

-- SQLite stores what it is given, whatever a column's type: the checks keep out what could not be read.

-- One row a run. job_id: its job, which may be gone. occurrence_at: when the schedule wanted it; null: triggered
-- by hand. skipped: 1 if it was only noted, and never to be run. options: the job's, as they were then.
CREATE TABLE {job_run} (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    payload TEXT NOT NULL CHECK (typeof(payload) = 'text'),
    headers TEXT CHECK (typeof(headers) IN ('text', 'null')),
    correlation_id TEXT CHECK (typeof(correlation_id) IN ('text', 'null')),
    ordering_key TEXT CHECK (typeof(ordering_key) IN ('text', 'null')),
    unique_key TEXT CHECK (typeof(unique_key) IN ('text', 'null')),
    created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
    due_at INTEGER NOT NULL CHECK (typeof(due_at) = 'integer'),
    expires_at INTEGER CHECK (typeof(expires_at) IN ('integer', 'null')),
    job_id BLOB CHECK (typeof(job_id) IN ('blob', 'null')),
    job_name TEXT CHECK (typeof(job_name) IN ('text', 'null')),
    occurrence_at INTEGER CHECK (typeof(occurrence_at) IN ('integer', 'null')),
    options TEXT CHECK (typeof(options) IN ('text', 'null')),
    skipped TEXT CHECK (typeof(skipped) IN ('text', 'null')),
    started_at INTEGER CHECK (typeof(started_at) IN ('integer', 'null')),
    cancel_at INTEGER CHECK (typeof(cancel_at) IN ('integer', 'null')),
    output TEXT CHECK (typeof(output) IN ('text', 'null'))
);
CREATE UNIQUE INDEX {job_run_id} ON {job_run} (id);
CREATE UNIQUE INDEX {job_run_occurrence} ON {job_run} (job_id, occurrence_at) WHERE occurrence_at IS NOT NULL;
CREATE INDEX {job_run_job} ON {job_run} (job_id);
CREATE INDEX {job_run_name} ON {job_run} (job_name);

-- One narrow row for each unfinished run; it goes when the run is finished.
-- status: 0 ready, 1 in progress, 4 blocked behind an earlier message with its ordering key.
-- at_once: 1 if it was due when it was stored. It stays due if the clock is set back afterwards;
-- next_attempt_at is its place in the order then, and nothing to wait for.
CREATE TABLE {job_run_work} (
    seq INTEGER PRIMARY KEY,
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    status INTEGER NOT NULL CHECK (status IN (0, 1, 4)),
    at_once INTEGER NOT NULL CHECK (at_once IN (0, 1)),
    next_attempt_at INTEGER NOT NULL CHECK (typeof(next_attempt_at) = 'integer'),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    claim_number INTEGER NOT NULL CHECK (typeof(claim_number) = 'integer'),
    max_attempts INTEGER CHECK (typeof(max_attempts) IN ('integer', 'null')),
    owner_token BLOB CHECK (typeof(owner_token) IN ('blob', 'null')),
    locked_until INTEGER CHECK (typeof(locked_until) IN ('integer', 'null')),
    ordering_key TEXT CHECK (typeof(ordering_key) IN ('text', 'null')),
    unique_key TEXT CHECK (typeof(unique_key) IN ('text', 'null')),
    expires_at INTEGER CHECK (typeof(expires_at) IN ('integer', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {job_run_work_ready} ON {job_run_work} (topic, at_once, next_attempt_at) WHERE status = 0;
CREATE INDEX {job_run_work_leased} ON {job_run_work} (locked_until) WHERE status = 1;
CREATE INDEX {job_run_work_key} ON {job_run_work} (ordering_key) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {job_run_work_unique} ON {job_run_work} (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX {job_run_work_expires} ON {job_run_work} (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each finished run. status: 2 succeeded, 3 failed, 6 cancelled, 7 skipped.
CREATE TABLE {job_run_finished} (
    seq INTEGER PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (2, 3, 6, 7)),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    claim_number INTEGER NOT NULL CHECK (typeof(claim_number) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    finished_by TEXT CHECK (typeof(finished_by) IN ('text', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {job_run_finished_at} ON {job_run_finished} (finished_at);
CREATE INDEX {job_run_finished_failed} ON {job_run_finished} (finished_at) WHERE status = 3;

-- An enqueue is one insert into the message table; the work row comes with it.
CREATE TRIGGER {job_run_enqueued} AFTER INSERT ON {job_run} WHEN NEW.skipped IS NULL
BEGIN
    INSERT INTO {job_run_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    VALUES (
        NEW.seq, NEW.topic,
        CASE WHEN NEW.ordering_key IS NOT NULL
              AND EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.ordering_key = NEW.ordering_key)
             THEN 4 ELSE 0 END,
        NEW.due_at <= NEW.created_at, NEW.due_at, 0, 0, NEW.ordering_key, NEW.unique_key, NEW.expires_at);
END;

-- One that is skipped is history at once.
CREATE TRIGGER {job_run_skipped} AFTER INSERT ON {job_run} WHEN NEW.skipped IS NOT NULL
BEGIN
    INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, last_error)
    VALUES (NEW.seq, 7, 0, 0, NEW.created_at, NEW.skipped);
END;

-- To finish a message is one insert into the finished table; the work row goes with it.
CREATE TRIGGER {job_run_ended} AFTER INSERT ON {job_run_finished}
BEGIN
    DELETE FROM {job_run_work} WHERE seq = NEW.seq;
END;

-- What statements insert into. On a connection whose triggers are switched off, the database refuses to
-- insert into a view, and so nothing is ever done by half: a message without work, or work without end.
CREATE VIEW {job_run_new} AS
SELECT id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at
FROM {job_run};
CREATE TRIGGER {job_run_new_stored} INSTEAD OF INSERT ON {job_run_new}
BEGIN
    INSERT INTO {job_run} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES (NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;
CREATE VIEW {job_run_end} AS
SELECT seq, status, attempt, claim_number, finished_at, finished_by, last_error
FROM {job_run_finished};
CREATE TRIGGER {job_run_end_stored} INSTEAD OF INSERT ON {job_run_end}
BEGIN
    INSERT OR REPLACE INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    VALUES (NEW.seq, NEW.status, NEW.attempt, NEW.claim_number, NEW.finished_at, NEW.finished_by, NEW.last_error);
END;

-- When a message with an ordering key goes, the next one with that key may run.
CREATE TRIGGER {job_run_unblocked} AFTER DELETE ON {job_run_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {job_run_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {job_run_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1);
END;

-- For people: every message with its state, as one table.
CREATE VIEW {job_run_all} AS
SELECT
    m.seq, m.id, m.topic, coalesce(f.status, w.status) AS status,
    coalesce(f.attempt, w.attempt) AS attempt, w.next_attempt_at, w.owner_token, w.locked_until,
    coalesce(f.claim_number, w.claim_number) AS claim_number,
    f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error) AS last_error,
    m.job_id, m.job_name, m.occurrence_at, m.started_at, m.output,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {job_run} AS m
LEFT JOIN {job_run_work} AS w ON w.seq = m.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = m.seq;

-- Those that failed and were replayed: see 0006_replayed.
CREATE TABLE {job_run_replayed} (
    seq INTEGER NOT NULL,
    replayed_at INTEGER NOT NULL CHECK (typeof(replayed_at) = 'integer'),
    replayed_by TEXT CHECK (typeof(replayed_by) IN ('text', 'null')),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {job_run_replayed_seq} ON {job_run_replayed} (seq);

-- The jobs. expression: null for one that runs once. options: JSON. registrar: whose code it is of; null: made by
-- hand. absent: 1 if that code does not have it any more. disabled: 1 by an operator. next_due_at: null if it is
-- not scheduled. fired_at: the last occurrence that was dealt with.
CREATE TABLE {job} (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    name TEXT NOT NULL CHECK (typeof(name) = 'text'),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    payload TEXT NOT NULL CHECK (typeof(payload) = 'text'),
    expression TEXT CHECK (typeof(expression) IN ('text', 'null')),
    zone TEXT CHECK (typeof(zone) IN ('text', 'null')),
    options TEXT NOT NULL CHECK (typeof(options) = 'text'),
    registrar TEXT CHECK (typeof(registrar) IN ('text', 'null')),
    absent INTEGER NOT NULL CHECK (absent IN (0, 1)),
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
    next_due_at INTEGER CHECK (typeof(next_due_at) IN ('integer', 'null')),
    fired_at INTEGER CHECK (typeof(fired_at) IN ('integer', 'null')),
    created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);
CREATE UNIQUE INDEX {job_id} ON {job} (id);
CREATE UNIQUE INDEX {job_name} ON {job} (name);
CREATE INDEX {job_due} ON {job} (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE INDEX {job_registrar} ON {job} (registrar) WHERE registrar IS NOT NULL;
