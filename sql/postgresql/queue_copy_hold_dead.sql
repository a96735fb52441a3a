-- queue_copy_hold_dead: hold the dead letters :seqs for the store :owner, as if they were work.
INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, last_error)
SELECT m.seq, coalesce(m.topic, ''), 1, f.finished_at, f.attempt, f.claim_number, i.peer, CAST(:until AS bigint), f.last_error
FROM {copy_item} AS i JOIN {queue_finished} AS f ON f.seq = i.seq JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND i.status = 3 AND f.status = 3
