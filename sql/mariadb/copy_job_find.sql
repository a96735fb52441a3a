-- copy_job_find: the next job behind the one :number that is not on its way; 1: a run of it is running.
SELECT j.seq, HEX(j.id), j.name,
       CASE WHEN EXISTS (SELECT 1 FROM {job_run} AS r STRAIGHT_JOIN {job_run_work} AS w ON r.job_id = j.id AND w.seq = r.seq AND w.status = 1) THEN 1 ELSE 0 END
FROM {job} AS j
WHERE j.seq > :number AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id)
ORDER BY j.seq
LIMIT 1
