-- job_list: jobs after the name :name with their last runs, by name. Payloads only if :payloads is 1.
SELECT HEX(j.id), j.name, j.topic, CASE WHEN :payloads = 1 THEN j.payload END, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, j.next_due_at, r.due_at, r.started_at, f.finished_at, COALESCE(f.status, w.status), COALESCE(f.last_error, w.last_error)
FROM (SELECT i.*, (SELECT x.seq FROM {job_run} AS x FORCE INDEX (job) WHERE x.job_id = i.id AND x.started_at IS NOT NULL ORDER BY x.seq DESC LIMIT 1) AS last_seq
      FROM {job} AS i WHERE i.name > :name ORDER BY i.name LIMIT :batch) AS j
LEFT JOIN {job_run} AS r ON r.seq = j.last_seq
LEFT JOIN {job_run_work} AS w ON w.seq = r.seq
LEFT JOIN {job_run_finished} AS f ON f.seq = r.seq
ORDER BY j.name
