-- job_advance: from the occurrence :since on to the next, if nobody else has done it.
CALL {job_advance}(:number, :version, :since, :due_at, :fired_at)
