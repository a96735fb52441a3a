-- 0010_dead_letters: for people: the dead letters of every queue, as one table. queue: whose it is.

CREATE VIEW {dead_letters} AS
SELECT
    'outbox' AS queue, m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {outbox_finished} AS f
JOIN {outbox} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'inbox' AS queue, m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {inbox_finished} AS f
JOIN {inbox} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'timer' AS queue, m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {timer_finished} AS f
JOIN {timer} AS m ON m.seq = f.seq
WHERE f.status = 3
UNION ALL
SELECT
    'job_run' AS queue, m.seq, m.id, m.topic, f.attempt, f.finished_at, f.finished_by, f.last_error,
    m.correlation_id, m.ordering_key, m.headers, m.created_at, m.due_at, m.expires_at, m.payload
FROM {job_run_finished} AS f
JOIN {job_run} AS m ON m.seq = f.seq
WHERE f.status = 3;
