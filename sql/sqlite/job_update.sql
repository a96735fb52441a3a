-- job_update: the definition and state of the job :number, if it is still of this version.
UPDATE {job}
SET topic = :topic, payload = :payload, expression = :expression, zone = :zone, options = :options,
    registrar = :registrar, absent = :count, disabled = :status, version = version + 1, next_due_at = :due_at
WHERE seq = :number AND version = :version
RETURNING +seq
