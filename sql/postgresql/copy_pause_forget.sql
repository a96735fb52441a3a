-- copy_pause_forget: pauses that came from the store :owner, and that it does not have any more: those are not in the JSON array :topics of "queue/topic".
DELETE FROM {copy_pause} AS c
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid)
  AND c.queue || '/' || c.topic NOT IN (SELECT t.name FROM json_array_elements_text(CAST(CAST(:topics AS text) AS json)) AS t (name))
