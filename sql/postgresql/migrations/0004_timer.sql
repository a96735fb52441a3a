-- 0004_timer: timers are messages with a due time, in tables of their own; see 0001_outbox.
-- Times are microseconds UTC since 1970. Keys compare byte for byte (collation "C").

CREATE SEQUENCE {timer_seq};

-- One row a timer, written in the app's transaction; only its due time is ever changed.
CREATE TABLE {timer} (
    seq bigint PRIMARY KEY DEFAULT nextval({text:timer_seq}),
    id uuid NOT NULL,
    topic text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    headers text,
    correlation_id text COLLATE "C",
    ordering_key text COLLATE "C",
    unique_key text COLLATE "C",
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint
);
ALTER SEQUENCE {timer_seq} OWNED BY {timer}.seq;
CREATE UNIQUE INDEX {name:timer_id} ON {timer} (id);
CREATE INDEX {name:timer_correlation} ON {timer} (correlation_id) WHERE correlation_id IS NOT NULL;

-- One narrow row for each unfinished timer; it goes when the timer is finished.
-- status: 0 ready, 1 in progress.
CREATE TABLE {timer_work} (
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
    unique_key text COLLATE "C",
    expires_at bigint,
    last_error text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 10000);
CREATE INDEX {name:timer_work_ready} ON {timer_work} (topic, next_attempt_at, seq) WHERE status = 0 AND ordering_key IS NULL;
CREATE INDEX {name:timer_work_leased} ON {timer_work} (locked_until) WHERE locked_until IS NOT NULL;
CREATE UNIQUE INDEX {name:timer_work_unique} ON {timer_work} (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX {name:timer_work_expires} ON {timer_work} (expires_at) WHERE expires_at IS NOT NULL;
-- Ordering keys: the first row of each; the one that runs, of which there is never a second.
CREATE INDEX {name:timer_work_key} ON {timer_work} (ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {name:timer_work_running} ON {timer_work} (ordering_key) WHERE status = 1 AND ordering_key IS NOT NULL;
CREATE INDEX {name:timer_work_key_topic} ON {timer_work} (topic) WHERE status = 0 AND ordering_key IS NOT NULL;

-- One row for each finished timer. status: 2 done, 3 failed (a dead letter), 6 cancelled.
CREATE TABLE {timer_finished} (
    seq bigint PRIMARY KEY,
    status smallint NOT NULL,
    attempt bigint NOT NULL,
    claim_number bigint NOT NULL,
    finished_at bigint NOT NULL,
    finished_by text,
    last_error text
);
CREATE INDEX {name:timer_finished_failed} ON {timer_finished} (finished_at) WHERE status = 3;

-- The first unfinished message of each ordering key that has none running: what may run next.
CREATE VIEW {timer_heads} AS
WITH RECURSIVE k (ordering_key) AS (
    (SELECT w.ordering_key FROM {timer_work} AS w WHERE w.ordering_key IS NOT NULL ORDER BY w.ordering_key LIMIT 1)
    UNION ALL
    SELECT (SELECT w.ordering_key FROM {timer_work} AS w WHERE w.ordering_key > k.ordering_key ORDER BY w.ordering_key LIMIT 1)
    FROM k WHERE k.ordering_key IS NOT NULL
)
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, k.ordering_key
FROM k CROSS JOIN LATERAL (
    SELECT w.seq, w.topic, w.next_attempt_at, w.expires_at
    FROM {timer_work} AS w WHERE w.ordering_key = k.ordering_key ORDER BY w.seq LIMIT 1) AS h
WHERE NOT EXISTS (SELECT 1 FROM {timer_work} AS r WHERE r.ordering_key = k.ordering_key AND r.status = 1);

-- For people: every message with its state, as one table.
CREATE VIEW {timer_all} AS
SELECT
    m.seq, m.id, m.topic, coalesce(f.status, w.status) AS status,
    coalesce(f.attempt, w.attempt) AS attempt, to_timestamp(w.next_attempt_at / 1000000.0) AS next_attempt_at,
    w.owner_token, to_timestamp(w.locked_until / 1000000.0) AS locked_until,
    coalesce(f.claim_number, w.claim_number) AS claim_number,
    to_timestamp(f.finished_at / 1000000.0) AS finished_at, f.finished_by,
    coalesce(f.last_error, w.last_error) AS last_error,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers, to_timestamp(m.created_at / 1000000.0) AS created_at,
    to_timestamp(m.due_at / 1000000.0) AS due_at, to_timestamp(m.expires_at / 1000000.0) AS expires_at, m.payload
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq;
