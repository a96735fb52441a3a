-- copy_job_free: it is scheduled again as it was, unless it was changed since.
UPDATE {job}
SET next_due_at = (SELECT c.next_due_at FROM {copy_job} AS c WHERE c.job = {name:job}.seq AND c.id = {name:job}.id), fired_at = (SELECT c.fired_at FROM {copy_job} AS c WHERE c.job = {name:job}.seq AND c.id = {name:job}.id), version = version + 1
WHERE seq = :number
  AND EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = {name:job}.seq AND c.id = {name:job}.id AND c.version = {name:job}.version AND c.peer = :owner)
