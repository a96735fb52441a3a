-- job_update: the definition and state of the job :number, if it is still of this version.
UPDATE {job} AS j
SET topic = CAST(:topic AS text), payload = CAST(:payload AS text), expression = CAST(:expression AS text),
    zone = CAST(:zone AS text), options = CAST(:options AS text), registrar = CAST(:registrar AS text), absent = CAST(:count AS smallint),
    disabled = CAST(:status AS smallint), version = j.version + 1, next_due_at = CAST(:due_at AS bigint)
WHERE j.seq = CAST(:number AS bigint) AND j.version = CAST(:version AS bigint)
RETURNING j.seq
