-- job_run_list_of: runs of the job :name before the one :number, the latest first.
SELECT r.seq, HEX(r.id), r.job_name, r.topic, r.due_at, r.occurrence_at, r.created_at, r.started_at, f.finished_at, COALESCE(f.status, w.status), COALESCE(f.attempt, w.attempt), r.output, COALESCE(f.last_error, w.last_error)
FROM {job_run} AS r FORCE INDEX (name)
LEFT JOIN {job_run_work} AS w ON w.seq = r.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = r.seq
WHERE r.job_name = :name AND r.seq < :number
ORDER BY r.seq DESC
LIMIT :batch
