-- job_advance: from the occurrence :since on to the next, if nobody else has done it.
UPDATE {job} SET next_due_at = :due_at, fired_at = :fired_at, version = version + 1
WHERE seq = :number AND version = :version AND next_due_at IS :since
RETURNING +seq
