-- 0001_outbox: messages, the work that is left of them, and what was finished.

-- SQLite stores what it is given, whatever a column's type: the checks keep out what could not be read.

-- One row a message, written in the app's transaction and never changed.
CREATE TABLE {outbox} (
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
CREATE UNIQUE INDEX {outbox_id} ON {outbox} (id);

-- One narrow row for each unfinished message; it goes when the message is finished.
-- status: 0 ready, 1 in progress, 4 blocked behind an earlier message with its ordering key.
-- at_once: 1 if it was due when it was stored. It stays due if the clock is set back afterwards;
-- next_attempt_at is its place in the order then, and nothing to wait for.
CREATE TABLE {outbox_work} (
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
CREATE INDEX {outbox_work_ready} ON {outbox_work} (topic, at_once, next_attempt_at) WHERE status = 0;
CREATE INDEX {outbox_work_leased} ON {outbox_work} (locked_until) WHERE status = 1;
CREATE INDEX {outbox_work_key} ON {outbox_work} (ordering_key) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {outbox_work_unique} ON {outbox_work} (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX {outbox_work_expires} ON {outbox_work} (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each finished message. status: 2 done, 3 failed (a dead letter).
CREATE TABLE {outbox_finished} (
    seq INTEGER PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (2, 3)),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    claim_number INTEGER NOT NULL CHECK (typeof(claim_number) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    finished_by TEXT CHECK (typeof(finished_by) IN ('text', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {outbox_finished_failed} ON {outbox_finished} (finished_at) WHERE status = 3;

-- An enqueue is one insert into the message table; the work row comes with it.
CREATE TRIGGER {outbox_enqueued} AFTER INSERT ON {outbox}
BEGIN
    INSERT INTO {outbox_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    VALUES (
        NEW.seq, NEW.topic,
        CASE WHEN NEW.ordering_key IS NOT NULL
              AND EXISTS (SELECT 1 FROM {outbox_work} AS w WHERE w.ordering_key = NEW.ordering_key)
             THEN 4 ELSE 0 END,
        NEW.due_at <= NEW.created_at, NEW.due_at, 0, 0, NEW.ordering_key, NEW.unique_key, NEW.expires_at);
END;

-- To finish a message is one insert into the finished table; the work row goes with it.
CREATE TRIGGER {outbox_ended} AFTER INSERT ON {outbox_finished}
BEGIN
    DELETE FROM {outbox_work} WHERE seq = NEW.seq;
END;

-- What statements insert into. On a connection whose triggers are switched off, the database refuses to
-- insert into a view, and so nothing is ever done by half: a message without work, or work without end.
CREATE VIEW {outbox_new} AS
SELECT id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at
FROM {outbox};
CREATE TRIGGER {outbox_new_stored} INSTEAD OF INSERT ON {outbox_new}
BEGIN
    INSERT INTO {outbox} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES (NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;
CREATE VIEW {outbox_end} AS
SELECT seq, status, attempt, claim_number, finished_at, finished_by, last_error
FROM {outbox_finished};
CREATE TRIGGER {outbox_end_stored} INSTEAD OF INSERT ON {outbox_end}
BEGIN
    INSERT OR REPLACE INTO {outbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    VALUES (NEW.seq, NEW.status, NEW.attempt, NEW.claim_number, NEW.finished_at, NEW.finished_by, NEW.last_error);
END;

-- When a message with an ordering key goes, the next one with that key may run.
CREATE TRIGGER {outbox_unblocked} AFTER DELETE ON {outbox_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {outbox_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {outbox_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1);
END;

-- For people: every message with its state, as one table.
CREATE VIEW {outbox_all} AS
SELECT
    m.seq, m.id, m.topic, coalesce(f.status, w.status) AS status,
    coalesce(f.attempt, w.attempt) AS attempt, w.next_attempt_at, w.owner_token, w.locked_until,
    coalesce(f.claim_number, w.claim_number) AS claim_number,
    f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error) AS last_error,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {outbox} AS m
LEFT JOIN {outbox_work} AS w ON w.seq = m.seq
LEFT JOIN {outbox_finished} AS f ON f.seq = m.seq;
