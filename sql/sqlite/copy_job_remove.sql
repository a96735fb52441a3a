-- copy_job_remove: it is deleted, unless it was changed since.
DELETE FROM {job}
WHERE seq = :number
  AND EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = {name:job}.seq AND c.id = {name:job}.id AND c.version = {name:job}.version AND c.peer = :owner)
