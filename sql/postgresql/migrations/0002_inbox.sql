-- 0002_inbox: messages from elsewhere, each known by its source, id and consumer.

CREATE SEQUENCE {inbox_seq};

-- One row a message. topic is null while it was only seen: then nothing is to be done about it.
-- created_at: first seen. hash: of its content, in hexadecimal.
CREATE TABLE {inbox} (
    seq bigint PRIMARY KEY DEFAULT nextval({text:inbox_seq}),
    id uuid NOT NULL,
    source text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL,
    topic text COLLATE "C",
    payload text,
    headers text,
    correlation_id text,
    ordering_key text COLLATE "C",
    hash text,
    hash_algorithm text,
    created_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint
);
ALTER SEQUENCE {inbox_seq} OWNED BY {inbox}.seq;
CREATE UNIQUE INDEX {name:inbox_key} ON {inbox} (source, message_id, consumer);
CREATE UNIQUE INDEX {name:inbox_id} ON {inbox} (id);

-- One narrow row for each unfinished message; it goes when the message is finished.
-- status: 0 ready, 1 in progress. A row without topic and lease is marked by the app, which processes the
-- message itself.
CREATE TABLE {inbox_work} (
    seq bigint PRIMARY KEY,
    topic text COLLATE "C" NOT NULL,
    status smallint NOT NULL,
    next_attempt_at bigint NOT NULL,
    attempt bigint NOT NULL,
    claim_number bigint NOT NULL,
    max_attempts bigint,
    owner_token uuid,
    locked_until bigint,
    ordering_key text COLLATE "C",
    expires_at bigint,
    last_error text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 10000);
CREATE INDEX {name:inbox_work_ready} ON {inbox_work} (topic, next_attempt_at, seq) WHERE status = 0 AND ordering_key IS NULL;
CREATE INDEX {name:inbox_work_leased} ON {inbox_work} (locked_until) WHERE locked_until IS NOT NULL;
CREATE INDEX {name:inbox_work_expires} ON {inbox_work} (expires_at) WHERE expires_at IS NOT NULL;
-- Ordering keys: the first row of each; the one that runs, of which there is never a second.
CREATE INDEX {name:inbox_work_key} ON {inbox_work} (ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {name:inbox_work_running} ON {inbox_work} (ordering_key) WHERE status = 1 AND ordering_key IS NOT NULL;
CREATE INDEX {name:inbox_work_key_topic} ON {inbox_work} (topic) WHERE status = 0 AND ordering_key IS NOT NULL;

-- One row for each finished message. status: 2 done, 3 failed (a dead letter).
CREATE TABLE {inbox_finished} (
    seq bigint PRIMARY KEY,
    status smallint NOT NULL,
    attempt bigint NOT NULL,
    claim_number bigint NOT NULL,
    finished_at bigint NOT NULL,
    finished_by text,
    last_error text
);
CREATE INDEX {name:inbox_finished_failed} ON {inbox_finished} (finished_at) WHERE status = 3;

-- The first unfinished message of each ordering key that has none running: what may run next.
CREATE VIEW {inbox_heads} AS
WITH RECURSIVE k (ordering_key) AS (
    (SELECT w.ordering_key FROM {inbox_work} AS w WHERE w.ordering_key IS NOT NULL ORDER BY w.ordering_key LIMIT 1)
    UNION ALL
    SELECT (SELECT w.ordering_key FROM {inbox_work} AS w WHERE w.ordering_key > k.ordering_key ORDER BY w.ordering_key LIMIT 1)
    FROM k WHERE k.ordering_key IS NOT NULL
)
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, k.ordering_key
FROM k CROSS JOIN LATERAL (
    SELECT w.seq, w.topic, w.next_attempt_at, w.expires_at
    FROM {inbox_work} AS w WHERE w.ordering_key = k.ordering_key ORDER BY w.seq LIMIT 1) AS h
WHERE NOT EXISTS (SELECT 1 FROM {inbox_work} AS r WHERE r.ordering_key = k.ordering_key AND r.status = 1);

-- The state of a message as it is now, and not as it was when the statement began that asks: volatile
-- functions see what was committed meanwhile, while the statement waited for the message's row.
-- 0 ready, 1 in progress, 2 done, 3 dead, 5 only seen, 6 marked by the app.
CREATE FUNCTION {inbox_state} (number bigint) RETURNS smallint LANGUAGE sql VOLATILE AS $the_state_of_a_message_of_the_inbox_in_a_tag_longer_than_any_name_may_be$
SELECT coalesce(
    (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = number),
    (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN CAST(6 AS smallint) ELSE w.status END
     FROM {inbox_work} AS w WHERE w.seq = number),
    CAST(5 AS smallint))
$the_state_of_a_message_of_the_inbox_in_a_tag_longer_than_any_name_may_be$;

-- For people: every message with its state, as one table. status 5: only seen.
CREATE VIEW {inbox_all} AS
SELECT
    m.seq, m.id, m.source, m.message_id, m.consumer, m.topic, coalesce(f.status, w.status, 5) AS status,
    coalesce(f.attempt, w.attempt, 0) AS attempt, to_timestamp(w.next_attempt_at / 1000000.0) AS next_attempt_at,
    w.owner_token, to_timestamp(w.locked_until / 1000000.0) AS locked_until,
    coalesce(f.claim_number, w.claim_number, 0) AS claim_number,
    to_timestamp(f.finished_at / 1000000.0) AS finished_at, f.finished_by,
    coalesce(f.last_error, w.last_error) AS last_error,
    to_timestamp(m.created_at / 1000000.0) AS first_seen_at, to_timestamp(m.last_seen_at / 1000000.0) AS last_seen_at,
    m.hash, m.hash_algorithm, m.correlation_id, m.ordering_key, m.headers,
    to_timestamp(m.due_at / 1000000.0) AS due_at, to_timestamp(m.expires_at / 1000000.0) AS expires_at, m.payload
FROM {inbox} AS m
LEFT JOIN {inbox_work} AS w ON w.seq = m.seq
LEFT JOIN {inbox_finished} AS f ON f.seq = m.seq;
