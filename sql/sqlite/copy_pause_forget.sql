-- copy_pause_forget: pauses that came from the store :owner, and that it does not have any more: those are not in the JSON array :topics of "queue/topic".
DELETE FROM {copy_pause}
WHERE peer = :owner AND queue || '/' || topic NOT IN (SELECT t.value FROM json_each(:topics) AS t)
