-- copy_job_dead: its runs that are dead letters; nobody purges or replays them meanwhile.
SELECT f.seq
FROM {job} AS j JOIN {job_run} AS r ON r.job_id = j.id JOIN {job_run_finished} AS f ON f.seq = r.seq
WHERE j.seq = CAST(:number AS bigint) AND f.status = 3
ORDER BY f.seq
FOR UPDATE OF f, r
