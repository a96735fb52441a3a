-- copy_job_read: all that is known of the job :number, on its way to the store :owner or from it.
SELECT j.seq, j.id, j.name, j.topic, j.payload, j.expression, j.zone, j.options, j.registrar, j.absent, j.disabled, c.next_due_at, j.created_at
FROM {copy_job} AS c JOIN {job} AS j ON j.seq = c.job AND j.id = c.id
WHERE c.job = :number AND c.peer = :owner
