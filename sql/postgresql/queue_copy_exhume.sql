-- queue_copy_exhume: they are not among those that are finished.
DELETE FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND f.status = 3
  AND EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = CAST(:name AS text) AND i.seq = f.seq AND i.peer = CAST(CAST(:owner AS text) AS uuid))
