-- job_delete: the job @Name itself.
EXEC {Jobs_Delete} @Name = :name
