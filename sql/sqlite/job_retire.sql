-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array :topics.
UPDATE {job} SET absent = 1, version = version + 1, next_due_at = NULL
WHERE registrar = :registrar AND absent = 0 AND name NOT IN (SELECT t.value FROM json_each(:topics) AS t)
RETURNING +seq
