-- queue_copy_hold_dead: hold the dead letters :seqs for the store :owner, as if they were work.
INSERT INTO {queue_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, owner_token, locked_until, last_error)
SELECT m.seq, coalesce(m.topic, ''), 1, 0, f.finished_at, f.attempt, f.claim_number, :owner, :until, f.last_error
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND i.status = 3
  AND f.seq = s.value AND f.status = 3 AND m.seq = s.value
