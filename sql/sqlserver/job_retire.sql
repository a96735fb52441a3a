-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array @Topics.
EXEC {Jobs_Retire} @Registrar = :registrar, @Topics = :topics
