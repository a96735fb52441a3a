-- 0004_timer: timers are messages with a due time, in tables of their own; see 0001_outbox.

-- SQLite stores what it is given, whatever a column's type: the checks keep out what could not be read.

-- One row a timer, written in the app's transaction; only its due time is ever changed.
CREATE TABLE {timer} (
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
    expires_at INTEGER CHECK (typeof(expires_at) IN ('integer', 'null'))
);
CREATE UNIQUE INDEX {timer_id} ON {timer} (id);
CREATE INDEX {timer_correlation} ON {timer} (correlation_id) WHERE correlation_id IS NOT NULL;

-- One narrow row for each unfinished timer; it goes when the timer is finished.
-- status: 0 ready, 1 in progress, 4 blocked behind an earlier message with its ordering key.
-- at_once: 1 if it was due when it was stored. It stays due if the clock is set back afterwards;
-- next_attempt_at is its place in the order then, and nothing to wait for.
CREATE TABLE {timer_work} (
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
CREATE INDEX {timer_work_ready} ON {timer_work} (topic, at_once, next_attempt_at) WHERE status = 0;
CREATE INDEX {timer_work_leased} ON {timer_work} (locked_until) WHERE status = 1;
CREATE INDEX {timer_work_key} ON {timer_work} (ordering_key) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {timer_work_unique} ON {timer_work} (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX {timer_work_expires} ON {timer_work} (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each finished timer. status: 2 done, 3 failed (a dead letter), 6 cancelled.
CREATE TABLE {timer_finished} (
    seq INTEGER PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (2, 3, 6)),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    claim_number INTEGER NOT NULL CHECK (typeof(claim_number) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    finished_by TEXT CHECK (typeof(finished_by) IN ('text', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {timer_finished_failed} ON {timer_finished} (finished_at) WHERE status = 3;

-- An enqueue is one insert into the message table; the work row comes with it.
CREATE TRIGGER {timer_enqueued} AFTER INSERT ON {timer}
BEGIN
    INSERT INTO {timer_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    VALUES (
        NEW.seq, NEW.topic,
        CASE WHEN NEW.ordering_key IS NOT NULL
              AND EXISTS (SELECT 1 FROM {timer_work} AS w WHERE w.ordering_key = NEW.ordering_key)
             THEN 4 ELSE 0 END,
        NEW.due_at <= NEW.created_at, NEW.due_at, 0, 0, NEW.ordering_key, NEW.unique_key, NEW.expires_at);
END;

-- To finish a message is one insert into the finished table; the work row goes with it.
CREATE TRIGGER {timer_ended} AFTER INSERT ON {timer_finished}
BEGIN
    DELETE FROM {timer_work} WHERE seq = NEW.seq;
END;

-- What statements insert into. On a connection whose triggers are switched off, the database refuses to
-- insert into a view, and so nothing is ever done by half: a message without work, or work without end.
CREATE VIEW {timer_new} AS
SELECT id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at
FROM {timer};
CREATE TRIGGER {timer_new_stored} INSTEAD OF INSERT ON {timer_new}
BEGIN
    INSERT INTO {timer} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES (NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;
CREATE VIEW {timer_end} AS
SELECT seq, status, attempt, claim_number, finished_at, finished_by, last_error
FROM {timer_finished};
CREATE TRIGGER {timer_end_stored} INSTEAD OF INSERT ON {timer_end}
BEGIN
    INSERT OR REPLACE INTO {timer_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    VALUES (NEW.seq, NEW.status, NEW.attempt, NEW.claim_number, NEW.finished_at, NEW.finished_by, NEW.last_error);
END;

-- When a message with an ordering key goes, the next one with that key may run.
CREATE TRIGGER {timer_unblocked} AFTER DELETE ON {timer_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {timer_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {timer_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1);
END;

-- For people: every message with its state, as one table.
CREATE VIEW {timer_all} AS
SELECT
    m.seq, m.id, m.topic, coalesce(f.status, w.status) AS status,
    coalesce(f.attempt, w.attempt) AS attempt, w.next_attempt_at, w.owner_token, w.locked_until,
    coalesce(f.claim_number, w.claim_number) AS claim_number,
    f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error) AS last_error,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq;
