-- queue_copy_bury: the dead ones of :seqs are dead letters again. Who has just made one a member of a join is waited for.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, w.attempt, w.claim_number, i.finished_at, i.finished_by, w.last_error
FROM {copy_item} AS i JOIN {queue_work} AS w ON w.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND i.status = 3 AND w.owner_token = i.peer
FOR UPDATE OF w
