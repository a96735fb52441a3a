-- copy_job_runs: its runs that wait.
SELECT +w.seq
FROM {job} AS j CROSS JOIN {job_run} AS r ON r.job_id = j.id CROSS JOIN {job_run_work} AS w ON w.seq = r.seq
WHERE j.seq = :number AND w.status <> 1
ORDER BY w.seq
