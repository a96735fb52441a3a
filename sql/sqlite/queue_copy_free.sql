-- queue_copy_free: nobody holds the unfinished ones of :seqs any more.
UPDATE {queue_work}
SET status = CASE WHEN ordering_key IS NULL THEN 0 ELSE 4 END, owner_token = NULL, locked_until = NULL
WHERE seq IN (SELECT i.seq FROM {copy_item} AS i
              WHERE i.queue = :name AND i.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND i.peer = :owner AND i.status = 0)
  AND owner_token = :owner
