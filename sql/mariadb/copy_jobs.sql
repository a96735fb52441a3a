-- copy_jobs: how many jobs there are.
SELECT count(*) FROM {job} AS j
