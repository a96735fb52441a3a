-- job_list: jobs after the name @Name with their last runs, by name.
EXEC {Jobs_List} @Name = :name, @BatchSize = :batch, @Payloads = :payloads
