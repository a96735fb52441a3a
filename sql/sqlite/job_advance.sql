-- job_advance: from the occurrence :since on to the next, if nobody else has done it.
UPDATE {job} SET next_due_at = :due_at, fired_at = :fired_at
WHERE seq = :number AND version = :version AND next_due_at = :since
RETURNING +seq
