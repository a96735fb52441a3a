-- job_find: the time, and the job :name if there is one; whether a run of it is unfinished.
SELECT :now, j.seq, j.id, j.topic, j.payload, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.version, j.next_due_at,
       EXISTS (SELECT 1 FROM {job_run} AS r CROSS JOIN {job_run_work} AS w WHERE r.job_id = j.id AND w.seq = r.seq)
FROM (SELECT 1 AS one) AS o LEFT JOIN {job} AS j ON j.name = :name
