-- job_list: jobs after the name :name with their last runs, by name. Payloads only if :payloads is 1.
SELECT CAST(j.id AS text), j.name, j.topic, CASE WHEN CAST(:payloads AS bigint) = 1 THEN j.payload END, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.next_due_at, r.due_at, r.started_at, f.finished_at, coalesce(f.status, w.status), coalesce(f.last_error, w.last_error)
FROM {job} AS j
LEFT JOIN {job_run} AS r ON r.seq = (SELECT max(x.seq) FROM {job_run} AS x WHERE x.job_id = j.id AND x.started_at IS NOT NULL)
LEFT JOIN {job_run_work} AS w ON w.seq = r.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = r.seq
WHERE j.name > CAST(:name AS text)
ORDER BY j.name
LIMIT CAST(:batch AS bigint)
