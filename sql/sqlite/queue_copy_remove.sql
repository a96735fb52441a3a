-- queue_copy_remove: their messages go, too.
DELETE FROM {queue}
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)
  AND seq >= (SELECT min(s.value) FROM json_each(:seqs) AS s) AND seq <= (SELECT max(s.value) FROM json_each(:seqs) AS s)
  AND EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = :name AND i.seq = {queue}.seq AND i.peer = :owner)
