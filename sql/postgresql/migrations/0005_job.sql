-- 0005_job: jobs, and their runs, a queue like the outbox (see 0001_outbox) that keeps its history.
-- Times are microseconds UTC since 1970. Keys compare byte for byte (collation "C").

CREATE SEQUENCE {job_run_seq};

-- One row a run. job_id: its job, which may be gone. occurrence_at: when the schedule wanted it; null: triggered
-- by hand. skipped: 1 if it was only noted, and never to be run. options: the job's, as they were then.
CREATE TABLE {job_run} (
    seq bigint PRIMARY KEY DEFAULT nextval({text:job_run_seq}),
    id uuid NOT NULL,
    topic text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    headers text,
    correlation_id text,
    ordering_key text COLLATE "C",
    unique_key text COLLATE "C",
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,
    expires_at bigint,
    job_id uuid,
    job_name text COLLATE "C",
    occurrence_at bigint,
    options text,
    skipped text,
    started_at bigint,
    cancel_at bigint,
    output text
);
ALTER SEQUENCE {job_run_seq} OWNED BY {job_run}.seq;
CREATE UNIQUE INDEX {name:job_run_id} ON {job_run} (id);
CREATE UNIQUE INDEX {name:job_run_occurrence} ON {job_run} (job_id, occurrence_at) WHERE occurrence_at IS NOT NULL;
CREATE INDEX {name:job_run_job} ON {job_run} (job_id, seq);
CREATE INDEX {name:job_run_name} ON {job_run} (job_name, seq);

-- One narrow row for each unfinished run; it goes when the run is finished.
-- status: 0 ready, 1 in progress.
CREATE TABLE {job_run_work} (
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
CREATE INDEX {name:job_run_work_ready} ON {job_run_work} (topic, next_attempt_at, seq) WHERE status = 0 AND ordering_key IS NULL;
CREATE INDEX {name:job_run_work_leased} ON {job_run_work} (locked_until) WHERE locked_until IS NOT NULL;
CREATE UNIQUE INDEX {name:job_run_work_unique} ON {job_run_work} (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX {name:job_run_work_expires} ON {job_run_work} (expires_at) WHERE expires_at IS NOT NULL;
-- Ordering keys: the first row of each; the one that runs, of which there is never a second.
CREATE INDEX {name:job_run_work_key} ON {job_run_work} (ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX {name:job_run_work_running} ON {job_run_work} (ordering_key) WHERE status = 1 AND ordering_key IS NOT NULL;
CREATE INDEX {name:job_run_work_key_topic} ON {job_run_work} (topic) WHERE status = 0 AND ordering_key IS NOT NULL;

-- One row for each finished run. status: 2 succeeded, 3 failed, 6 cancelled, 7 skipped.
CREATE TABLE {job_run_finished} (
    seq bigint PRIMARY KEY,
    status smallint NOT NULL,
    attempt bigint NOT NULL,
    claim_number bigint NOT NULL,
    finished_at bigint NOT NULL,
    finished_by text,
    last_error text
);
CREATE INDEX {name:job_run_finished_at} ON {job_run_finished} (finished_at);
CREATE INDEX {name:job_run_finished_failed} ON {job_run_finished} (finished_at) WHERE status = 3;

-- The first unfinished message of each ordering key that has none running: what may run next.
CREATE VIEW {job_run_heads} AS
WITH RECURSIVE k (ordering_key) AS (
    (SELECT w.ordering_key FROM {job_run_work} AS w WHERE w.ordering_key IS NOT NULL ORDER BY w.ordering_key LIMIT 1)
    UNION ALL
    SELECT (SELECT w.ordering_key FROM {job_run_work} AS w WHERE w.ordering_key > k.ordering_key ORDER BY w.ordering_key LIMIT 1)
    FROM k WHERE k.ordering_key IS NOT NULL
)
SELECT h.seq, h.topic, h.next_attempt_at, h.expires_at, k.ordering_key
FROM k CROSS JOIN LATERAL (
    SELECT w.seq, w.topic, w.next_attempt_at, w.expires_at
    FROM {job_run_work} AS w WHERE w.ordering_key = k.ordering_key ORDER BY w.seq LIMIT 1) AS h
WHERE NOT EXISTS (SELECT 1 FROM {job_run_work} AS r WHERE r.ordering_key = k.ordering_key AND r.status = 1);

-- For people: every message with its state, as one table.
CREATE VIEW {job_run_all} AS
SELECT
    m.seq, m.id, m.topic, coalesce(f.status, w.status) AS status,
    coalesce(f.attempt, w.attempt) AS attempt, to_timestamp(w.next_attempt_at / 1000000.0) AS next_attempt_at,
    w.owner_token, to_timestamp(w.locked_until / 1000000.0) AS locked_until,
    coalesce(f.claim_number, w.claim_number) AS claim_number,
    to_timestamp(f.finished_at / 1000000.0) AS finished_at, f.finished_by,
    coalesce(f.last_error, w.last_error) AS last_error,
    m.job_id, m.job_name, to_timestamp(m.occurrence_at / 1000000.0) AS occurrence_at,
    to_timestamp(m.started_at / 1000000.0) AS started_at, m.output,
    m.correlation_id, m.ordering_key, m.unique_key, m.headers, to_timestamp(m.created_at / 1000000.0) AS created_at,
    to_timestamp(m.due_at / 1000000.0) AS due_at, to_timestamp(m.expires_at / 1000000.0) AS expires_at, m.payload
FROM {job_run} AS m
LEFT JOIN {job_run_work} AS w ON w.seq = m.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = m.seq;

-- Those that failed and were replayed: see 0006_replayed.
CREATE TABLE {job_run_replayed} (
    seq bigint NOT NULL,
    replayed_at bigint NOT NULL,
    replayed_by text,
    attempt bigint NOT NULL,
    finished_at bigint NOT NULL,
    last_error text
);
CREATE INDEX {name:job_run_replayed_seq} ON {job_run_replayed} (seq);

-- The jobs. expression: null for one that runs once. options: JSON. registrar: whose code it is of; null: made by
-- hand. absent: 1 if that code does not have it any more. disabled: 1 by an operator. next_due_at: null if it is
-- not scheduled. fired_at: the last occurrence that was dealt with.
CREATE TABLE {job} (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    expression text,
    zone text,
    options text NOT NULL,
    registrar text COLLATE "C",
    absent smallint NOT NULL,
    disabled smallint NOT NULL,
    version bigint NOT NULL,
    next_due_at bigint,
    fired_at bigint,
    created_at bigint NOT NULL
);
CREATE UNIQUE INDEX {name:job_id} ON {job} (id);
CREATE UNIQUE INDEX {name:job_name} ON {job} (name);
CREATE INDEX {name:job_due} ON {job} (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE INDEX {name:job_registrar} ON {job} (registrar) WHERE registrar IS NOT NULL;
