-- copy_jobs: how many jobs there are.
EXEC {CopyJob_Count}
