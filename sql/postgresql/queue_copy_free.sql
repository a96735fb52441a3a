-- queue_copy_free: nobody holds the unfinished ones of :seqs any more.
UPDATE {queue_work} AS w
SET status = 0, owner_token = NULL, locked_until = NULL, ordering_key = m.ordering_key
FROM {copy_item} AS i JOIN {queue} AS m ON m.seq = i.seq
WHERE w.seq = i.seq AND i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND i.status = 0 AND w.owner_token = i.peer
