-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array :topics.
CALL {job_retire}(:registrar, :topics)
