-- queue_copy_held: those of :seqs that are held for the store :owner; nobody else can change that now. Of the inbox: when they were last seen. The message first, as all who change it lock it.
SELECT w.seq, m.last_seen_at
FROM {copy_item} AS i JOIN {queue_work} AS w ON w.seq = i.seq JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
  AND w.status = 1 AND w.owner_token = i.peer
ORDER BY w.seq
FOR UPDATE OF m, w
