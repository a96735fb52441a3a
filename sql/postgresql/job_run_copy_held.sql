-- queue_copy_held: those of :seqs that are held for the store :owner, and when they were asked to end, or 0; nobody else can change that now.
SELECT w.seq, coalesce(CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = m.seq AND p.replayed_at >= m.cancel_at) THEN m.cancel_at END, 0)
FROM {copy_item} AS i JOIN {queue_work} AS w ON w.seq = i.seq JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
  AND w.status = 1 AND w.owner_token = i.peer
ORDER BY w.seq
FOR UPDATE OF w, m
