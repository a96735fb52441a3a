-- copy_job_forget: it is not on its way any more.
DELETE FROM {copy_job} WHERE job = :number AND id = :id AND peer = :owner
