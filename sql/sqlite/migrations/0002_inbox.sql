-- 0002_inbox: messages from elsewhere, each known by its source, id and consumer.

-- One row a message. topic is null while it was only seen: then nothing is to be done about it.
-- created_at: first seen. hash: of its content, in hexadecimal.
CREATE TABLE {inbox} (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    source TEXT NOT NULL CHECK (typeof(source) = 'text'),
    message_id TEXT NOT NULL CHECK (typeof(message_id) = 'text'),
    consumer TEXT NOT NULL CHECK (typeof(consumer) = 'text'),
    topic TEXT CHECK (typeof(topic) IN ('text', 'null')),
    payload TEXT CHECK (typeof(payload) IN ('text', 'null')),
    headers TEXT CHECK (typeof(headers) IN ('text', 'null')),
    correlation_id TEXT CHECK (typeof(correlation_id) IN ('text', 'null')),
    ordering_key TEXT CHECK (typeof(ordering_key) IN ('text', 'null')),
    hash TEXT CHECK (typeof(hash) IN ('text', 'null')),
    hash_algorithm TEXT CHECK (typeof(hash_algorithm) IN ('text', 'null')),
    created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
    last_seen_at INTEGER NOT NULL CHECK (typeof(last_seen_at) = 'integer'),
    due_at INTEGER NOT NULL CHECK (typeof(due_at) = 'integer'),
    expires_at INTEGER CHECK (typeof(expires_at) IN ('integer', 'null'))
);
CREATE UNIQUE INDEX {inbox_key} ON {inbox} (source, message_id, consumer);
CREATE UNIQUE INDEX {inbox_id} ON {inbox} (id);

-- One narrow row for each unfinished message; it goes when the message is finished.
-- status: 0 ready, 1 in progress, 4 blocked behind an earlier message with its ordering key.
-- A row without topic and lease is marked by the app, which processes the message itself.
-- at_once: 1 if it was due when it was stored. It stays due if the clock is set back afterwards;
-- next_attempt_at is its place in the order then, and nothing to wait for.
CREATE TABLE {inbox_work} (
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
    expires_at INTEGER CHECK (typeof(expires_at) IN ('integer', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {inbox_work_ready} ON {inbox_work} (topic, at_once, next_attempt_at) WHERE status = 0;
CREATE INDEX {inbox_work_leased} ON {inbox_work} (locked_until) WHERE status = 1;
CREATE INDEX {inbox_work_key} ON {inbox_work} (ordering_key) WHERE ordering_key IS NOT NULL;
CREATE INDEX {inbox_work_expires} ON {inbox_work} (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each finished message. status: 2 done, 3 failed (a dead letter).
CREATE TABLE {inbox_finished} (
    seq INTEGER PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (2, 3)),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    claim_number INTEGER NOT NULL CHECK (typeof(claim_number) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    finished_by TEXT CHECK (typeof(finished_by) IN ('text', 'null')),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {inbox_finished_failed} ON {inbox_finished} (finished_at) WHERE status = 3;

-- To finish a message is one insert into the finished table; the work row goes with it.
CREATE TRIGGER {inbox_ended} AFTER INSERT ON {inbox_finished}
BEGIN
    DELETE FROM {inbox_work} WHERE seq = NEW.seq;
END;

-- What statements insert into: see {outbox_end}.
CREATE VIEW {inbox_end} AS
SELECT seq, status, attempt, claim_number, finished_at, finished_by, last_error
FROM {inbox_finished};
CREATE TRIGGER {inbox_end_stored} INSTEAD OF INSERT ON {inbox_end}
BEGIN
    INSERT OR REPLACE INTO {inbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    VALUES (NEW.seq, NEW.status, NEW.attempt, NEW.claim_number, NEW.finished_at, NEW.finished_by, NEW.last_error);
END;

-- When a message with an ordering key goes, the next one with that key may run.
CREATE TRIGGER {inbox_unblocked} AFTER DELETE ON {inbox_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {inbox_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {inbox_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1);
END;

-- For people: every message with its state, as one table. status 5: only seen.
CREATE VIEW {inbox_all} AS
SELECT
    m.seq, m.id, m.source, m.message_id, m.consumer, m.topic, coalesce(f.status, w.status, 5) AS status,
    coalesce(f.attempt, w.attempt, 0) AS attempt, w.next_attempt_at, w.owner_token, w.locked_until,
    coalesce(f.claim_number, w.claim_number, 0) AS claim_number,
    f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error) AS last_error,
    m.created_at AS first_seen_at, m.last_seen_at, m.hash, m.hash_algorithm,
    m.correlation_id, m.ordering_key, m.headers, m.due_at, m.expires_at, m.payload
FROM {inbox} AS m
LEFT JOIN {inbox_work} AS w ON w.seq = m.seq
LEFT JOIN {inbox_finished} AS f ON f.seq = m.seq;
