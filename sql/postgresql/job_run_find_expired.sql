-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their
-- jobs' options. They are held until this transaction ends.
SELECT w.seq, w.attempt, w.claim_number, w.max_attempts, CAST(w.owner_token AS text),
       CASE WHEN w.expires_at <= n.now THEN 1 ELSE 0 END,
       (SELECT m.options FROM {job_run} AS m WHERE m.seq = w.seq)
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
CROSS JOIN LATERAL (
    SELECT i.* FROM {job_run_work} AS i
    WHERE i.status = 1 AND i.locked_until >= CAST(:since AS bigint) AND i.locked_until <= n.now
    ORDER BY i.locked_until, i.seq
    LIMIT CAST(:batch AS bigint)
    FOR UPDATE SKIP LOCKED) AS w
