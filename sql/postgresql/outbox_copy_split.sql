-- queue_copy_split: as of other queues; one that belongs to a join that is not over stays, and all of its key with it.
SELECT m.seq
FROM {copy_item} AS i JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND m.ordering_key IS NOT NULL
  AND EXISTS (SELECT 1 FROM {queue_work} AS o
              WHERE o.ordering_key = m.ordering_key AND o.owner_token IS DISTINCT FROM CAST(CAST(:owner AS text) AS uuid) AND (o.status = 1 OR o.seq < m.seq
                   OR (o.topic = 'join.wait' OR EXISTS (SELECT 1 FROM {join_member} AS r JOIN {join} AS n ON n.seq = r.join_seq WHERE r.seq = o.seq AND r.status = 0 AND n.status = 0))))
