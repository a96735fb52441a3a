-- copy_pause_forget: pauses that came from the store :owner, and that it does not have any more: those are not in the JSON array :topics of "queue/topic".
DELETE FROM {copy_pause}
WHERE peer = UNHEX(REPLACE(:owner, '-', ''))
  AND CONCAT(queue, '/', topic) NOT IN (SELECT t.name FROM JSON_TABLE(:topics, '$[*]' COLUMNS (name VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t)
