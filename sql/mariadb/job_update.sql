-- job_update: the definition and state of the job :number, if it is still of this version.
CALL {job_update}(:number, :version, :topic, :payload, :expression, :zone, :options, :registrar, :count, :status, :due_at)
