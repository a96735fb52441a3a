-- job_run_purge: forget runs that were finished :delay us ago or earlier; how, not what.
DELETE FROM {job_run_finished}
WHERE seq IN (SELECT f.seq FROM {job_run_finished} AS f WHERE f.finished_at <= :now - :delay ORDER BY f.finished_at LIMIT :batch)
RETURNING +seq
