-- queue_copy_exhume: they are not among those that are finished.
DELETE FROM {queue_finished} AS f
WHERE f.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND f.status = 3
  AND EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = :name AND i.seq = f.seq AND i.peer = :owner)
