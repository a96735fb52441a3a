-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array :topics.
UPDATE {job} AS j SET absent = 1, version = j.version + 1, next_due_at = NULL
WHERE j.registrar = CAST(:registrar AS text) AND j.absent = 0
  AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(CAST(CAST(:topics AS text) AS json)) AS t (name) WHERE t.name = j.name)
RETURNING j.seq
