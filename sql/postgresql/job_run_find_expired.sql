-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their
-- jobs' options; 1: whoever had them was asked to end them. They are held until this transaction ends.
SELECT w.seq, w.attempt, w.claim_number, w.max_attempts, CAST(w.owner_token AS text),
       CASE WHEN w.expires_at <= n.now THEN 1 ELSE 0 END,
       (SELECT m.options FROM {job_run} AS m WHERE m.seq = w.seq),
       CASE WHEN EXISTS (
                SELECT 1 FROM {job_run} AS a WHERE a.seq = w.seq AND a.cancel_at IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = a.seq AND p.replayed_at >= a.cancel_at))
            THEN 1 ELSE 0 END
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
CROSS JOIN LATERAL (
    SELECT i.* FROM {job_run_work} AS i
    WHERE i.status = 1 AND i.locked_until >= CAST(:since AS bigint) AND i.locked_until <= n.now
    ORDER BY i.locked_until, i.seq
    LIMIT CAST(:batch AS bigint)
    FOR UPDATE SKIP LOCKED) AS w
