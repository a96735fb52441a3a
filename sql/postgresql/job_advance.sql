-- job_advance: from the occurrence :since on to the next, if nobody else has done it.
UPDATE {job} AS j SET next_due_at = CAST(:due_at AS bigint), fired_at = CAST(:fired_at AS bigint), version = j.version + 1
WHERE j.seq = CAST(:number AS bigint) AND j.version = CAST(:version AS bigint)
  AND j.next_due_at IS NOT DISTINCT FROM CAST(:since AS bigint)
RETURNING j.seq
