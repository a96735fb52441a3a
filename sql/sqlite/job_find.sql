-- job_find: the time, and the job :name if there is one; whether a run of it is unfinished. When one is due that is on its way to another store, or from it, is what it gets back.
SELECT :now, j.seq, j.id, j.topic, j.payload, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.version,
       coalesce(j.next_due_at, (SELECT c.next_due_at FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version)),
       EXISTS (SELECT 1 FROM {job_run} AS r CROSS JOIN {job_run_work} AS w WHERE r.job_id = j.id AND w.seq = r.seq)
FROM (SELECT 1 AS one) AS o LEFT JOIN {job} AS j ON j.name = :name
