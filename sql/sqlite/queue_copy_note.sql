-- queue_copy_note: note those that are held so.
INSERT INTO {copy_item} (queue, seq, peer, status)
SELECT :name, w.seq, :owner, 0
FROM {queue_work} AS w
WHERE w.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND w.status = 1 AND w.owner_token = :owner
