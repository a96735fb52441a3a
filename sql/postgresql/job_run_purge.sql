-- job_run_purge: forget runs that were finished :delay us ago or earlier; how, not what.
DELETE FROM {job_run_finished} AS d
WHERE d.seq = ANY (ARRAY(
    SELECT f.seq FROM {job_run_finished} AS f
    WHERE f.finished_at <= coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) - CAST(:delay AS bigint)
    ORDER BY f.finished_at LIMIT CAST(:batch AS bigint) FOR UPDATE SKIP LOCKED))
RETURNING d.seq
