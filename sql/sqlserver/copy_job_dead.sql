-- copy_job_dead: its runs that are dead letters; nobody purges or replays them meanwhile.
EXEC {CopyJob_Dead} @Number = :number
