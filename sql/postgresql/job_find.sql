-- job_find: the time, and the job :name if there is one; whether a run of it is unfinished. When one is due that is on its way to another store, or from it, is what it gets back.
SELECT n.now, j.seq, CAST(j.id AS text), j.topic, j.payload, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.version,
       coalesce(j.next_due_at, (SELECT c.next_due_at FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version)),
       CASE WHEN EXISTS (SELECT 1 FROM {job_run} AS r JOIN {job_run_work} AS w ON w.seq = r.seq WHERE r.job_id = j.id) THEN 1 ELSE 0 END
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n LEFT JOIN {job} AS j ON j.name = CAST(:name AS text)
