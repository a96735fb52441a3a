-- job_find: the time, and the job :name if there is one; whether a run of it is unfinished.
SELECT n.now, j.seq, HEX(j.id), j.topic, j.payload, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.version, j.next_due_at,
       CASE WHEN EXISTS (SELECT 1 FROM {job_run} AS r JOIN {job_run_work} AS w ON w.seq = r.seq WHERE r.job_id = j.id) THEN 1 ELSE 0 END
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n LEFT JOIN {job} AS j ON j.name = :name
