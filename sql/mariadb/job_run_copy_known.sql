-- queue_copy_known: whether there is a run with the id of one that comes from another store, or one of its occurrence.
SELECT 1 FROM {queue} AS o WHERE o.id = UNHEX(REPLACE(:id, '-', ''))
UNION ALL
SELECT 1 FROM {job} AS j JOIN {queue} AS k ON k.job_id = j.id AND k.occurrence_at = :delay WHERE j.seq = :fence
